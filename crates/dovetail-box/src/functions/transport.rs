//! Checksums of transport protocols, which cover a pseudo-header of the IP packet.

use super::{
    checksum::{finish_udp, sum},
    frame::{Ip, Version, write},
};

/// Sum of a transport checksum's pseudo-header: source and last destination, the protocol, and the transport's length in bytes.
pub(crate) fn pseudo_header(frame: &[u8], ip: &Ip, protocol: u8, bytes: usize) -> u64 {
    let (source, width) = if ip.version == Version::V4 { (ip.at + 12, 4) } else { (ip.at + 8, 16) };
    let address = |at: usize| frame.get(at..at + width).unwrap_or_default();
    let others = u64::from(protocol) + bytes as u64;
    sum(address(source), sum(address(ip.last_destination_at(frame)), others))
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
