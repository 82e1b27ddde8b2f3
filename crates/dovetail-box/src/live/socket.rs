//! Receives and sends an interface's frames: through a packet socket, or AF_XDP.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use super::{
    LiveError,
    switch::{Switch, ports},
    sys::{Layout, PacketSocket, Received},
    xdp::Xdp,
};
use crate::{config::Io, wire::offload::Offload};

/// A socket at an interface.
#[derive(Debug)]
pub(super) enum Socket {
    Packet(PacketSocket),
    Xdp(Xdp),
}

impl Socket {
    /// Opens a socket that receives nothing until it is [bound](Self::bind) and the switch puts the box in charge.
    pub(super) fn open(port: &ports::Port, io: Io, switch: &mut Switch) -> Result<Self, LiveError> {
        match io {
            Io::AfPacket => {
                let error = |source| LiveError::Socket { interface: port.name.clone(), source };
                let socket = PacketSocket::open(Layout::for_mtu(port.mtu_bytes)).map_err(error)?;
                switch.silence(&[port.index])?;
                switch.attach_filter(socket.as_fd())?;
                Ok(Self::Packet(socket))
            }
            Io::AfXdp => Xdp::open(port, switch).map(Self::Xdp),
        }
    }

    /// Starts receiving.
    pub(super) fn bind(&self, index: u32) -> io::Result<()> {
        match self {
            Self::Packet(socket) => socket.bind(index),
            // Bound already: the switch keeps frames from it.
            Self::Xdp(_) => Ok(()),
        }
    }

    /// See [`PacketSocket::hold_unsent`]; AF_XDP bypasses the queues that provide backpressure.
    pub(super) fn hold_unsent(&mut self, bytes: u32) -> io::Result<()> {
        match self {
            Self::Packet(socket) => socket.hold_unsent(bytes),
            Self::Xdp(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// See [`Port::receive`](super::port::Port::receive).
    pub(super) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        match self {
            Self::Packet(socket) => socket.receive(take),
            Self::Xdp(socket) => socket.receive(take),
        }
    }

    /// Prepares a frame for sending; returns the offloads left to the kernel.
    pub(super) fn ready(&self, offload: Offload, bytes: &mut [u8]) -> Offload {
        match self {
            Self::Packet(_) => offload,
            Self::Xdp(socket) => socket.ready(offload, bytes),
        }
    }

    /// Sends some frames; returns how many the interface took.
    ///
    /// # Errors
    /// The system's error about the first frame; `EMSGSIZE` if it is too long.
    pub(super) fn send<'f>(
        &mut self,
        frames: impl Iterator<Item = (&'f [u8; Offload::BYTES], &'f [u8])> + Clone,
        mtu: u32,
    ) -> io::Result<usize> {
        match self {
            Self::Packet(socket) => socket.send(frames),
            Self::Xdp(socket) => socket.send(frames.map(|(_, bytes)| bytes), mtu),
        }
    }

    /// The index and the MTU of the interface that currently has this name.
    ///
    /// # Errors
    /// The system's error: ENODEV if there is none.
    pub(super) fn interface(&self, name: &str) -> io::Result<(u32, u32)> {
        match self {
            Self::Packet(socket) => socket.interface(name),
            Self::Xdp(socket) => socket.interface(name),
        }
    }

    /// Number of frames that arrived and were not received.
    pub(super) fn missed(&mut self) -> io::Result<u64> {
        match self {
            Self::Packet(socket) => socket.missed(),
            Self::Xdp(socket) => socket.missed(),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Packet(socket) => socket.as_fd(),
            Self::Xdp(socket) => socket.as_fd(),
        }
    }
}
