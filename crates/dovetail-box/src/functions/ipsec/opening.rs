//! The receiving end of a tunnel: undoes what [`Ipsec`](super::Ipsec) does to a packet (RFC 4303, 3.4).
//!
//! Follows the RFC's order: the association is found by SPI and destination, an old sequence number is rejected before any
//! work is done for it, the packet is authenticated and decrypted, which is one step of AES-GCM, and only then does the
//! window move. The inner source address is checked last (RFC 4301, 5.2, step 4): a genuine packet can still have a source
//! that the other end is not allowed to send for.
//!
//! Everything happens in place: nothing is allocated, and the inner packet moves to where the outer header was.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use ring::aead::{Aad, LessSafeKey, Nonce};

use super::{
    super::checksum::{finish, sum},
    super::frame::{Ip, TYPE_IPV4, TYPE_IPV6, Version, write},
    super::protocol,
    Association, HEADER, ICV, IV, SALT, ecn,
    replay::Window,
};

/// Pad length and next header (RFC 4303, 2.4 f.).
const LAST: usize = 2;
/// Next header of a dummy packet, which conceals the traffic volume: it is discarded (RFC 4303, 2.6).
const NEXT_NONE: u8 = 59;

/// Identifies the receiving end of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// The security parameters index.
    pub spi: u32,
    /// The receiving end's address.
    pub destination: [u8; 4],
}

impl Address {
    /// The association that a frame is for, and its outer header; `None` if the frame does not hold the beginning of an ESP
    /// packet over IPv4.
    #[must_use]
    pub fn of(frame: &[u8]) -> Option<(Self, Ip)> {
        let ip = Ip::find(frame).ok().filter(|ip| ip.version == Version::V4)?;
        let (protocol, esp) = ip.transport(frame);
        let spi = frame.get(esp?..ip.end).filter(|_| protocol == protocol::ESP)?.first_chunk()?;
        let destination = (ip.addresses(frame).1 as u32).to_be_bytes();
        Some((Self { spi: u32::from_be_bytes(*spi), destination }, ip))
    }
}

/// Why a packet of a tunnel is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refused {
    /// It is a fragment, its headers or padding are inconsistent, or it holds no IP packet.
    Malformed,
    /// Its sequence number has been seen already, or is older than the window.
    Replay,
    /// It was not encrypted with the tunnel's key, or has been modified since.
    Authentication,
    /// Its source is outside the tunnel's prefixes.
    NotAllowed,
    /// Routers marked it for congestion, and the inner packet cannot carry the mark (RFC 6040, 4.2).
    Congestion,
    /// A dummy packet that conceals the traffic volume (RFC 4303, 2.6).
    Dummy,
}

/// Decrypts packets of one association.
pub struct Opening {
    cipher: LessSafeKey,
    association: Association,
    prefixes: Vec<IpNet>,
    window: Window,
}

impl Opening {
    /// The receiving end of a tunnel whose packets come from within `prefixes`. No sequence number has been seen yet.
    #[must_use]
    pub fn new(association: Association, prefixes: &[IpNet]) -> Self {
        Self { cipher: association.keys.cipher(), association, prefixes: prefixes.to_vec(), window: Window::default() }
    }

    /// What identifies this end.
    #[must_use]
    pub fn address(&self) -> Address {
        Address { spi: self.association.spi, destination: self.association.destination }
    }

