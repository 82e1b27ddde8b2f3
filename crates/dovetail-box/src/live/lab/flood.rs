//! More packets than a socket can send: the kernel makes them, as a network card's driver would.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use super::{HOST_INTERFACE, datagram, spec::Place};
use crate::live::{
    switch::{flood::flood, ports::Port},
    sys::bpf::{self, Array, Kind, Unloaded},
};

/// [Datagrams](datagram) of many flows in turn, all with the number 0, from the host of the thread's namespace. They go out
/// by the driver of its interface, without a socket, a queue or a stack. The other end of a veth has to take frames in one by one
/// for that: `ethtool -K <it> gro on`, or an XDP program there; else all are lost.
#[derive(Debug)]
pub struct Flood {
    program: OwnedFd,
    frame: Vec<u8>,
    _turn: OwnedFd,
}

impl Flood {
    /// Of so many flows, frames of this length, from one side. Needs `CAP_BPF` and `CAP_NET_ADMIN`, and Linux 5.18.
    ///
    /// # Errors
    /// The system's.
    pub fn new(from: Place, flows: u16, bytes: usize) -> io::Result<Self> {
        let interface = Port::find(HOST_INTERFACE).map_err(io::Error::other)?.index;
        let turn = bpf::array("flood_turn", Array::Shared)?;
        let program = flood(turn.as_fd(), interface, datagram::SOURCE_PORT_AT as i16, datagram::SOURCE_PORT, flows);
        let refused = |Unloaded { error, log }| if log.is_empty() { error } else { io::Error::other(log) };
        let program = bpf::load("flood", Kind::Flood, &program).map_err(refused)?;
        Ok(Self { program, frame: datagram::frame(from, 0, 0, bytes), _turn: turn })
    }

    /// Makes and sends so many. Each call begins with some milliseconds of preparation.
    ///
    /// # Errors
    /// The system's; `EINTR` where a signal came.
    pub fn send(&self, frames: u32) -> io::Result<()> {
        bpf::send_frames(self.program.as_fd(), &self.frame, frames)
    }
}
