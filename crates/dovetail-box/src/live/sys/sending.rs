//! Sends frames through packet sockets, in batches.
//!
//! A socket that delivers frames with an offload header expects one on frames to send as well. Most frames need no offload.
//! Those leave through a second socket without such headers: a frame is one piece of memory there, and a single frame needs
//! no message around it, so that the kernel has less to read.

use std::{
    io,
    mem::{MaybeUninit, zeroed},
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    ptr,
};

use super::packet::{bind, packet_socket};
use crate::wire::offload::Offload;

const OFFLOAD: usize = Offload::BYTES;

/// Maximum number of frames per system call.
pub(crate) const BATCH: usize = 64;

/// The header of a frame without offload.
const AS_IT_IS: [u8; OFFLOAD] = [0; OFFLOAD];

/// The second socket, if it is open.
#[derive(Debug)]
pub(super) struct Plain(Option<OwnedFd>);

impl Plain {
    /// Opens the second socket. Needs `CAP_NET_RAW`.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn open() -> io::Result<Self> {
        packet_socket().map(|socket| Self(Some(socket)))
    }

    /// Sends at an interface from here on; receives nothing.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn bind(&self, interface: u32) -> io::Result<()> {
        const NO_PROTOCOL: u16 = 0;
        self.0.as_ref().map_or(Ok(()), |socket| bind(socket.as_raw_fd(), NO_PROTOCOL, interface))
    }

    /// Leaves everything to the first socket, so that its limit on unsent bytes covers all frames.
    pub(super) fn close(&mut self) {
        self.0 = None;
    }

    /// Sends up to [`BATCH`] frames in one call, each with the offloads left to the kernel, through the first socket or
    /// this one; returns how many the kernel took. Zero if what the interface has not sent yet leaves no room: the first
    /// socket becomes writable when there is.
    ///
    /// # Errors
    /// The system's error about the first frame.
    pub(super) fn send<'f>(
        &self,
        first: BorrowedFd<'_>,
        frames: impl Iterator<Item = (&'f [u8; OFFLOAD], &'f [u8])> + Clone,
    ) -> io::Result<usize> {
        if let Some(plain) = &self.0 {
            let alike = frames.clone().take_while(|(offload, _)| **offload == AS_IT_IS);
            match send(plain.as_raw_fd(), alike, Pieces::Frame)? {
                // Nothing to send, or this socket is full: use the first, which the caller polls for room.
                0 => {}
                sent => return Ok(sent),
            }
        }
        send(first.as_raw_fd(), frames, Pieces::HeaderAndFrame)
    }
}

/// The parts of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pieces {
    HeaderAndFrame,
    Frame,
}

fn send<'f>(
    socket: libc::c_int,
    frames: impl Iterator<Item = (&'f [u8; OFFLOAD], &'f [u8])>,
    pieces: Pieces,
) -> io::Result<usize> {
    // Only the used part is initialised: all of it would be 6 kB for a single frame.
    let mut parts = [const { MaybeUninit::<[libc::iovec; 2]>::uninit() }; BATCH];
    let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
    let from = usize::from(pieces == Pieces::Frame);
    let mut only = (ptr::null(), 0);
    let mut count = 0;
    for (((offload, bytes), part), message) in frames.zip(&mut parts).zip(&mut messages) {
        // The kernel only reads what it sends.
        let part = part.write([
            libc::iovec { iov_base: offload.as_ptr().cast_mut().cast(), iov_len: OFFLOAD },
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() },
        ]);
        // SAFETY: all zeros are an empty message.
        let message = message.write(unsafe { zeroed() });
        message.msg_hdr.msg_iov = part[from..].as_mut_ptr();
        message.msg_hdr.msg_iovlen = part[from..].len();
        only = (bytes.as_ptr(), bytes.len());
        count += 1;
    }
    let (messages, flags) = (messages.as_mut_ptr(), libc::MSG_DONTWAIT);
    let sent = match (count, pieces) {
        (0, _) => return Ok(0),
        // SAFETY: the kernel reads the bytes of the only frame, which live until the call returns.
        (1, Pieces::Frame) => one(unsafe { libc::send(socket, only.0.cast(), only.1, flags) }),
        // SAFETY: a header is what a message begins with, and this one is filled in, as below.
        (1, Pieces::HeaderAndFrame) => one(unsafe { libc::sendmsg(socket, messages.cast(), flags) }),
        // SAFETY: `count` messages are filled in, with vectors and bytes that live until the call returns.
        _ => unsafe { libc::sendmmsg(socket, messages.cast(), count, flags) },
    };
    if sent >= 0 {
        return Ok(sent as usize);
    }
    // ENOBUFS is no lack of room: a queue, or a rule at egress, has dropped the first frame.
    match io::Error::last_os_error() {
        wrong if wrong.raw_os_error() == Some(libc::EAGAIN) => Ok(0),
        wrong => Err(wrong),
    }
}

/// Converts the result of a call that sends one frame, which is in bytes, to a number of frames.
fn one(bytes: isize) -> libc::c_int {
    if bytes < 0 { -1 } else { 1 }
}