    /// Identifies its key without revealing it.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 16] {
        self.association.keys.fingerprint()
    }

    /// Which sequence numbers have been seen.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Continues from the window of another end with the same key.
    pub fn set_window(&mut self, window: Window) {
        self.window = window;
    }

    /// Replaces a frame's outer packet by its inner packet, keeping the Ethernet header and tags; returns the location of
    /// the inner packet, whose header is sound. `ip` is the outer header, as [`Address::of`] found it. Linear in the bytes;
    /// nothing is allocated.
    ///
    /// # Errors
    /// Why the packet is dropped; the frame then holds nothing that may be sent.
    pub fn open(&mut self, frame: &mut Vec<u8>, ip: &Ip) -> Result<Ip, Refused> {
        // Fragments must be reassembled before ESP processing (RFC 4303, 3.4.1), which no bridge does.
        if ip.is_fragment(frame) || finish(sum(frame.get(ip.at..ip.body).unwrap_or_default(), 0)) != 0 {
            return Err(Refused::Malformed);
        }
        let esp = frame.get(ip.body..ip.end).and_then(|esp| esp.split_first_chunk::<{ HEADER + IV }>());
        let Some((head, sealed)) = esp else { return Err(Refused::Malformed) };
        let text = sealed.len().checked_sub(ICV).filter(|text| *text >= LAST && text.is_multiple_of(4));
        if text.is_none() {
            return Err(Refused::Malformed);
        }
        let [s0, s1, s2, s3, n0, n1, n2, n3, iv @ ..] = *head;
        let sequence = u32::from_be_bytes([n0, n1, n2, n3]);
        if !self.window.is_new(sequence) {
            return Err(Refused::Replay);
        }
        let mut nonce = [0; SALT + IV];
        nonce[..SALT].copy_from_slice(&self.association.keys.salt());
        nonce[SALT..].copy_from_slice(&iv);
        let (nonce, header) = (Nonce::assume_unique_for_key(nonce), Aad::from([s0, s1, s2, s3, n0, n1, n2, n3]));
        let outer = frame.get(ip.at + 1).copied().unwrap_or(0);
        frame.truncate(ip.end);
        let packet = frame.get_mut(ip.at..).unwrap_or_default();
        let sealed = ip.body - ip.at + HEADER + IV..;
        let Ok(text) = self.cipher.open_within(nonce, header, packet, sealed) else {
            return Err(Refused::Authentication);
        };
        self.window.note(sequence);
        let Some((kind, length)) = within(text)? else { return Err(Refused::Dummy) };
        frame.truncate(ip.at + length);
        write(frame, ip.at - 2, &kind.to_be_bytes());
        let inner = Ip::find(frame).map_err(|_| Refused::Malformed)?;
        if inner.version == Version::V4 && finish(sum(frame.get(inner.at..inner.body).unwrap_or_default(), 0)) != 0 {
            return Err(Refused::Malformed);
        }
        // Bytes after the packet may conceal its length (RFC 4303, 2.7).
        frame.truncate(inner.end);
        let (source, _) = inner.addresses(frame);
        let source = match inner.version {
            Version::V4 => IpAddr::V4(Ipv4Addr::from_bits(source as u32)),
            Version::V6 => IpAddr::V6(Ipv6Addr::from_bits(source)),
        };
        if !self.prefixes.iter().any(|prefix| prefix.contains(&source)) {
            return Err(Refused::NotAllowed);
        }
        if ecn::pass_on(outer, frame, &inner) { Ok(inner) } else { Err(Refused::Congestion) }
    }
}

/// EtherType and length of a decrypted payload without its padding; `None` for a dummy packet.
fn within(text: &[u8]) -> Result<Option<(u16, usize)>, Refused> {
    let [before @ .., padding, next] = text else { return Err(Refused::Malformed) };
    let length = before.len().checked_sub(usize::from(*padding)).ok_or(Refused::Malformed)?;
    // Padding bytes count up from 1 (RFC 4303, 2.4).
    if !before.iter().skip(length).zip(1..=u8::MAX).all(|(&byte, wanted)| byte == wanted) {
        return Err(Refused::Malformed);
    }
    match *next {
        protocol::IPV4 => Ok(Some((TYPE_IPV4, length))),
        protocol::IPV6 => Ok(Some((TYPE_IPV6, length))),
        NEXT_NONE => Ok(None),
        _ => Err(Refused::Malformed),
    }
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { association, prefixes, .. } = self;
        f.debug_struct("Opening").field("association", association).field("prefixes", prefixes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
