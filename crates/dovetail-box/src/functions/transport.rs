//! Checksums of transport protocols, which cover a pseudo-header of the IP packet.

use super::{
    checksum::{finish_udp, sum},
    frame::{Ip, Version, write},
};

/// Sum of a transport checksum's pseudo-header: both addresses, the protocol, and the transport's length in bytes.
pub(crate) fn pseudo_header(frame: &[u8], ip: &Ip, protocol: u8, bytes: usize) -> u64 {
    let addresses = if ip.version == Version::V4 { ip.at + 12..ip.at + 20 } else { ip.at + 8..ip.at + 40 };
    sum(frame.get(addresses).unwrap_or_default(), u64::from(protocol) + bytes as u64)
}

/// Writes length and checksum of a UDP datagram that begins at `at` and ends with `packet`. `pseudo` is the sum of its
/// pseudo-header without the length.
pub(crate) fn write_udp(packet: &mut [u8], at: usize, pseudo: u64) {
    let bytes = packet.len().saturating_sub(at);
    write(packet, at + 4, &(bytes as u16).to_be_bytes());
    write(packet, at + 6, &[0, 0]);
    let checksum = finish_udp(sum(packet.get(at..).unwrap_or_default(), pseudo + bytes as u64));
    write(packet, at + 6, &checksum.to_be_bytes());
}
