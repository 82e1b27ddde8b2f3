//! What the kernel tells and takes that no library wraps: the only unsafe code of this crate.
#![allow(unsafe_code)]

use std::{
    io,
    mem::{MaybeUninit, size_of},
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

/// The kernel's round-trip times of a connection, smoothed: of what was sent, and as the receiver sees it; zero if unknown.
pub(crate) fn round_trips(socket: BorrowedFd<'_>) -> io::Result<(Duration, Duration)> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which is that long; all bytes are a valid `tcp_info`,
    // which is plain integers, and those that it does not write are zero.
    let info = unsafe {
        let to = info.as_mut_ptr().cast();
        let fd = socket.as_raw_fd();
        if libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length) != 0 {
            return Err(io::Error::last_os_error());
        }
        info.assume_init()
    };
    let micros = |micros: u32| Duration::from_micros(u64::from(micros));
    Ok((micros(info.tcpi_rtt), micros(info.tcpi_rcv_rtt)))
}

/// The most that the receive window may be, in bytes, from now on. What was told already stays told.
pub(crate) fn set_window_clamp(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// A socket is readable when so many bytes are there, or the end, or when no more can come.
pub(crate) fn set_low_water(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// From now on what is peeked at is passed over by the next peek, and stays there to be read. Linux 6.9 and later.
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

/// Where a connection that was redirected was meant to go.
pub(crate) fn original_destination(socket: BorrowedFd<'_>, is_ipv4: bool) -> io::Result<std::net::SocketAddr> {
    let (level, name) =
        if is_ipv4 { (libc::SOL_IP, libc::SO_ORIGINAL_DST) } else { (libc::SOL_IPV6, IP6T_SO_ORIGINAL_DST) };
    // SAFETY: `try_init` gives room for any address and its length; the kernel writes no more than that, and an address of
    // the family that it names.
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
