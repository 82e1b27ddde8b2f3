//! Probes over UDP, to a server that echoes them (RFC 862).

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use super::{datagrams::Datagrams, echo};

#[derive(Debug)]
pub(crate) struct Udp {
    socket: Datagrams,
    secret: u64,
}

impl Udp {
    pub(super) fn to(address: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(any(address))?;
        socket.connect(address)?;
        Ok(Self { socket: Datagrams::new(socket.into())?, secret: echo::secret() })
    }

    pub(super) fn send(&self, number: u64) -> io::Result<()> {
        self.socket.send(&echo::write(number, self.secret))
    }

    pub(super) async fn back(&self) -> io::Result<(u64, IpAddr)> {
        let mut bytes = [0; 64];
        loop {
            let (length, from) = self.socket.receive(&mut bytes).await?;
            if let Some(number) = echo::read(&bytes[..length], self.secret) {
                return Ok((number, from));
            }
        }
    }
}

/// The local address to bind for a peer of this family.
fn any(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() }
}
