//! UDP packets.

use std::net::SocketAddrV4;

use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr},
};

use super::headers::UDP_HEADERS_BYTES;

/// Writes an IP packet of `bytes` bytes in all, but at least its headers, whose contents are zeros.
pub(super) fn write(buffer: &mut Vec<u8>, bytes: u32, [from, to]: [SocketAddrV4; 2]) {
    let checksum = ChecksumCapabilities::default();
    let payload = (bytes.max(UDP_HEADERS_BYTES) - UDP_HEADERS_BYTES) as usize;
    let udp = UdpRepr { src_port: from.port(), dst_port: to.port() };
    let ip = Ipv4Repr {
        src_addr: *from.ip(),
        dst_addr: *to.ip(),
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
        &IpAddress::Ipv4(*from.ip()),
        &IpAddress::Ipv4(*to.ip()),
        payload,
        |_| (),
        &checksum,
    );
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn reads_as_it_was_written() {
        let from = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 1024);
        let to = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 9);
        let mut buffer = vec![7; 3];
        write(&mut buffer, 100, [from, to]);
        assert_eq!(buffer.len(), 100);
        let read = etherparse::SlicedPacket::from_ip(&buffer).expect("an IP packet");
        let Some(etherparse::TransportSlice::Udp(udp)) = read.transport else { panic!("no UDP in {read:?}") };
        assert_eq!((udp.source_port(), udp.destination_port(), udp.length()), (1024, 9, 80));
        let etherparse::NetSlice::Ipv4(ip) = read.net.expect("a network layer") else { panic!("not IPv4") };
        assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
    }
}
