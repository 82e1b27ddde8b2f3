//! Packets for tests, built by a library that the functions do not use.

use etherparse::{Ipv4Extensions, PacketBuilder, SlicedPacket};
use proptest::prelude::*;

/// Description of a packet to build.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) v6: bool,
    pub(crate) vlan: bool,
    pub(crate) tcp: bool,
    pub(crate) flow: u8,
    pub(crate) hops: u8,
    pub(crate) payload: Vec<u8>,
}

impl Packet {
    pub(crate) fn udp(payload: &[u8]) -> Self {
        Self { v6: false, vlan: false, tcp: false, flow: 1, hops: 64, payload: payload.to_vec() }
    }

    pub(crate) fn source(&self) -> [u8; 16] {
        address(self.v6, self.flow)
    }

    pub(crate) fn destination(&self) -> [u8; 16] {
        address(self.v6, self.flow.wrapping_mul(7))
    }

    pub(crate) fn ports(&self) -> (u16, u16) {
        (1000 + u16::from(self.flow), 443)
    }

    pub(crate) fn protocol(&self) -> u8 {
        if self.tcp { 6 } else { 17 }
    }

    /// The packet as an Ethernet frame.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let (source, destination) = (self.source(), self.destination());
        let v4 = |address: [u8; 16]| [address[12], address[13], address[14], address[15]];
        let builder = match (self.vlan, self.v6) {
            (false, false) => builder.ipv4(v4(source), v4(destination), self.hops),
            (false, true) => builder.ipv6(source, destination, self.hops),
            (true, v6) => {
                let tagged = builder.single_vlan(7.try_into().unwrap());
                if v6 {
                    tagged.ipv6(source, destination, self.hops)
                } else {
                    tagged.ipv4(v4(source), v4(destination), self.hops)
                }
            }
        };
        let (from, to) = self.ports();
        let mut frame = Vec::new();
        if self.tcp {
            builder.tcp(from, to, 1, 1000).write(&mut frame, &self.payload).unwrap();
        } else {
            builder.udp(from, to).write(&mut frame, &self.payload).unwrap();
        }
        frame
    }
}

/// IPv4 addresses are mapped, as in a five-tuple.
fn address(v6: bool, flow: u8) -> [u8; 16] {
    if v6 {
        [0x20, 1, 0xd, 0xb8, 0, 0, 0, flow, 0, 0, 0, 0, 0, 0, 0, 1]
    } else {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, flow, 3, 4]
    }
}

/// Any packet.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    // 96 bytes are an 8-pixel-wide picture.
    let length = prop_oneof![4 => 0usize..1400, 1 => Just(96)];
    let payload = length.prop_flat_map(|length| prop::collection::vec(any::<u8>(), length));
    (any::<[bool; 3]>(), any::<u8>(), any::<u8>(), payload).prop_map(|([v6, vlan, tcp], flow, hops, payload)| Packet {
        v6,
        vlan,
        tcp,
        flow,
        hops,
        payload,
    })
}

/// Asserts that the IPv4 header checksum matches one computed from scratch by another library.
pub(crate) fn assert_sound(frame: &[u8]) {
    let sliced = SlicedPacket::from_ethernet(frame).expect("a packet as it should be");
    match sliced.net {
        Some(etherparse::NetSlice::Ipv4(slice)) => {
            let header = slice.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            assert_eq!(slice.extensions().to_header(), Ipv4Extensions::default());
        }
        Some(etherparse::NetSlice::Ipv6(_)) => {}
        other => panic!("no IP packet: {other:?}"),
    }
}

/// Decodes hexadecimal digits.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
