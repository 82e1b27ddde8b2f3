//! Kernel interfaces that no library wraps: the only unsafe code of this crate.
#![allow(unsafe_code)]

use std::{
    io,
    mem::{size_of, size_of_val},
    net::TcpListener,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::io::{Interest, unix::AsyncFd};

/// The kernel's smoothed round-trip times of a connection: as a sender, and as a receiver; zero if unknown.
pub(crate) fn round_trips(socket: BorrowedFd<'_>) -> io::Result<(Duration, Duration)> {
    let (info, _) = tcp_info(socket)?;
    let micros = |at: usize| Duration::from_micros(u64::from(info[at]));
    Ok((micros(RTT), micros(RCV_RTT)))
}

/// How long the handshake of a new connection took. Unknown if one of its packets was retransmitted: the answer may be to
/// either (RFC 6298, section 3), and if it was the answer that was lost the kernel counts from the first.
pub(crate) fn handshake(socket: BorrowedFd<'_>) -> Option<Duration> {
    let (info, _) = tcp_info(socket).ok()?;
    (info[TOTAL_RETRANS] == 0).then(|| Duration::from_micros(u64::from(info[RTT])))
}

/// The minimum round-trip time of a connection in the last minutes (tcp_min_rtt_wlen), if known. After retransmissions, one of
/// a second or more may be that of a handshake whose answer was lost: the kernel counts from the first packet, and sends the
/// next after a second (RFC 6298, section 2).
pub(crate) fn least_round_trip(socket: BorrowedFd<'_>) -> Option<Duration> {
    let (info, words) = tcp_info(socket).ok()?;
    // The kernel reports all ones if it is unknown.
    let least =
        (words > MIN_RTT && info[MIN_RTT] != u32::MAX).then(|| Duration::from_micros(u64::from(info[MIN_RTT])))?;
    (info[TOTAL_RETRANS] == 0 || least < Duration::from_secs(1)).then_some(least)
}

/// Bytes that the other side may send until it hears more, as last announced: the receive window, if the kernel reports it
/// (Linux 6.2).
pub(crate) fn receive_window(socket: BorrowedFd<'_>) -> Option<u64> {
    let (info, words) = tcp_info(socket).ok()?;
    (words > RCV_WND).then(|| u64::from(info[RCV_WND]))
}

/// Bytes sent that the other side has acknowledged since the connection began.
pub(crate) fn acknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let (info, _) = tcp_info(socket)?;
    let halves = [info[BYTES_ACKED], info[BYTES_ACKED + 1]].map(u64::from);
    let [low, high] = if cfg!(target_endian = "little") { halves } else { [halves[1], halves[0]] };
    Ok(high << 32 | low)
}

/// Bytes written to a connection that the other side has not acknowledged, sent or not.
pub(crate) fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ, which is TIOCOUTQ (linux/sockios.h), writes one int, to where `bytes` is.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done == 0 { Ok(u64::try_from(bytes).unwrap_or(0)) } else { Err(io::Error::last_os_error()) }
}

/// Whether everything that the other side sent has arrived, including its end (RFC 9293, section 3.3.2: CLOSE-WAIT).
pub(crate) fn is_closed_by_peer(socket: BorrowedFd<'_>) -> bool {
    tcp_info(socket).is_ok_and(|(info, _)| info[STATE].to_ne_bytes()[0] == CLOSE_WAIT)
}

/// Offsets in `struct tcp_info` (linux/tcp.h), in words of 32 bits: `tcpi_state` (the first byte of it), `tcpi_rtt`,
/// `tcpi_rcv_rtt`, `tcpi_total_retrans`, `tcpi_bytes_acked`, `tcpi_min_rtt`, `tcpi_rcv_wnd`. The kernel only appends to it.
const STATE: usize = 0;
const RTT: usize = 17;
const RCV_RTT: usize = 23;
const TOTAL_RETRANS: usize = 25;
const BYTES_ACKED: usize = 30;
const MIN_RTT: usize = 37;
const RCV_WND: usize = 58;
const WORDS: usize = RCV_WND + 1;
/// TCP_CLOSE_WAIT (linux/tcp_states.h)
const CLOSE_WAIT: u8 = 8;

