//! Outer headers of GSO/GRO frames that carry a tunnelled packet.
//!
//! Linux joins a stream's packets within GRE, IP in IP, VXLAN or Geneve as it does outside of them, and a sender on the same
//! machine leaves them unsplit. The offload metadata of such a frame describes the inner packet, and has no way to describe a
//! tunnel: a kernel does not accept such a frame back. When it is split here, every segment gets the outer headers too:
//!
//! | around the packet | found by | own to each segment |
//! |---|---|---|
//! | IPv4, IPv6 | the link's type | identification, length, checksum |
//! | GRE (RFC 2784, 2890) | protocol 47, with a checksum or a key | checksum, if it has one |
//! | VXLAN (RFC 7348) | UDP to 4789 or Linux's 8472 | UDP's length and checksum, if it has one |
//! | Geneve (RFC 8926) | UDP to 6081 | the same |
//!
//! There is only one tunnel: within two, Linux joins nothing.

use super::Refused;
use crate::functions::{
    checksum::{finish, sum},
    frame::{Ip, TYPE_IPV4, TYPE_IPV6, UDP, read_u16, write},
    protocol,
    transport::{pseudo_header, write_udp},
};

/// EtherType of an Ethernet frame within GRE or Geneve.
const TYPE_ETHERNET: u16 = 0x6558;

const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
/// Length of VXLAN's header, and of Geneve's without options.
const HEADER: usize = 8;

/// The outer headers. All of them are in front of what is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outer {
    ip: Ip,
    by: By,
}

/// What lies between the two IP headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Nothing,
    Gre { at: usize, has_checksum: bool },
    Udp { at: usize, has_checksum: bool },
}

impl Outer {
    /// Enters a tunnel: the outer headers and the inner packet. Constant time.
    ///
    /// # Errors
    /// It is not a known tunnel, it is a fragment, or the inner packet does not fill it.
    pub(super) fn find(frame: &[u8], ip: Ip) -> Result<(Self, Ip), Refused> {
        Self::read(frame, ip).filter(|(_, inner)| inner.end == ip.end).ok_or(Refused::Headers)
    }

    fn read(frame: &[u8], ip: Ip) -> Option<(Self, Ip)> {
        let (protocol, at) = ip.transport(frame);
        let at = at.filter(|_| !ip.is_fragment(frame))?;
        let (by, inner) = match protocol {
            protocol::IPV4 => (By::Nothing, packet(frame, at, TYPE_IPV4)?),
            protocol::IPV6 => (By::Nothing, packet(frame, at, TYPE_IPV6)?),
            protocol::GRE => within_gre(frame, at)?,
            protocol::UDP => within_udp(frame, at, ip.end)?,
            _ => return None,
        };
        Some((Self { ip, by }, inner))
    }

    /// Fills in the outer fields that are specific to the segment of this index, whose inner packet is complete. Its
    /// headers are shifted by `shift` bytes relative to the frame in which they were found. Linear in the bytes if there is
    /// an outer checksum.
    pub(super) fn write(&self, segment: &mut [u8], index: usize, shift: usize) {
        let ip = self.ip.in_segment(shift, segment.len());
        match self.by {
            By::Nothing => {}
            By::Gre { at, has_checksum } => {
                if has_checksum {
                    // Checksum, and reserved bytes that are zero.
                    write(segment, at + shift + 4, &[0; 4]);
                    let checksum = finish(sum(segment.get(at + shift..).unwrap_or_default(), 0));
                    write(segment, at + shift + 4, &checksum.to_be_bytes());
                }
            }
            By::Udp { at, has_checksum: true } => {
                let pseudo = pseudo_header(segment, &ip, protocol::UDP, 0);
                write_udp(segment, at + shift, pseudo);
            }
            By::Udp { at, has_checksum: false } => {
                let bytes = segment.len() - (at + shift);
                write(segment, at + shift + 4, &(bytes as u16).to_be_bytes());
            }
        }
        ip.write_segment(segment, index);
    }
}

/// The IP packet of this EtherType that begins at `at`.
fn packet(frame: &[u8], at: usize, kind: u16) -> Option<Ip> {
    Ip::begins(frame, at, kind).ok()
}

/// The inner IP packet of a tunnel that states its content: a packet, or a frame that holds one.
fn carried(frame: &[u8], at: usize, kind: u16) -> Option<Ip> {
    if kind == TYPE_ETHERNET { Ip::find_from(frame, at).ok() } else { packet(frame, at, kind) }
}

fn within_gre(frame: &[u8], at: usize) -> Option<(By, Ip)> {
    const CHECKSUM: u16 = 0x8000;
    const KEY: u16 = 0x2000;
    let flags = read_u16(frame, at)?;
    // Version 0. Sequence numbers would belong to packets that no longer exist.
    if flags & !(CHECKSUM | KEY) != 0 {
        return None;
    }
    let [has_checksum, has_key] = [CHECKSUM, KEY].map(|flag| flags & flag != 0);
    let inside = at + 4 + 4 * usize::from(has_checksum) + 4 * usize::from(has_key);
    Some((By::Gre { at, has_checksum }, carried(frame, inside, read_u16(frame, at + 2)?)?))
}

fn within_udp(frame: &[u8], at: usize, end: usize) -> Option<(By, Ip)> {
    let [port, length, checksum] = [read_u16(frame, at + 2)?, read_u16(frame, at + 4)?, read_u16(frame, at + 6)?];
    let body = at + UDP;
    let first = read_u16(frame, body)?;
    let inner = match port {
        // Flags other than those of group policies mean that the content is something else.
        _ if VXLAN_PORTS.contains(&port) => {
            const ITS_NETWORK: u16 = 0x0800;
            const OF_POLICIES: u16 = 0x8048;
            (first & !OF_POLICIES == ITS_NETWORK).then_some(())?;
            carried(frame, body + HEADER, TYPE_ETHERNET)?
        }
        GENEVE_PORT => {
            const VERSION: u16 = 0xc000;
            (first & VERSION == 0).then_some(())?;
            let options = usize::from(first >> 8 & 0x3f) * 4;
            carried(frame, body + HEADER + options, read_u16(frame, body + 2)?)?
        }
        _ => return None,
    };
    let by = By::Udp { at, has_checksum: checksum != 0 };
    (end.checked_sub(at) == Some(usize::from(length))).then_some((by, inner))
}
