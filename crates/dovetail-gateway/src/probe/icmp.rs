//! Probes over ICMP: echoes that are answered (RFC 792, RFC 4443), or that expire on their way and are reported by the hop
//! where they did.
//!
//! A hop reports only the first 8 bytes of an expired packet for sure. So a probe's number is recovered from its low 16 bits,
//! the echo's sequence number: it is the last one sent with these.

use std::{
    cell::Cell,
    io,
    net::{IpAddr, SocketAddr},
};

use socket2::{Domain, Protocol, Socket, Type};

use super::{datagrams::Datagrams, echo};

const ECHO_REPLY_V4: u8 = 0;
const ECHO_V4: u8 = 8;
const EXPIRED_V4: u8 = 11;
const ECHO_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;
const EXPIRED_V6: u8 = 3;

#[derive(Debug)]
pub(crate) struct Icmp {
    socket: Datagrams,
    is_v4: bool,
    // The destination of probes that expire; `None` for those that are answered.
    expires: Option<Towards>,
    is_raw: bool,
    identifier: u16,
    secret: u64,
    last: Cell<u64>,
}

/// An address, or the servers that answer requests.
#[derive(Debug)]
struct Towards(Option<IpAddr>);

impl Icmp {
    /// Echoes that are answered by an address.
    pub(super) fn to(address: IpAddr) -> io::Result<Self> {
        let (domain, protocol) = family(address.is_ipv4());
        let (socket, is_raw) = match Socket::new(domain, Type::DGRAM, Some(protocol)) {
            Ok(socket) => (socket, false),
            Err(_) => (Socket::new(domain, Type::RAW, Some(protocol))?, true),
        };
        socket.connect(&SocketAddr::new(address, 0).into())?;
        Self::new(socket, address.is_ipv4(), None, is_raw)
    }

    /// Echoes that expire after this many hops towards an address, or towards IPv4 servers.
    pub(super) fn expiring(hops: u8, towards: Option<IpAddr>) -> io::Result<Self> {
        let is_v4 = towards.is_none_or(|address| address.is_ipv4());
        let (domain, protocol) = family(is_v4);
        // Expired packets are reported only to raw sockets, or through an error queue.
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        if is_v4 {
            socket.set_ttl_v4(hops.into())?
        } else {
            socket.set_unicast_hops_v6(hops.into())?
        }
        Self::new(socket, is_v4, Some(Towards(towards)), true)
    }

    fn new(socket: Socket, is_v4: bool, expires: Option<Towards>, is_raw: bool) -> io::Result<Self> {
        let (socket, secret) = (Datagrams::new(socket)?, echo::secret());
        Ok(Self { socket, is_v4, expires, is_raw, identifier: secret as u16, secret, last: Cell::new(0) })
    }

    /// Whether there is an address to send to.
    pub(super) fn has_target(&self, server: Option<IpAddr>) -> bool {
        match &self.expires {
            Some(Towards(address)) => address.or(server).is_some(),
            None => true,
        }
    }

    /// `server` is one towards which a probe may expire.
    pub(super) fn send(&self, number: u64, server: Option<IpAddr>) -> io::Result<()> {
        self.last.set(number);
        let packet = self.packet(number);
        let Some(Towards(address)) = &self.expires else { return self.socket.send(&packet) };
        let to = address.or(server).filter(|to| to.is_ipv4() == self.is_v4);
        let to =
            to.ok_or_else(|| io::Error::other("responses come from IPv6 servers: name an address, as in hop:2@…"))?;
        self.socket.send_to(&packet, to)
    }

    /// The number of the next answered probe, and the address that answered.
    pub(super) async fn back(&self) -> io::Result<(u64, IpAddr)> {
        let mut bytes = [0; 256];
        loop {
            let (length, from) = self.socket.receive(&mut bytes).await?;
            if let Some(number) = self.number(&bytes[..length]) {
                return Ok((number, from));
            }
        }
    }

    fn packet(&self, number: u64) -> Vec<u8> {
        let is_v4 = self.is_v4;
        let mut packet = vec![if is_v4 { ECHO_V4 } else { ECHO_V6 }, 0, 0, 0];
        packet.extend_from_slice(&self.identifier.to_be_bytes());
        packet.extend_from_slice(&(number as u16).to_be_bytes());
        packet.extend_from_slice(&echo::write(number, self.secret));
        if is_v4 {
            let sum = checksum(&packet).to_be_bytes();
            packet[2..4].copy_from_slice(&sum);
        }
        packet
    }

    /// The number of our probe that this packet reports.
    fn number(&self, packet: &[u8]) -> Option<u64> {
        let is_v4 = self.is_v4;
        let icmp = if is_v4 && self.is_raw { payload_v4(packet)? } else { packet };
        let kind = *icmp.first()?;
        let body = icmp.get(8..)?;
        if kind == if is_v4 { ECHO_REPLY_V4 } else { ECHO_REPLY_V6 } {
            return echo::read(body, self.secret);
        }
        if self.expires.is_none() || kind != if is_v4 { EXPIRED_V4 } else { EXPIRED_V6 } {
            return None;
        }
        // The packet that expired: its IP header, and the first bytes of the echo.
        let inner = if is_v4 { payload_v4(body)? } else { body.get(40..)? };
        let word = |at: usize| Some(u16::from_be_bytes([*inner.get(at)?, *inner.get(at + 1)?]));
        let is_echo = *inner.first()? == if is_v4 { ECHO_V4 } else { ECHO_V6 };
        let (identifier, sequence) = (word(4)?, word(6)?);
        let last = self.last.get();
        let behind = (last as u16).wrapping_sub(sequence);
        (is_echo && identifier == self.identifier).then(|| last.checked_sub(behind.into())).flatten()
    }
}

fn family(is_v4: bool) -> (Domain, Protocol) {
    if is_v4 { (Domain::IPV4, Protocol::ICMPV4) } else { (Domain::IPV6, Protocol::ICMPV6) }
}

/// The payload after an IPv4 header.
fn payload_v4(packet: &[u8]) -> Option<&[u8]> {
    let header = usize::from(packet.first()? & 15) * 4;
    packet.get(header.max(20)..)
}

/// The Internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_of_what_has_one_is_nothing() {
        // The example of RFC 1071, section 3.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[tokio::test]
    async fn what_expired_is_found_by_its_low_bits() {
        let Ok(icmp) = Icmp::expiring(3, None) else {
            return dovetail_skip::skipped("raw sockets need root");
        };
        icmp.last.set(0x1_0002);
        let expired = |number: u64| {
            let mut packet = vec![0x45; 20];
            packet.extend([EXPIRED_V4, 0, 0, 0, 0, 0, 0, 0]);
            packet.extend([0x45; 20]);
            packet.extend(&icmp.packet(number)[..8]);
            packet
        };
        for number in [0x1_0002, 0x1_0001, 0xffff] {
            assert_eq!(icmp.number(&expired(number)), Some(number));
        }
        let mut foreign = expired(0x1_0002);
        foreign[52] ^= 1;
        assert_eq!(icmp.number(&foreign), None);
        for length in 0..expired(1).len() {
            assert_eq!(icmp.number(&expired(1)[..length]), None, "{length} bytes");
        }
    }
}
