//! What is set of an interface.

use std::{
    io,
    mem::zeroed,
    os::fd::{AsRawFd, BorrowedFd},
};

/// The interface's MTU in bytes, asked through any socket of its namespace.
pub(crate) fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    // SAFETY: all zeros are a request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let room = request.ifr_name.len() - 1;
    if name.len() > room {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the kernel reads the name, which ends with a zero, and writes the number.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the answer to this request is this number.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(mtu.max(0) as u32)
}
