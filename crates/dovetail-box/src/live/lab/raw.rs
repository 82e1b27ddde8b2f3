//! Raw frames, bypassing a host's network stack.

use std::io;

use super::super::sys::{BATCH, Layout, PacketSocket};
use crate::{
    live::switch::ports::Port,
    wire::{offload::Offload, tag},
};

/// Sends and receives whole frames at an interface, whatever they hold.
#[derive(Debug)]
pub struct Raw {
    socket: PacketSocket,
    frame: Vec<u8>,
}

impl Raw {
    /// Number of frames sent in one system call.
    pub const BATCH: usize = BATCH;

    /// Opens an interface of this thread's namespace.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(interface: &str) -> io::Result<Self> {
        let port = Port::find(interface).map_err(io::Error::other)?;
        let socket = PacketSocket::open(Layout::for_mtu(port.mtu_bytes))?;
        socket.bind(port.index)?;
        Ok(Self { socket, frame: Vec::new() })
    }

    /// Sends up to [`BATCH`](Self::BATCH) frames in one call; returns how many left: none if the first was dropped on the way out,
    /// as by a host that takes no more.
    ///
    /// # Errors
    /// The system's error about the first frame.
    pub fn send<'f>(&self, frames: impl Iterator<Item = &'f [u8]> + Clone) -> io::Result<usize> {
        let none = Offload::NONE.bytes();
        match self.socket.send(frames.map(|frame| (&none, frame))) {
            Err(wrong) if wrong.raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
            sent => sent,
        }
    }

    /// Sends a frame with the offload header given to the kernel, right or wrong: `struct virtio_net_hdr`.
    ///
    /// # Errors
    /// The system's error.
    pub fn send_with(&self, header: &[u8; Offload::BYTES], frame: &[u8]) -> io::Result<usize> {
        self.socket.send(std::iter::once((header, frame)))
    }

    /// The oldest frame received, with its tag where it was on the wire.
    pub fn receive(&mut self) -> Option<&[u8]> {
        let mut frame = std::mem::take(&mut self.frame);
        let had_one = self.receive_into(&mut frame);
        self.frame = frame;
        had_one.then_some(&self.frame)
    }

    /// The same into this buffer, which loses what it holds; whether there was one.
    pub fn receive_into(&mut self, frame: &mut Vec<u8>) -> bool {
        self.socket.receive(|received| {
            if tag::put_back(&received.bytes, received.tag, frame).is_err() {
                frame.clear();
            }
            true
        })
    }
}
