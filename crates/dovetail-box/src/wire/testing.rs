//! Frames for tests: long ones written byte by byte, and checks by a library that shares no code.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use super::offload::{Cwr, Kind, Offload, Partial, Segmented};

pub(crate) mod tunnel;

/// The sum of 16-bit words as RFC 1071 defines it, one by one.
pub(crate) fn naive_sum(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0, |sum: u16, pair| {
        let word = u16::from(pair[0]) * 256 + pair.get(1).map_or(0, |&low| u16::from(low));
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

/// A frame that is to be split, or as long as one.
#[derive(Debug, Clone)]
pub(crate) struct Long {
    pub(crate) v6: bool,
    pub(crate) udp: bool,
    /// Tags within the frame.
    pub(crate) tags: Vec<[u8; 4]>,
    /// Words of IPv4 options, or double words of an IPv6 destination header.
    pub(crate) ip_options: usize,
    /// Words of TCP options.
    pub(crate) tcp_options: usize,
    pub(crate) identification: u16,
    pub(crate) sequence: u32,
    pub(crate) flags: u8,
    pub(crate) payload: Vec<u8>,
    pub(crate) payload_bytes: u16,
    pub(crate) is_partial: bool,
    pub(crate) cwr: Cwr,
}

impl Long {
    fn transport_header(&self) -> Vec<u8> {
        let mut header = vec![0x0f, 0xa0, 0x01, 0xbb];
        if self.udp {
            header.extend(((8 + self.payload.len()) as u16).to_be_bytes());
            header.extend([0, 0]);
        } else {
            header.extend(self.sequence.to_be_bytes());
            header.extend([0, 0, 0, 77, ((5 + self.tcp_options) << 4) as u8, self.flags, 1, 2, 0, 0, 0, 9]);
            header.extend([1, 1, 1, 1].repeat(self.tcp_options));
        }
        header
    }

    fn ip_header(&self, transport: usize) -> Vec<u8> {
        let protocol = if self.udp { 17 } else { 6 };
        if self.v6 {
            let extension = 8 * self.ip_options;
            let next = if extension > 0 { 60 } else { protocol };
            let mut header = vec![0x60, 0x20, 1, 2];
            header.extend(((extension + transport) as u16).to_be_bytes());
            header.extend([next, 64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 2]);
            if extension > 0 {
                header.extend([protocol, (self.ip_options - 1) as u8]);
                header.extend(vec![0; extension - 2]);
            }
            return header;
        }
        let length = 20 + 4 * self.ip_options;
        let mut header = vec![0x40 | (length / 4) as u8, 2];
        header.extend(((length + transport) as u16).to_be_bytes());
        header.extend(self.identification.to_be_bytes());
        header.extend([0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0xff, 2]);
        header.extend([1, 1, 1, 1].repeat(self.ip_options));
        let checksum = !naive_sum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header
    }

    /// Bytes before the payload.
    pub(crate) fn header_bytes(&self) -> usize {
        let transport = self.transport_header();
        14 + 4 * self.tags.len() + self.ip_header(transport.len() + self.payload.len()).len() + transport.len()
    }

    /// The frame; the transport checksum is the sum of the pseudo-header if it is partial, else nonsense.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut transport = self.transport_header();
        let length = transport.len() + self.payload.len();
        let ip = self.ip_header(length);
        let addresses = if self.v6 { &ip[8..40] } else { &ip[12..20] };
        let protocol = if self.udp { 17 } else { 6 };
        let pseudo = [addresses, &[0, protocol], &(length as u16).to_be_bytes()].concat();
        let field = if self.is_partial { naive_sum(&pseudo) } else { 0x1234 };
        let at = self.checksum_offset();
        transport[at..at + 2].copy_from_slice(&field.to_be_bytes());
        let kind = if self.v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &self.tags.concat(), &kind, &ip, &transport, &self.payload].concat()
    }

    fn checksum_offset(&self) -> usize {
        if self.udp { 6 } else { 16 }
    }

    pub(crate) fn partial(&self) -> Option<Partial> {
        let start = (self.header_bytes() - self.transport_header().len()) as u16;
        self.is_partial.then_some(Partial { start, offset: self.checksum_offset() as u16 })
    }

    pub(crate) fn segmented(&self) -> Segmented {
        let kind = match (self.udp, self.v6) {
            (true, _) => Kind::Udp,
            (false, false) => Kind::Tcp4,
            (false, true) => Kind::Tcp6,
        };
        let cwr = if self.udp { Cwr::Unsaid } else { self.cwr };
        Segmented { kind, cwr, header_bytes: 0, payload_bytes: self.payload_bytes }
    }

    pub(crate) fn offload(&self) -> Offload {
        Offload { partial: self.partial(), segmented: Some(self.segmented()) }
    }
}

/// Any interpretation of CWR.
fn any_cwr() -> impl Strategy<Value = Cwr> {
    prop_oneof![Just(Cwr::Unsaid), Just(Cwr::InFirst), Just(Cwr::InAll)]
}

