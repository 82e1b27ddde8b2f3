#!/usr/bin/env bash
# Records what the kernel's TCP does: builds Debian's Linux as User-mode Linux, boots it in virtual time with this crate's
# program, and writes crates/dovetail-tcp/tests/all/recorded/linux-6.12.toml. Equal kernels give equal figures, but for BBR, which
# draws phases, and for a few runs of many connections.
#
#   kernel/record.sh              # everything: over an hour on two processors
#   kernel/record.sh short bbr    # only these groups are recorded again; the others stay
#
# As root it installs what it needs; else: apt-get install bc bison flex gcc iproute2 make python3 xz-utils. The source is
# Debian's linux-source-6.12 (bookworm-backports, trixie). No third-party code stays in this repository.
set -euo pipefail
cd "$(dirname "$0")/.."

series=6.12
all=(rows bucket short sizes paths events bbr rows_installed crowd)
groups=("$@")
[ $# -gt 0 ] || groups=("${all[@]}")
work=$PWD/target/kernel
recorded=crates/dovetail-tcp/tests/all/recorded/linux-$series.toml
mkdir -p "$work/out" "$work/home"

if [ ! -x "$work/linux" ]; then
    if [ "$(id -u)" = 0 ]; then
        apt-get update -qq
        apt-get install -y -qq bc bison flex gcc iproute2 make python3 xz-utils >/dev/null
    fi
    (cd "$work" && apt-get download -qq "linux-source-$series" && dpkg-deb -x linux-source-"$series"_*.deb package)
    dpkg-deb -f "$work"/linux-source-"$series"_*.deb Version >"$work/version"
    tar xf "$work/package/usr/src/linux-source-$series.tar.xz" -C "$work"
    source=$work/linux-source-$series
    # Ticks of a millisecond, as several distributions have: timers that count in ticks are least late.
    sed -i '/^config HZ$/,/default/ s/default 100/default 1000/' "$source/arch/um/Kconfig"
    make -C "$source" ARCH=um KCONFIG_ALLCONFIG="$PWD/kernel/um.config" allnoconfig >"$work/build.log"
    make -C "$source" ARCH=um -j"$(nproc)" linux >>"$work/build.log"
    cp "$source/linux" "$work/linux"
fi

cargo build --release --quiet --package dovetail-kernel

record() {
    # `inf-cpu`: what runs takes no time. The kernel sees this machine's files, and may write to one folder.
    env -i HOME="$work/home" "$work/linux" mem=1G time-travel=inf-cpu \
        root=/dev/root rootfstype=hostfs rootflags=/ ro init="$PWD/kernel/init.py" con=null con0=null,fd:1 panic=-1 \
        OUT="$work/out" GROUP="$1" RECORD="$PWD/target/release/dovetail-kernel" ${TRACE:+TRACE=1} \
        </dev/null >"$work/out/$1.console" 2>&1
    # A group that was not recorded to its end has no last line.
    if [ "$(tail -n 1 "$work/out/$1.toml")" != "]" ]; then
        cat "$work/out/$1.console" "$work/out/$1.log" >&2
        return 1
    fi
}
export -f record
export work TRACE=${TRACE:-}
printf '%s\n' "${groups[@]}" | xargs -P "$(nproc)" -I{} bash -c 'record {}'

for group in "${all[@]}"; do
    if [ ! -s "$work/out/$group.toml" ]; then
        # Not recorded here: as it was.
        sed -n "/^$group = \[/,/^\]/p" "$recorded" >"$work/out/$group.toml"
    fi
done
{
    cat <<END
# What TCP of the Linux kernel does over an emulated path, in virtual time. Written by kernel/record.sh; not edited by hand.
#
# Every line is a run, and names all that it depends on.
#
# Hosts are as installed, but for tcp_timestamps = 0, tcp_no_metrics_save = 1, tcp_wmem = "4096 4194304 4194304", and packets of
# one segment (gso_max_segs = 1). The MTU is 1,500 bytes: full segments carry 1,460. Receivers set a buffer of
# receive_buffer_bytes when they accept a connection (the kernel's SO_RCVBUF, doubled), of which 162/256 become the window;
# 0: it grows as installed.
#
# The way to the receiver is a first-in-first-out buffer of buffer_packets, the one being sent included, and a link of
# bits_per_s of IP packets, or with bucket_bytes a token bucket of that rate and depth. delay_us is each way's. Packets that find
# mark_above or more are marked. Flow n, from 0 on, begins at n * (stagger * 7300 + 1300) us.
#
# early_bytes were read in the first five seconds, late_bytes until second 20. Short transfers begin every gap_ms from second 5 on;
# took_us is from connect() until all was read. lost_syns and lost_syn_acks are how many are lost, lost which data segments (from
# 1 on) and how often, late those that arrive after the three behind them, pauses_us how long the receiver reads nothing.
# retransmissions include SYNs; timeouts and probes are the counters TCPTimeouts and TCPLossProbes of both ends together;
# window_bytes is the largest that each receiver offered.
#
# In a crowd flow n begins at n * (51341 + 2 * stagger) us modulo 100000, and senders have a buffer of 32 kB; bytes were read of all
# flows in so many seconds, and without_a_byte is how many of the flows read none.

kernel = "$("$work/linux" --version | head -n 1)"
package = "linux-source-$series $(cat "$work/version")"
hz = 1000
recorded = "$(date -u +%F)"

END
    for group in "${all[@]}"; do cat "$work/out/$group.toml"; done
} >"$work/recorded.toml"
mv "$work/recorded.toml" "$recorded"
