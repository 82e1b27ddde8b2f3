//! UDP packets.

use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr},
};

use super::end::Place;

/// IP and UDP headers.
pub(super) const HEADERS_BYTES: u32 = 28;
/// IP's protocol number of UDP.
pub(super) const UDP: u8 = 17;

/// Writes an IP packet of `bytes` bytes in all, at least [`HEADERS_BYTES`], whose contents are zeros.
pub(super) fn write(buffer: &mut Vec<u8>, bytes: u32, from: Place, to: Place) {
    let checksum = ChecksumCapabilities::default();
    let payload = (bytes.max(HEADERS_BYTES) - HEADERS_BYTES) as usize;
    let udp = UdpRepr { src_port: from.port, dst_port: to.port };
    let ip = Ipv4Repr {
        src_addr: from.address,
        dst_addr: to.address,
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + payload,
        hop_limit: 64,
    };
    buffer.clear();
    buffer.resize(ip.buffer_len() + ip.payload_len, 0);
    let (header, body) = buffer.split_at_mut(ip.buffer_len());
    ip.emit(&mut Ipv4Packet::new_unchecked(header), &checksum);
    udp.emit(
        &mut UdpPacket::new_unchecked(body),
        &IpAddress::Ipv4(from.address),
        &IpAddress::Ipv4(to.address),
        payload,
        |_| (),
        &checksum,
    );
}

#[cfg(test)]
mod tests {
    use smoltcp::wire::Ipv4Address;

    use super::*;

    #[test]
    fn reads_as_it_was_written() {
        let from = Place { address: Ipv4Address::new(10, 0, 0, 1), port: 1024 };
        let to = Place { address: Ipv4Address::new(10, 0, 0, 2), port: 9 };
        let mut buffer = vec![7; 3];
        write(&mut buffer, 100, from, to);
        assert_eq!(buffer.len(), 100);
        let read = etherparse::SlicedPacket::from_ip(&buffer).expect("an IP packet");
        let Some(etherparse::TransportSlice::Udp(udp)) = read.transport else { panic!("no UDP in {read:?}") };
        assert_eq!((udp.source_port(), udp.destination_port(), udp.length()), (1024, 9, 80));
        let etherparse::NetSlice::Ipv4(ip) = read.net.expect("a network layer") else { panic!("not IPv4") };
        assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
    }
}
