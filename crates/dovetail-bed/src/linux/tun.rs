//! Opens a TUN device; this is the crate's only `unsafe` code.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::AsFd,
};

use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// `struct ifreq` of linux/if.h: a zero-terminated name, and a union of which only the flags are used.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// `TUNSETIFF` of linux/if_tun.h, which declares it with an `int` although it takes a `struct ifreq`.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
/// IP packets, without a header that names the protocol.
const IFF_TUN: u16 = 1;
const IFF_NO_PI: u16 = 0x1000;

/// Creates a device of this name, of less than 16 bytes, in this thread's namespace. Reading the file receives an IP packet
/// sent to the device, writing sends one from it. Closing the file removes the device.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub(super) fn open(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let mut request = Request { name: [0; 16], flags: IFF_TUN | IFF_NO_PI, rest: [0; 22] };
    let Some(bytes) = request.name.get_mut(..name.len()).filter(|_| name.len() < 16) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    bytes.copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads a `struct ifreq`, 40 bytes laid out as `Request`, and the file is a TUN device's. The kernel
    // writes its reply to the copy that `Setter` holds.
    unsafe {
        ioctl(file.as_fd(), Setter::<TUNSETIFF, Request>::new(request))?;
    }
    Ok(file)
}