/// The kernel's figures of a connection, and how many words of them it provides.
fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<([u32; WORDS], usize)> {
    let mut info = [0; WORDS];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which is that long, and any bytes are valid numbers.
    let done = unsafe {
        let to = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    if done == 0 { Ok((info, length as usize / size_of::<u32>())) } else { Err(io::Error::last_os_error()) }
}

/// Whether the receive buffer keeps its length, or the kernel resizes it as needed (tcp_moderate_rcvbuf). Linux 5.15 and later.
pub(crate) fn fix_receive_buffer(socket: BorrowedFd<'_>, is_fixed: bool) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, SO_BUF_LOCK, if is_fixed { SOCK_RCVBUF_LOCK } else { 0 })
}

/// asm-generic/socket.h and linux/socket.h
const SO_BUF_LOCK: libc::c_int = 72;
const SOCK_RCVBUF_LOCK: u32 = 2;

/// Limits the receive window, in bytes, from now on. What has been announced already stays valid.
pub(crate) fn set_window_clamp(socket: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// Makes a socket readable only when this many bytes have arrived, at the end, or when no more fit.
pub(crate) fn set_low_water(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// From now on a peek skips what earlier peeks returned, which stays there to be read. Linux 6.9 and later.
pub(crate) fn peek_ahead(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_PEEK_OFF, 0)
}

fn set(socket: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: u32) -> io::Result<()> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes from `value`, which is that long and lives until the call returns.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A socket that signals readability but not writability.
pub(crate) fn readable(socket: socket2::Socket) -> io::Result<AsyncFd<socket2::Socket>> {
    // SAFETY: a `Socket` keeps its one descriptor open until it is dropped, and the wrapper does not give it away.
    Ok(unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }?)
}

/// The first descriptor passed by a service manager, and how many are examined at most (sd_listen_fds(3)).
const FIRST_PASSED: RawFd = 3;
const MAX_PASSED_FDS: RawFd = 64;

/// TCP listening sockets that a service manager passed to this process. Later calls return none.
pub(crate) fn passed_listeners() -> Vec<TcpListener> {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").and_then(|count| RawFd::try_from(count).ok()).unwrap_or(0).min(MAX_PASSED_FDS);
    if !is_ours || IS_DONE.swap(true, Ordering::Relaxed) {
        return Vec::new();
    }
    let passed = (FIRST_PASSED..FIRST_PASSED + count).filter_map(|fd| {
        // SAFETY: the service manager that set LISTEN_PID to this process passed these descriptors: they were open before it
        // ran, nothing in it owns them, and `IS_DONE` ensures that they are claimed only once. Descriptors that are not open
        // are skipped.
        let socket = unsafe {
            if libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) != 0 {
                return None;
            }
            socket2::Socket::from_raw_fd(fd)
        };
        let is_tcp = socket.r#type().is_ok_and(|kind| kind == socket2::Type::STREAM)
            && socket.local_addr().is_ok_and(|address| address.as_socket().is_some())
            && socket.is_listener().unwrap_or(false);
        is_tcp.then(|| socket.into())
    });
    passed.collect()
}

/// The original destination of a redirected connection.
pub(crate) fn original_destination(socket: BorrowedFd<'_>, is_ipv4: bool) -> io::Result<std::net::SocketAddr> {
    let (level, name) =
        if is_ipv4 { (libc::SOL_IP, libc::SO_ORIGINAL_DST) } else { (libc::SOL_IPV6, IP6T_SO_ORIGINAL_DST) };
    // SAFETY: `try_init` provides storage for any address and its length; the kernel writes no more than that, and an address
    // of the family that it names.
    let ((), address) = unsafe {
        socket2::SockAddr::try_init(|storage, length| {
            if libc::getsockopt(socket.as_raw_fd(), level, name, storage.cast(), length) == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        })?
    };
    address.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// linux/netfilter_ipv6/ip6_tables.h
const IP6T_SO_ORIGINAL_DST: libc::c_int = 80;
