//! A socket for probes that signals when something can be read.
//!
//! It does not wait until it is writable: the kernel would signal that after every packet sent, and a probe that finds no space
//! may as well count as lost on the link.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use rustix::net::{RecvFlags, recvfrom};
use socket2::Socket;
use tokio::io::{Interest, unix::AsyncFd};

use crate::sys;

#[derive(Debug)]
pub(super) struct Datagrams(AsyncFd<Socket>);

impl Datagrams {
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        sys::readable(socket).map(Self)
    }

    /// Sends to the connected address.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.0.get_ref().send(packet).map(drop)
    }

    pub(super) fn send_to(&self, packet: &[u8], to: IpAddr) -> io::Result<()> {
        self.0.get_ref().send_to(packet, &SocketAddr::new(to, 0).into()).map(drop)
    }

    /// The next packet, truncated to the buffer, and its sender.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, IpAddr)> {
        let (length, from) = self
            .0
            .async_io(Interest::READABLE, |socket| {
                let (length, _, from) = recvfrom(socket, &mut *buffer, RecvFlags::empty())?;
                Ok((length, from))
            })
            .await?;
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        let from = from.ok_or_else(|| io::Error::other("a packet came from no address"))?;
        Ok((length, from.ip()))
    }
}
