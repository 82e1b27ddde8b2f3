//! What is asked of the kernel that is recorded.

use std::{
    collections::BTreeMap,
    fs, io,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::OwnedFd,
};

use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt},
    time::{ClockId, clock_gettime},
};

use crate::packet::SERVICE;

/// The device's address, and the one that is reached through it.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Where senders connect to.
pub const RECEIVERS: SocketAddrV4 = SocketAddrV4::new(THERE, SERVICE);
/// A second in nanoseconds.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Sets what the next run depends on, and listens for its connections.
pub fn prepare(ecn: bool) -> io::Result<OwnedFd> {
    fs::write("/proc/sys/net/ipv4/tcp_ecn", if ecn { "1" } else { "0" })?;
    fs::write("/proc/sys/net/ipv4/route/flush", "1")?;
    let listener = socket()?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    bind(&listener, &SocketAddrV4::new(HERE, SERVICE))?;
    listen(&listener, 8192)?;
    Ok(listener)
}

/// A socket that does not block.
pub fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?)
}

/// The time in nanoseconds.
pub fn clock() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64
}

/// The kernel's counters of TCP, by name.
pub fn counters() -> io::Result<BTreeMap<String, u64>> {
    let mut counters = BTreeMap::new();
    for file in ["/proc/net/snmp", "/proc/net/netstat"] {
        let text = fs::read_to_string(file)?;
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("Tcp")).collect();
        for pair in lines.chunks_exact(2) {
            let names = pair[0].split_whitespace().skip(1);
            let counts = pair[1].split_whitespace().skip(1);
            counters
                .extend(names.zip(counts).filter_map(|(name, count)| Some((name.to_string(), count.parse().ok()?))));
        }
    }
    Ok(counters)
}
