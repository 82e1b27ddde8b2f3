//! AF_XDP sockets: frames in and out through rings that the kernel and this process share, in copy mode.
//!
//! ```text
//! memory      chunks of 2 or 4 KiB: those for receiving first, then those for sending
//! fill        chunks that the kernel may fill      received   frames that it has filled
//! sending     frames that are to leave             sent       chunks that it has sent
//! ```
//!
//! A frame begins 256 bytes into its chunk when it was received, and at the chunk's beginning when it is sent. The kernel
//! takes frames from `sending` only within [`XdpSocket::send`], whose system call copies them.
//!
//! | file | what |
//! |---|---|
//! | `opening` | how the socket comes to be |
//! | `receiving` | frames in |
//! | `leaving` | frames out |
//! | `memory`, `rings` | what the kernel and this process share |
//! | `abilities` | what an interface must be like |

mod abilities;
mod leaving;
mod memory;
mod opening;
mod receiving;
mod rings;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use super::{packet::interface, sending::BATCH};
pub(crate) use abilities::Abilities;
use memory::Mapping;
use rings::Ring;

/// Chunks for sending: some batches, since interfaces give them back later.
const SENDING: u32 = 8 * BATCH as u32;

/// An AF_XDP socket on one interface.
#[derive(Debug)]
pub(crate) struct XdpSocket {
    socket: OwnedFd,
    /// A packet socket at which nothing arrives: it has the interface take frames to any address.
    beside: OwnedFd,
    memory: Mapping,
    chunk_bytes: u32,
    fill: Ring<u64>,
    received: Ring<libc::xdp_desc>,
    sending: Ring<libc::xdp_desc>,
    sent: Ring<u64>,
    /// Chunks for sending that are not the kernel's, and whether each is: of some frames that it refuses for want of a carrier the
    /// kernel gives the chunk back as sent, and says that it has not taken them.
    free: Vec<u64>,
    is_free: Vec<bool>,
    /// How many frames may be in the ring at once.
    batch: usize,
    /// Chunks that were received and are in `fill`, which the kernel does not know yet.
    unreturned: u32,
    /// Whether the last frame was read as a whole: then the next may be.
    is_read: bool,
    /// The kernel has just refused a frame: the next is tried alone.
    is_refusing: bool,
}

impl XdpSocket {
    /// The socket itself, for the map that its program looks it up in.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// As of a packet socket.
    ///
    /// # Errors
    /// The system's: ENODEV where there is none.
    pub(crate) fn interface(&self, name: &str) -> io::Result<(u32, u32)> {
        interface(self.beside.as_fd(), name)
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
