//! What packets say of themselves in their headers.

use std::net::{Ipv6Addr, SocketAddrV4};

use dovetail_sched::flow::FiveTuple;
use smoltcp::wire::TcpPacket;

use crate::blame::Segment;

/// IP's protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// UDP and IP headers.
pub(super) const UDP_HEADERS_BYTES: u32 = 28;
/// Where IPv4's header has the protocol's number (RFC 791, section 3.1).
const PROTOCOL_AT: usize = 9;
/// IP's protocol number of UDP.
pub(super) const UDP: u8 = 17;

/// What packets from one socket to another say of themselves.
pub(super) fn five_tuple(protocol: u8, [from, to]: [SocketAddrV4; 2]) -> FiveTuple {
    FiveTuple {
        protocol,
        source: from.ip().to_ipv6_mapped().octets(),
        destination: to.ip().to_ipv6_mapped().octets(),
        source_port: from.port(),
        destination_port: to.port(),
    }
}

/// How a flow is called: `10.0.0.1:49152>10.0.0.2:80`.
pub(super) fn flow_label(tuple: &FiveTuple) -> String {
    let address = |bytes: [u8; 16]| {
        let address = Ipv6Addr::from(bytes);
        address.to_ipv4_mapped().map_or_else(|| address.to_string(), |mapped| mapped.to_string())
    };
    let FiveTuple { source, destination, source_port, destination_port, .. } = *tuple;
    format!("{}:{source_port}>{}:{destination_port}", address(source), address(destination))
}

/// Length of a packet's IP header.
pub(super) fn ip_header_bytes(packet: &[u8]) -> usize {
    usize::from(packet[0] & 15) * 4
}

/// What a segment carries: 0 for an acknowledgement alone.
pub(super) fn tcp_payload_bytes(packet: &[u8]) -> u64 {
    let internet = ip_header_bytes(packet);
    let headers = internet + usize::from(TcpPacket::new_unchecked(&packet[internet..]).header_len());
    packet.len().saturating_sub(headers) as u64
}

/// What a TCP segment carries; `None` of other packets.
pub(super) fn tcp_segment(packet: &[u8]) -> Option<Segment> {
    let internet = ip_header_bytes(packet);
    let is_tcp = packet.get(PROTOCOL_AT).is_some_and(|&protocol| protocol == TCP);
    let segment = TcpPacket::new_checked(packet.get(internet..)?).ok().filter(|_| is_tcp)?;
    Some(Segment { from: segment.seq_number().0 as u32, bytes: tcp_payload_bytes(packet) as u32 })
}
