//! Reads the PROXY protocol, versions 1 and 2, by which a load balancer or another proxy in front announces a connection's
//! client.
//!
//! It is trusted only from the addresses in `proxy.trusted`, whose connections all start with it. Exactly the header is read
//! and no byte beyond: what follows may be TLS. Format: haproxy.org, `doc/proxy-protocol.txt`, sections 2.1 and 2.2.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::{io::AsyncReadExt, net::TcpStream};

/// The first bytes of version 2 and of version 1.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const WORD: &[u8] = b"PROXY ";
/// Maximum length of a version 1 line, including its end.
const MAX_LINE_BYTES: usize = 107;
/// Maximum length after the first 16 bytes of version 2: addresses, and more that is not needed here.
const MAX_REST_BYTES: usize = 16 * 1024;

/// The announced source of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Announced {
    /// This client, which connected to the balancer at that address.
    Client { from: SocketAddr, met: SocketAddr },
    /// The balancer itself, or a client of unknown address.
    Itself,
}

/// Reads a connection's header.
///
/// # Errors
/// If it is invalid or too long, or the connection ended within it.
pub(crate) async fn announced(stream: &mut TcpStream) -> io::Result<Announced> {
    // No header is shorter.
    let mut first = [0; SIGNATURE.len()];
    stream.read_exact(&mut first).await?;
    if first == *SIGNATURE {
        let mut head = [0; 4];
        stream.read_exact(&mut head).await?;
        let [command, family, length @ ..] = head;
        let length = usize::from(u16::from_be_bytes(length));
        if length > MAX_REST_BYTES {
            return Err(wrong());
        }
        let mut rest = vec![0; length];
        stream.read_exact(&mut rest).await?;
        return binary(command, family, &rest).ok_or_else(wrong);
    }
    if !first.starts_with(WORD) {
        return Err(wrong());
    }
    let mut line = first.to_vec();
    while !line.ends_with(b"\n") {
        let mut more = [0; MAX_LINE_BYTES];
        let more = &mut more[..MAX_LINE_BYTES - line.len()];
        if more.is_empty() {
            return Err(wrong());
        }
        let there = stream.peek(more).await?;
        if there == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = more[..there].iter().position(|&byte| byte == b'\n').map_or(there, |at| at + 1);
        stream.read_exact(&mut more[..end]).await?;
        line.extend_from_slice(&more[..end]);
    }
    text(&line).ok_or_else(wrong)
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it does not begin with a PROXY header")
}

/// Version 1: a line, including its end.
fn text(line: &[u8]) -> Option<Announced> {
    let line = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok().filter(|line| !line.contains(['\r', '\n']))?;
    let mut words = line.strip_prefix("PROXY ")?.split(' ');
    let family = words.next()?;
    if family == "UNKNOWN" {
        // Anything that follows must be ignored.
        return Some(Announced::Itself);
    }
    let mut address = || -> Option<IpAddr> {
        let word = words.next()?;
        match family {
            "TCP4" => word.parse::<Ipv4Addr>().ok().map(IpAddr::from),
            "TCP6" => word.parse::<Ipv6Addr>().ok().map(IpAddr::from),
            _ => None,
        }
    };
    let (from, met) = (address()?, address()?);
    let mut port = || words.next().and_then(port);
    let (from, met) = (SocketAddr::new(from, port()?), SocketAddr::new(met, port()?));
    words.next().is_none().then_some(Announced::Client { from, met })
}

/// Digits without leading zeros.
fn port(word: &str) -> Option<u16> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'));
    word.parse().ok().filter(|_| is_plain)
}

/// Version 2: its 13th and 14th byte, and what follows the 16th.
fn binary(command: u8, family: u8, rest: &[u8]) -> Option<Announced> {
    match (command, family) {
        // LOCAL: anything that follows must be ignored.
        (0x20, _) => Some(Announced::Itself),
        // PROXY: TCP over IPv4, and over IPv6.
        (0x21, 0x11) => {
            let (from, met, ports) = (rest.first_chunk::<4>()?, rest.get(4..)?.first_chunk::<4>()?, rest.get(8..12)?);
            Some(client((*from).into(), (*met).into(), ports))
        }
        (0x21, 0x21) => {
            let (from, met) = (rest.first_chunk::<16>()?, rest.get(16..)?.first_chunk::<16>()?);
            Some(client((*from).into(), (*met).into(), rest.get(32..36)?))
        }
        // PROXY: without an address, and for Unix sockets.
        (0x21, 0x00) => Some(Announced::Itself),
        (0x21, 0x31) => (rest.len() >= 216).then_some(Announced::Itself),
        _ => None,
    }
}

fn client(from: IpAddr, met: IpAddr, ports: &[u8]) -> Announced {
    let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
    Announced::Client { from: SocketAddr::new(from, port(0)), met: SocketAddr::new(met, port(2)) }
}

#[cfg(test)]
mod tests;
