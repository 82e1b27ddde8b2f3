//! Generates more packets than a socket can send: the kernel creates them, like a network card's driver.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use super::{HOST_INTERFACE, datagram, spec::Place};
use crate::live::{
    switch::{flood::flood, ports::Port},
    sys::bpf::{self, Array, Kind, Unloaded},
};

/// Sends [datagrams](datagram) of many flows in turn, all with the number 0, from the host of the thread's namespace. They
/// leave through the driver of its interface, without a socket, a queue or a stack. For that, the other end of a veth pair
/// must receive frames one by one: `ethtool -K <it> gro on`, or an XDP program there; otherwise all are lost.
#[derive(Debug)]
pub struct Flood {
    program: OwnedFd,
    frame: Vec<u8>,
    _turn: OwnedFd,
}

impl Flood {
    /// Sends frames of this length from one side, of this number of flows. Needs `CAP_BPF` and `CAP_NET_ADMIN`, and Linux 5.18.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(from: Place, flows: u16, bytes: usize) -> io::Result<Self> {
        let interface = Port::find(HOST_INTERFACE).map_err(io::Error::other)?.index;
        let turn = bpf::array("flood_turn", Array::Shared)?;
        let program = flood(turn.as_fd(), interface, datagram::SOURCE_PORT_AT as i16, datagram::SOURCE_PORT, flows);
        let refused = |Unloaded { error, log }| if log.is_empty() { error } else { io::Error::other(log) };
        let program = bpf::load("flood", Kind::Flood, &program).map_err(refused)?;
        Ok(Self { program, frame: datagram::frame(from, 0, 0, bytes), _turn: turn })
    }

    /// Creates and sends this number of frames. Each call starts with some milliseconds of preparation.
    ///
    /// # Errors
    /// The system's error; `EINTR` when interrupted by a signal.
    pub fn send(&self, frames: u32) -> io::Result<()> {
        bpf::send_frames(self.program.as_fd(), &self.frame, frames)
    }
}
