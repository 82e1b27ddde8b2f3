//! Maps a captured frame to its flow.
//!
//! A flow is one direction of (protocol, addresses, ports). Fragments after the first carry no ports, and protocols other
//! than TCP, UDP, UDP-Lite, DCCP and SCTP have none: these use port 0. VLAN tags and PPPoE are skipped; tunnels are not
//! entered. The flow of a frame without IP is its (EtherType, addresses).

use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dovetail_sched::flow::FiveTuple;
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, LinkSlice, ether_type};

use crate::workload::mix;

/// The header that a captured frame starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet,
    /// An IP header, nothing before it.
    Ip,
    /// Four bytes of address family, then an IP header.
    Family,
    /// Linux cooked capture, version 1.
    Sll,
    /// Linux cooked capture, version 2.
    Sll2,
}

/// The link types supported by [`Link::of`], for messages.
pub(super) const KNOWN_LINKS: &str =
    "Ethernet (1), raw IP (101, 228, 229), loopback (0, 108) and Linux cooked (113, 276)";

impl Link {
    /// From the number of a link type.
    pub(super) fn of(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Ethernet,
            // Some systems write 12 or 14 instead of 101.
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            0 | 108 => Self::Family,
            113 => Self::Sll,
            276 => Self::Sll2,
            _ => return None,
        })
    }
}

/// Identifies a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FlowKey {
    Ip(FiveTuple),
    Frame {
        ether_type: u16,
        source: [u8; 8],
        destination: [u8; 6],
    },
    /// Not even the link header could be read.
    Unreadable,
}

/// How much of the headers was readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Everything that identifies the flow.
    Whole,
    /// The network header, or ports that should be there, could not be read.
    Partial,
}

/// An IEEE 802.3 frame has a length instead of Ethernet II's EtherType; it is represented by this.
const LENGTH_FIELD: u16 = 0;
const PPPOE_SESSION: u16 = 0x8864;

/// Headers between IPv6 and its payload.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// The flow of a frame, of which `data` was captured.
pub(super) fn flow_of(link: Link, data: &[u8]) -> (FlowKey, Sight) {
    match link {
        Link::Ethernet => ethernet(data),
        Link::Ip => ip(data),
        Link::Family => data.get(4..).map_or((FlowKey::Unreadable, Sight::Partial), ip),
        Link::Sll => match data {
            // Packet type, hardware type and address length come first, two bytes each.
            &[_, _, _, _, _, _, a, b, c, d, e, f, g, h, high, low, ref rest @ ..] => {
                cooked(u16::from_be_bytes([high, low]), [a, b, c, d, e, f, g, h], rest)
            }
            _ => (FlowKey::Unreadable, Sight::Partial),
        },
        Link::Sll2 => match data {
            // Two reserved bytes, interface, hardware type, packet type and address length stand before the address.
            &[high, low, _, _, _, _, _, _, _, _, _, _, a, b, c, d, e, f, g, h, ref rest @ ..] => {
                cooked(u16::from_be_bytes([high, low]), [a, b, c, d, e, f, g, h], rest)
            }
            _ => (FlowKey::Unreadable, Sight::Partial),
        },
    }
}

fn ethernet(data: &[u8]) -> (FlowKey, Sight) {
    let Ok(sliced) = LaxSlicedPacket::from_ethernet(data) else { return (FlowKey::Unreadable, Sight::Partial) };
    if let Some(found) = network(&sliced) {
        return found;
    }
    let (mut source, mut destination) = ([0; 8], [0; 6]);
    if let Some(LinkSlice::Ethernet2(header)) = &sliced.link {
        source[..6].copy_from_slice(&header.source());
        destination = header.destination();
    }
    frame(innermost(&sliced), source, destination)
}

fn cooked(protocol: u16, source: [u8; 8], rest: &[u8]) -> (FlowKey, Sight) {
    let sliced = LaxSlicedPacket::from_ether_type(EtherType(protocol), rest);
    network(&sliced).unwrap_or_else(|| frame(innermost(&sliced), source, [0; 6]))
}

fn ip(data: &[u8]) -> (FlowKey, Sight) {
    let sliced = LaxSlicedPacket::from_ip(data).ok();
    sliced.and_then(|sliced| network(&sliced)).unwrap_or((FlowKey::Unreadable, Sight::Partial))
}

fn innermost(sliced: &LaxSlicedPacket<'_>) -> u16 {
    sliced.ether_payload().map_or(LENGTH_FIELD, |payload| payload.ether_type.0)
}

/// The IP packet in a PPPoE session's frame (RFC 2516, section 4): six bytes of header, then the PPP protocol in two bytes, or
/// in one if its first is 0 (RFC 1661, section 6.5).
fn in_session<'a>(sliced: &LaxSlicedPacket<'a>) -> Option<LaxSlicedPacket<'a>> {
    let payload = sliced.ether_payload().filter(|payload| payload.ether_type.0 == PPPOE_SESSION)?;
    match payload.payload {
        // 0x21 is IPv4, 0x57 is IPv6.
        &[_, _, _, _, _, _, 0x00, 0x21 | 0x57, ref packet @ ..] | &[_, _, _, _, _, _, 0x21 | 0x57, ref packet @ ..] => {
            LaxSlicedPacket::from_ip(packet).ok()
        }
        _ => None,
    }
}

fn frame(ether_type: u16, source: [u8; 8], destination: [u8; 6]) -> (FlowKey, Sight) {
    let is_ip = ether_type == ether_type::IPV4.0 || ether_type == ether_type::IPV6.0;
    let sight = if is_ip { Sight::Partial } else { Sight::Whole };
    let ether_type = if ether_type < 0x600 { LENGTH_FIELD } else { ether_type };
    (FlowKey::Frame { ether_type, source, destination }, sight)
}

