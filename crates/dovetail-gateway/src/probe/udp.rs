//! Probes by UDP, to a server that sends back what it gets (RFC 862).

use std::{
    cell::RefCell,
    io,
    net::{IpAddr, SocketAddr},
};

use tokio::net::UdpSocket;

use super::echo;

#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    secret: u64,
    buffer: RefCell<[u8; 64]>,
}

impl Udp {
    pub(super) fn to(address: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(any(address))?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UdpSocket::from_std(socket)?, secret: echo::secret(), buffer: RefCell::new([0; 64]) })
    }

    pub(super) async fn ready(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    pub(super) fn send(&self, number: u64) -> io::Result<()> {
        self.socket.try_send(&echo::write(number, self.secret)).map(drop)
    }

    pub(super) async fn back(&self) -> io::Result<(u64, IpAddr)> {
        loop {
            self.socket.readable().await?;
            let mut buffer = self.buffer.borrow_mut();
            match self.socket.try_recv_from(&mut *buffer) {
                Ok((length, from)) => {
                    if let Some(number) = echo::read(&buffer[..length], self.secret) {
                        return Ok((number, from.ip()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The local address to bind for a peer of this family.
fn any(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() }
}
