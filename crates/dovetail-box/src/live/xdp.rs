//! An interface through AF_XDP: checks that it is suitable, and does to its frames what a packet socket would have done.
//!
//! Offloads requested by the sending host are lost on the way to the socket: tags are reinserted by the program at the port
//! ([`switch`](super::switch)), missing checksums are detected here. Long frames of a stream do not occur: with an XDP
//! program at one end, the other end of a veth pair does not produce any.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use super::{
    LiveError,
    switch::{Switch, ports},
    sys::{Abilities, Received, XdpSocket},
};
use crate::wire::{checksum::complete, fits::socket_takes, left_out::left_out, offload::Offload};

/// An interface's AF_XDP socket.
#[derive(Debug)]
pub(super) struct Xdp(Box<XdpSocket>);

impl Xdp {
    /// Opens the socket on an interface, and makes the switch redirect frames to it while the box is in charge.
    pub(super) fn open(port: &ports::Port, switch: &mut Switch) -> Result<Self, LiveError> {
        /// The driver that reports a frame's tag to the program. Others strip tags only when configured to.
        const TELLS_TAGS: &str = "veth";
        /// A frame's addresses, type, and two tags.
        const BESIDE_MTU: u32 = 22;
        let name = &port.name;
        let error = |source| LiveError::Socket { interface: name.clone(), source };
        let unfit = |what| LiveError::Io { interface: name.clone(), what };
        let abilities = Abilities::of(name).map_err(error)?;
        if abilities.queues > 1 {
            let queues = abilities.queues;
            return Err(unfit(format!("it has {queues} queues, and can have one: 'ethtool -L {name} combined 1'")));
        }
        if abilities.takes_tags_off && abilities.driver != TELLS_TAGS {
            return Err(unfit(format!("it takes VLAN tags off, which would be lost: 'ethtool -K {name} rxvlan off'")));
        }
        let socket = XdpSocket::open(port.index, port.mtu_bytes + BESIDE_MTU);
        let socket = socket.map_err(|wrong| match wrong.raw_os_error() {
            Some(libc::EMSGSIZE) => unfit(format!("frames of its MTU of {} bytes are too long", port.mtu_bytes)),
            _ => error(wrong),
        })?;
        switch.steer(port.index, socket.descriptor())?;
        Ok(Self(Box::new(socket)))
    }

    pub(super) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        self.0.receive(|received| {
            let partial = left_out(&received.bytes);
            let offload = Offload { partial, segmented: None }.bytes();
            take(Received { offload, ..received })
        })
    }

    pub(super) fn ready(&self, offload: Offload, bytes: &mut [u8]) -> Offload {
        if let Some(partial) = offload.partial {
            // Checksums outside of a frame were rejected on reception.
            let _ = complete(bytes, partial);
        }
        Offload::NONE
    }

    pub(super) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>, mtu: u32) -> io::Result<usize> {
        // The kernel would not report it.
        let mut frames = frames.peekable();
        if frames.peek().is_some_and(|bytes| !socket_takes(bytes, mtu)) {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        self.0.send(frames.take_while(|bytes| socket_takes(bytes, mtu)))
    }

    pub(super) fn interface(&self, name: &str) -> io::Result<(u32, u32)> {
        self.0.interface(name)
    }

    pub(super) fn missed(&self) -> io::Result<u64> {
        self.0.missed()
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