/// The five-tuple, if there is an IP header.
fn network(sliced: &LaxSlicedPacket<'_>) -> Option<(FlowKey, Sight)> {
    let Some(net) = &sliced.net else { return network(&in_session(sliced)?) };
    let (source, destination, later_fragment, payload) = match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            let later = header.fragments_offset().value() != 0;
            let address = |address: Ipv4Addr| address.to_ipv6_mapped().octets();
            (address(header.source_addr()), address(header.destination_addr()), later, v4.payload())
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            let later = v6.payload().fragmented && is_later_fragment(header.next_header().0, v6.extensions().slice());
            (header.source(), header.destination(), later, v6.payload())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let protocol = payload.ip_number.0;
    // Ports are read here, not by the transport header's own rules: truncation often leaves the ports and little else.
    let (ports, sight) = match (has_ports(protocol) && !later_fragment, payload.payload) {
        // The chain of headers is truncated, so the payload protocol is unknown.
        (false, _) if matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION) => {
            ((0, 0), Sight::Partial)
        }
        (false, _) => ((0, 0), Sight::Whole),
        (true, &[a, b, c, d, ..]) => ((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])), Sight::Whole),
        (true, _) => ((0, 0), Sight::Partial),
    };
    let (source_port, destination_port) = ports;
    Some((FlowKey::Ip(FiveTuple { protocol, source, destination, source_port, destination_port }), sight))
}

/// Whether IPv6 extension headers, starting with `next`, contain a fragment header (RFC 8200, section 4.5) with an offset.
/// etherparse's own iterator trusts unchecked lengths if the chain is truncated.
fn is_later_fragment(mut next: u8, mut rest: &[u8]) -> bool {
    while let &[following, length, high, low, ..] = rest {
        let bytes = match next {
            FRAGMENT => return u16::from_be_bytes([high, low]) >> 3 != 0,
            AUTHENTICATION => (usize::from(length) + 2) * 4,
            HOP_BY_HOP | ROUTING | DESTINATION => (usize::from(length) + 1) * 8,
            _ => return false,
        };
        next = following;
        rest = rest.get(bytes..).unwrap_or_default();
    }
    false
}

/// TCP, UDP, DCCP, SCTP, UDP-Lite.
fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

impl FlowKey {
    pub(super) fn tuple(&self) -> Option<&FiveTuple> {
        match self {
            Self::Ip(tuple) => Some(tuple),
            _ => None,
        }
    }

    /// A hash that is the same for the same flow and seed on every machine and in every run.
    pub(super) fn hash(&self, seed: u64) -> u64 {
        let bytes = |hash: u64, bytes: &[u8]| {
            bytes.chunks(8).fold(hash, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(hash, u64::from_le_bytes(word))
            })
        };
        match self {
            Self::Ip(tuple) => {
                let ports = u64::from(tuple.source_port) << 32
                    | u64::from(tuple.destination_port) << 16
                    | u64::from(tuple.protocol);
                bytes(bytes(mix(seed, ports), &tuple.source), &tuple.destination)
            }
            Self::Frame { ether_type, source, destination } => {
                bytes(bytes(mix(seed, 1 << 63 | u64::from(*ether_type)), source), destination)
            }
            Self::Unreadable => mix(seed, u64::MAX),
        }
    }
}

/// `10.0.0.1:80>10.0.0.2:5000/tcp`; ports only for protocols that have them; `02:…:01>ff:…:ff/arp` without IP.
impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(tuple) => {
                let ports = has_ports(tuple.protocol);
                end(f, tuple.source, ports.then_some(tuple.source_port))?;
                f.write_char('>')?;
                end(f, tuple.destination, ports.then_some(tuple.destination_port))?;
                match protocol_name(tuple.protocol) {
                    Some(name) => write!(f, "/{name}"),
                    None => write!(f, "/ip-{}", tuple.protocol),
                }
            }
            Self::Frame { ether_type, source, destination } => {
                hardware(f, &source[..6])?;
                f.write_char('>')?;
                hardware(f, destination)?;
                match *ether_type {
                    LENGTH_FIELD => f.write_str("/llc"),
                    0x0800 => f.write_str("/ipv4"),
                    0x0806 => f.write_str("/arp"),
                    0x86dd => f.write_str("/ipv6"),
                    0x8847 | 0x8848 => f.write_str("/mpls"),
                    0x8863 | 0x8864 => f.write_str("/pppoe"),
                    0x88cc => f.write_str("/lldp"),
                    other => write!(f, "/0x{other:04x}"),
                }
            }
            Self::Unreadable => f.write_str("unreadable"),
        }
    }
}

fn end(f: &mut fmt::Formatter<'_>, address: [u8; 16], port: Option<u16>) -> fmt::Result {
    let address = Ipv6Addr::from(address);
    let address = address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
    match (address, port) {
        (address, None) => write!(f, "{address}"),
        (IpAddr::V4(v4), Some(port)) => write!(f, "{v4}:{port}"),
        (IpAddr::V6(v6), Some(port)) => write!(f, "[{v6}]:{port}"),
    }
}

fn hardware(f: &mut fmt::Formatter<'_>, address: &[u8]) -> fmt::Result {
    for (at, byte) in address.iter().enumerate() {
        let colon = if at > 0 { ":" } else { "" };
        write!(f, "{colon}{byte:02x}")?;
    }
    Ok(())
}

fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        58 => "icmpv6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        132 => "sctp",
        136 => "udplite",
        _ => return None,
    })
}
