//! Locates the headers of an Ethernet frame without copying and without trusting any length.
//!
//! Yields only the offsets that functions need to change a frame in place. Skips up to two VLAN tags and up to
//! [`MAX_EXTENSIONS`] IPv6 extension headers.

use dovetail_sched::flow::FiveTuple;

use super::{
    Reason, Verdict,
    checksum::{finish, sum},
    protocol::{AUTHENTICATION, DESTINATION, FRAGMENT, HOP_BY_HOP, ROUTING, has_ports},
};

/// Destination, source, type.
pub const ETHERNET: usize = 14;
/// IPv4 header without options.
pub const IPV4: usize = 20;
/// IPv6 header without extensions.
pub const IPV6: usize = 40;
/// UDP header.
pub const UDP: usize = 8;
/// TCP header without options.
pub const TCP: usize = 20;
/// Maximum number of IPv6 extension headers that are skipped; ports behind more are not looked for.
pub const MAX_EXTENSIONS: usize = 8;

/// EtherType of IPv4.
pub const TYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const TYPE_IPV6: u16 = 0x86dd;
const TYPE_VLAN: [u16; 2] = [0x8100, 0x88a8];
/// Maximum number of VLAN tags that are skipped.
pub(crate) const MAX_VLANS: usize = 2;

const MALFORMED: Verdict = Verdict::Drop(Reason::Malformed);

/// The version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// An IP packet within a frame: `at..end` lies within the frame, and so does its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip {
    /// The version of IP.
    pub version: Version,
    /// Offset of the header.
    pub at: usize,
    /// Offset of the payload: after IPv4 options, before IPv6 extension headers.
    pub body: usize,
    /// End of the packet by its own length field; the link may have padded the frame after it.
    pub end: usize,
}

/// Reads a big-endian number, if the frame is long enough.
pub(crate) fn read_u16(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}

