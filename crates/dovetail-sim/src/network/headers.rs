//! Headers of packets.

use std::net::{Ipv6Addr, SocketAddrV4};

use dovetail_sched::flow::FiveTuple;

/// IP's protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// IP's header without options.
pub(super) const IPV4_HEADER_BYTES: u32 = 20;
/// IP's protocol number of UDP.
pub(super) const UDP: u8 = 17;

/// Addresses and ports of packets from one socket to another.
pub(super) fn five_tuple(protocol: u8, [from, to]: [SocketAddrV4; 2]) -> FiveTuple {
    FiveTuple {
        protocol,
        source: from.ip().to_ipv6_mapped().octets(),
        destination: to.ip().to_ipv6_mapped().octets(),
        source_port: from.port(),
        destination_port: to.port(),
    }
}

/// Label of a flow: `10.0.0.1:49152>10.0.0.2:80`.
pub(super) fn flow_label(tuple: &FiveTuple) -> String {
    let address = |bytes: [u8; 16]| {
        let address = Ipv6Addr::from(bytes);
        address.to_ipv4_mapped().map_or_else(|| address.to_string(), |mapped| mapped.to_string())
    };
    let FiveTuple { source, destination, source_port, destination_port, .. } = *tuple;
    format!("{}:{source_port}>{}:{destination_port}", address(source), address(destination))
}
