//! AF_XDP sockets: receive and send frames through rings shared between the kernel and this process, in copy mode.
//!
//! ```text
//! memory      chunks of 2 or 4 KiB: those for receiving first, then those for sending
//! fill        chunks that the kernel may fill      received   frames that it has filled
//! sending     frames that are to leave             sent       chunks that it has sent
//! ```
//!
//! A received frame begins 256 bytes into its chunk, a frame to send at the chunk's beginning. The kernel takes frames from
//! `sending` only within [`XdpSocket::send`], whose system call copies them.
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

/// Chunks for sending: several batches, since interfaces return them later.
const SENDING: u32 = 8 * BATCH as u32;

/// An AF_XDP socket on one interface.
#[derive(Debug)]
pub(crate) struct XdpSocket {
    socket: OwnedFd,
    /// A packet socket that receives nothing: makes the interface receive frames to any address.
    beside: OwnedFd,
    memory: Mapping,
    chunk_bytes: u32,
    fill: Ring<u64>,
    received: Ring<libc::xdp_desc>,
    sending: Ring<libc::xdp_desc>,
    sent: Ring<u64>,
    /// Chunks for sending that are not the kernel's, and a flag for each: for some frames that it rejects for lack of a
    /// carrier, the kernel returns the chunk as sent, and also reports that it has not taken them.
    free: Vec<u64>,
    is_free: Vec<bool>,
    /// Maximum number of frames in the ring at once.
    batch: usize,
    /// Received chunks that are in `fill` but not published to the kernel yet.
    unreturned: u32,
    /// Whether the last frame was read as a whole: then the next may be, too.
    is_read: bool,
    /// The kernel has just rejected a frame: the next is tried alone.
    is_refusing: bool,
}

impl XdpSocket {
    /// The socket's descriptor, for the map in which its program looks it up.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Same as for a packet socket.
    ///
    /// # Errors
    /// The system's error: ENODEV if there is none.
    pub(crate) fn interface(&self, name: &str) -> io::Result<(u32, u32)> {
        interface(self.beside.as_fd(), name)
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
