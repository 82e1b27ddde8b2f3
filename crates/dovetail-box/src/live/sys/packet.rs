//! System calls on packet sockets, whichever way frames are received and sent.

use std::{
    io,
    mem::{size_of, size_of_val, zeroed},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
};

/// Supported by the oldest kernels as well (linux/if_packet.h).
const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;

/// `struct packet_mreq`.
#[repr(C)]
struct Membership {
    index: libc::c_int,
    kind: u16,
    length: u16,
    address: [u8; 8],
}

/// A packet socket that receives nothing.
pub(super) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved. Protocol 0: nothing arrives.
    let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    done(socket)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Makes an interface receive frames to any address while the packet socket is open.
pub(super) fn promiscuous(socket: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    let index = interface as libc::c_int;
    let member = Membership { index, kind: libc::PACKET_MR_PROMISC as u16, length: 0, address: [0; 8] };
    set(socket, libc::SOL_PACKET, PACKET_ADD_MEMBERSHIP, &member)
}

/// The index and the MTU of the interface that currently has this name. The kernel answers without its lock of links, which
/// may be taken for long.
///
/// # Errors
/// The system's error: ENODEV if there is none.
pub(super) fn interface(socket: BorrowedFd<'_>, name: &str) -> io::Result<(u32, u32)> {
    // SAFETY: all zeros are a request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays zero.
    let places = request.ifr_name.len() - 1;
    for (place, &byte) in request.ifr_name[..places].iter_mut().zip(name.as_bytes()) {
        *place = byte as libc::c_char;
    }
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel reads the name and writes one number into the request.
    done(unsafe { libc::ioctl(fd, libc::SIOCGIFINDEX, &raw mut request) })?;
    // SAFETY: it has written this one.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    // SAFETY: as before.
    done(unsafe { libc::ioctl(fd, libc::SIOCGIFMTU, &raw mut request) })?;
    // SAFETY: as before.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok((index as u32, mtu as u32))
}

pub(super) fn set<T>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`.
    done(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), length) })
}

pub(super) fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Binds a packet socket to an interface: it receives what arrives there with this protocol.
pub(super) fn bind(socket: libc::c_int, protocol: u16, interface: u32) -> io::Result<()> {
    // SAFETY: all zeros are an address.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `address`.
    done(unsafe { libc::bind(socket, ptr::from_ref(&address).cast(), length) })
}
