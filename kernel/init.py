#!/usr/bin/python3
"""The first process of the kernel that is recorded.

RECORD is the program, GROUP what it records, OUT the host's folder for what it prints.
"""

import ctypes
import fcntl
import os
import resource
import struct
import subprocess

SETTINGS = {
    # As if there were more memory: no connection is short of it.
    "net/ipv4/tcp_mem": "100000 200000 400000",
    "net/ipv4/tcp_rmem": "4096 131072 6291456",
    # Senders write as much as they like.
    "net/ipv4/tcp_wmem": "4096 4194304 4194304",
    "net/ipv4/tcp_timestamps": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/core/somaxconn": "8192",
    "net/ipv4/tcp_max_syn_backlog": "8192",
}
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000
RB_POWER_OFF = 0x4321FEDC

os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
out, group = os.environ["OUT"], os.environ["GROUP"]


def run(command):
    subprocess.run(command.split(), check=True)


try:
    run("mount -t proc proc /proc")
    run("mount -t sysfs sys /sys")
    run(f"mount -t hostfs -o {out} out /mnt")
    for descriptor, ending in ((1, "toml"), (2, "log")):
        os.dup2(os.open(f"/mnt/{group}.{ending}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    for key, value in SETTINGS.items():
        with open(f"/proc/sys/{key}", "w") as file:
            file.write(value)
    # Two sockets a flow.
    resource.setrlimit(resource.RLIMIT_NOFILE, (10_000, 10_000))
    # The program's standard input is the tunnel.
    tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH14x", b"tun0", IFF_TUN | IFF_NO_PI))
    # Packets of one segment, as on the wire, and none lost before the program reads them.
    gso = "" if os.environ.get("GSO") else "gso_max_segs 1"
    run(f"ip link set tun0 txqueuelen 10000 {gso}")
    run("ip address add 10.0.0.1/24 dev tun0")
    run("ip link set lo up")
    run("ip link set tun0 mtu 1500 up")
    ended = subprocess.run([os.environ["RECORD"], group], stdin=tunnel)
    os.write(2, f"{group}: {ended}\n".encode())
except Exception as error:
    os.write(2, f"{error!r}\n".encode())
finally:
    os.sync()
    ctypes.CDLL(None).reboot(RB_POWER_OFF)