/// Writes bytes if they fit.
pub(crate) fn write(frame: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = frame.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Offset of an Ethernet frame's payload, after up to two VLAN tags, and its EtherType.
pub(crate) fn behind_tags(frame: &[u8]) -> Option<(usize, u16)> {
    let mut at = ETHERNET;
    let mut kind = read_u16(frame, at - 2)?;
    for _ in 0..MAX_VLANS {
        if TYPE_VLAN.contains(&kind) {
            at += 4;
            kind = read_u16(frame, at - 2)?;
        }
    }
    Some((at, kind))
}

impl Ip {
    /// Finds the IP packet of a frame.
    ///
    /// # Errors
    /// The verdict on a frame without one: untouched if it is of another protocol, dropped if its lengths are inconsistent.
    pub fn find(frame: &[u8]) -> Result<Self, Verdict> {
        Self::find_from(frame, 0)
    }

    /// Finds the IP packet of a frame that begins within another, as in a tunnel. Its offsets are relative to the whole
    /// frame.
    ///
    /// # Errors
    /// Same as for [`find`](Self::find).
    pub(crate) fn find_from(frame: &[u8], ethernet: usize) -> Result<Self, Verdict> {
        let (behind, kind) = frame.get(ethernet..).and_then(behind_tags).ok_or(MALFORMED)?;
        Self::begins(frame, ethernet + behind, kind)
    }

    /// The IP packet that begins at `at`, if `kind` is an EtherType of IP.
    ///
    /// # Errors
    /// Same as for [`find`](Self::find).
    pub(crate) fn begins(frame: &[u8], at: usize, kind: u16) -> Result<Self, Verdict> {
        let packet = frame.get(at..).unwrap_or_default();
        let nibble = packet.first().map(|first| first >> 4);
        let found = match (kind, nibble) {
            (TYPE_IPV4, Some(4)) => Self::v4(packet),
            (TYPE_IPV6, Some(6)) => Self::v6(packet),
            (TYPE_IPV4 | TYPE_IPV6, _) => None,
            _ => return Err(Verdict::Untouched),
        };
        let (version, header, length) = found.ok_or(MALFORMED)?;
        if header > length || length > packet.len() {
            return Err(MALFORMED);
        }
        Ok(Self { version, at, body: at + header, end: at + length })
    }

    fn v4(packet: &[u8]) -> Option<(Version, usize, usize)> {
        let header = usize::from(packet.first()? & 0xf) * 4;
        (header >= IPV4).then_some((Version::V4, header, usize::from(read_u16(packet, 2)?)))
    }

    fn v6(packet: &[u8]) -> Option<(Version, usize, usize)> {
        Some((Version::V6, IPV6, IPV6 + usize::from(read_u16(packet, 4)?)))
    }

    /// Offset of the hop limit.
    pub(crate) fn hop_limit_at(&self) -> usize {
        self.at + if self.version == Version::V4 { 8 } else { 7 }
    }

    /// Offset of the protocol number.
    pub(crate) fn protocol_at(&self) -> usize {
        self.at + if self.version == Version::V4 { 9 } else { 6 }
    }

    /// The protocol number; for IPv6, the one in the fixed header.
    #[must_use]
    pub fn protocol(&self, frame: &[u8]) -> u8 {
        frame.get(self.protocol_at()).copied().unwrap_or(0)
    }

    /// Source and destination; an IPv4 address is in the low 32 bits.
    #[must_use]
    pub fn addresses(&self, frame: &[u8]) -> (u128, u128) {
        let (at, width) = if self.version == Version::V4 { (self.at + 12, 4) } else { (self.at + 8, 16) };
        let read = |at: usize| {
            let bytes = frame.get(at..at + width).unwrap_or_default();
            bytes.iter().fold(0u128, |sum, &byte| sum << 8 | u128::from(byte))
        };
        (read(at), read(at + width))
    }

    /// Offset of the destination that transport checksums cover: the last of several if a routing header is not used up yet
    /// (RFC 8200, 8.1; RFC 8754, 2).
    pub(crate) fn last_destination_at(&self, frame: &[u8]) -> usize {
        match self.version {
            Version::V4 => self.at + 16,
            Version::V6 => self.behind_extensions(frame).last_destination.unwrap_or(self.at + 24),
        }
    }

    /// Whether the packet is a fragment.
    #[must_use]
    pub fn is_fragment(&self, frame: &[u8]) -> bool {
        match self.version {
            Version::V4 => read_u16(frame, self.at + 6).is_some_and(|field| field & 0x3fff != 0),
            Version::V6 => self.behind_extensions(frame).is_fragment,
        }
    }

    /// Protocol, addresses and ports. Ports are 0 if the protocol has none or a fragment does not include them.
    #[must_use]
    pub fn five_tuple(&self, frame: &[u8]) -> FiveTuple {
        let (source, destination) = self.addresses(frame);
        let (protocol, at) = self.transport(frame);
        let ports = at.filter(|_| has_ports(protocol)).filter(|at| at + 4 <= self.end);
        let port = |offset: usize| ports.and_then(|at| read_u16(frame, at + offset)).unwrap_or(0);
        let mapped = if self.version == Version::V4 { 0xffff << 32 } else { 0 };
        FiveTuple {
            protocol,
            source: (mapped | source).to_be_bytes(),
            destination: (mapped | destination).to_be_bytes(),
            source_port: port(0),
            destination_port: port(2),
        }
    }

    /// The transport protocol and the offset of its header; no offset for a fragment that does not include it. For IPv6
    /// this may be the number of an extension header: one that is truncated, or one behind [`MAX_EXTENSIONS`] others.
    #[must_use]
    pub fn transport(&self, frame: &[u8]) -> (u8, Option<usize>) {
        match self.version {
            Version::V4 => (self.protocol(frame), (!self.is_later_fragment(frame)).then_some(self.body)),
            Version::V6 => {
                let Behind { protocol, at, .. } = self.behind_extensions(frame);
                (protocol, at)
            }
        }
    }

    fn is_later_fragment(&self, frame: &[u8]) -> bool {
        read_u16(frame, self.at + 6).is_some_and(|field| field & 0x1fff != 0)
    }

    /// The protocol behind IPv6's extension headers.
    fn behind_extensions(&self, frame: &[u8]) -> Behind {
        let mut protocol = self.protocol(frame);
        let mut at = self.body;
        let mut is_fragment = false;
        let mut last_destination = None;
        for _ in 0..MAX_EXTENSIONS {
            let Some(header) = frame.get(at..self.end).filter(|header| header.len() >= 8) else {
                break;
            };
            is_fragment |= protocol == FRAGMENT;
            let length = match protocol {
                HOP_BY_HOP | ROUTING | DESTINATION => 8 + usize::from(header[1]) * 8,
                AUTHENTICATION => 8 + usize::from(header[1]) * 4,
                FRAGMENT if u16::from_be_bytes([header[2], header[3]]) & 0xfff8 != 0 => {
                    return Behind { protocol: header[0], at: None, is_fragment, last_destination };
                }
                FRAGMENT => 8,
                _ => break,
            };
            if protocol == ROUTING {
                last_destination = last_of_route(header, length).map(|offset| at + offset);
            }
            protocol = header[0];
            at += length;
        }
        // For a header that is too short to parse, its number alone says whether it is a fragment header.
        is_fragment |= protocol == FRAGMENT;
        Behind { protocol, at: Some(at), is_fragment, last_destination }
    }
}

/// The protocol behind IPv6's extension headers.
struct Behind {
    protocol: u8,
    /// Offset of its header, if this packet includes it.
    at: Option<usize>,
    is_fragment: bool,
    /// Offset of the last address of a routing header that is not used up.
    last_destination: Option<usize>,
}

/// Offset of the last address to visit in an IPv6 routing header of this length, if it has one of which the kind is known.
fn last_of_route(header: &[u8], length: usize) -> Option<usize> {
    const ADDRESS: usize = 16;
    let at = match (header[2], header[3]) {
        (_, 0) => return None,
        // RFC 2460, 4.4; RFC 6275, 6.4.
        (0 | 2, _) => length.checked_sub(ADDRESS)?,
        // RFC 8754, 2: in reverse.
        (4, _) => 8,
        _ => return None,
    };
    (at >= 8 && at + ADDRESS <= length.min(header.len())).then_some(at)
}

/// Writes a packet's length and, for IPv4, its checksum, both from scratch. The caller must reject lengths that do not fit.
pub(crate) fn write_length(frame: &mut [u8], ip: &Ip) {
    match ip.version {
        Version::V4 => {
            write(frame, ip.at + 2, &((ip.end - ip.at) as u16).to_be_bytes());
            write_checksum(frame, ip);
        }
        Version::V6 => write(frame, ip.at + 4, &((ip.end - ip.body) as u16).to_be_bytes()),
    }
}

/// Computes an IPv4 header's checksum from scratch.
pub(crate) fn write_checksum(frame: &mut [u8], ip: &Ip) {
    write(frame, ip.at + 10, &[0, 0]);
    let checksum = finish(sum(frame.get(ip.at..ip.body).unwrap_or_default(), 0));
    write(frame, ip.at + 10, &checksum.to_be_bytes());
}

#[cfg(test)]
mod tests;