/// Any frame that can be split.
pub(crate) fn long() -> impl Strategy<Value = Long> {
    let tag = prop_oneof![Just([0x81, 0, 0x20, 7]), Just([0x88, 0xa8, 0, 9])];
    let payload = prop_oneof![4 => 0usize..5000, 1 => 60_000usize..65_000];
    (
        (any::<[bool; 4]>(), any_cwr()),
        prop::collection::vec(tag, 0..=2),
        (0usize..=10, 0usize..=10),
        (prop_oneof![any::<u16>(), Just(0xffff)], prop_oneof![any::<u32>(), Just(u32::MAX - 5)], any::<u8>()),
        payload.prop_flat_map(|length| {
            // Few bytes repeated: large payloads would take long to generate.
            prop::collection::vec(any::<u8>(), 61).prop_map(move |some| some.into_iter().cycle().take(length).collect())
        }),
        1u16..3000,
    )
        .prop_map(|((flags, cwr), tags, options, numbers, payload, payload_bytes): (_, _, _, _, Vec<u8>, u16)| {
            Long {
                v6: flags[0],
                udp: flags[1],
                is_partial: flags[2],
                cwr,
                tags,
                ip_options: if flags[3] { options.0 } else { 0 },
                tcp_options: options.1,
                identification: numbers.0,
                sequence: numbers.1,
                flags: numbers.2,
                // A frame that is split into more is refused.
                payload_bytes: payload_bytes.max(payload.len().div_ceil(super::segments::MAX_SEGMENTS) as u16),
                payload,
            }
        })
}

/// Bytes that are packets, corrupted packets, and others.
pub(crate) fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let damage = prop::collection::vec((0usize..120, any::<u8>()), 0..4);
    let frame = prop_oneof![long().prop_map(|long| long.frame()), tunnel::in_tunnel().prop_map(|made| made.frame())];
    let damaged =
        (frame, damage, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(mut frame, damage, cut, whole)| {
            for (at, byte) in damage {
                if let Some(place) = frame.get_mut(at) {
                    *place = byte;
                }
            }
            // Truncation is most useful within the headers.
            let length = if whole { frame.len() } else { cut.index(frame.len().min(150)) };
            frame.truncate(length);
            frame
        });
    prop_oneof![4 => damaged, 1 => prop::collection::vec(any::<u8>(), 0..100)]
}

/// Any offload metadata, often near the offsets of the headers.
pub(crate) fn any_offload() -> impl Strategy<Value = Offload> {
    let near = || prop_oneof![3 => 0u16..120, 1 => any::<u16>()];
    let kind = prop_oneof![Just(Kind::Tcp4), Just(Kind::Tcp6), Just(Kind::Udp)];
    let partial = (near(), near()).prop_map(|(start, offset)| Partial { start, offset });
    let segmented = (kind, any_cwr(), any::<u16>(), near()).prop_map(|(kind, cwr, header_bytes, payload_bytes)| {
        let cwr = if kind == Kind::Udp { Cwr::Unsaid } else { cwr };
        Segmented { kind, cwr, header_bytes, payload_bytes }
    });
    (prop::option::of(partial), prop::option::of(segmented))
        .prop_map(|(partial, segmented)| Offload { partial, segmented })
}

/// Asserts that every checksum of a frame matches the other library's.
pub(crate) fn assert_checksums(frame: &[u8]) {
    let sliced = SlicedPacket::from_ethernet(frame).expect("a packet as it should be");
    let net = sliced.net.expect("IP");
    if let NetSlice::Ipv4(v4) = &net {
        let header = v4.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum(), "of IPv4");
    }
    let transport = sliced.transport.expect("a transport");
    let (got, wanted) = match (&net, &transport) {
        (NetSlice::Ipv4(ip), TransportSlice::Tcp(tcp)) => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            (tcp.checksum(), tcp.calc_checksum_ipv4(from, to).unwrap())
        }
        (NetSlice::Ipv6(ip), TransportSlice::Tcp(tcp)) => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            (tcp.checksum(), tcp.calc_checksum_ipv6(from, to).unwrap())
        }
        (NetSlice::Ipv4(ip), TransportSlice::Udp(udp)) => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            (udp.checksum(), udp.to_header().calc_checksum_ipv4_raw(from, to, udp.payload()).unwrap())
        }
        (NetSlice::Ipv6(ip), TransportSlice::Udp(udp)) => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            (udp.checksum(), udp.to_header().calc_checksum_ipv6_raw(from, to, udp.payload()).unwrap())
        }
        (NetSlice::Ipv4(_), TransportSlice::Icmpv4(message)) => {
            (message.checksum(), message.icmp_type().calc_checksum(message.payload()))
        }
        (NetSlice::Ipv6(ip), TransportSlice::Icmpv6(message)) => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            (message.checksum(), message.icmp_type().calc_checksum(from, to, message.payload()).unwrap())
        }
        other => panic!("no such transport here: {other:?}"),
    };
    // Zero has two representations in this arithmetic, and all but UDP accept either.
    let is_udp = matches!(transport, TransportSlice::Udp(_));
    let form = |checksum: u16| if is_udp { checksum } else { checksum % 0xffff };
    assert_eq!(form(got), form(wanted), "of the transport");
}

/// A datagram of 1,480 B without tags or options.
pub(crate) fn long_datagram(v6: bool) -> Long {
    Long {
        v6,
        udp: true,
        tags: vec![],
        ip_options: 0,
        tcp_options: 0,
        identification: 1,
        sequence: 1,
        flags: 0,
        payload: vec![8; 1480],
        payload_bytes: 1,
        is_partial: true,
        cwr: Cwr::Unsaid,
    }
}

/// Sets the checksum of the IPv4 header of a frame without tags, after a change to it.
pub(crate) fn sum_header(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let checksum = !naive_sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}
