//! Long frames in tunnels for tests, with every header of the tunnel written byte by byte, and assertions about their segments.

use proptest::prelude::*;

use super::{Long, long, naive_sum};
use crate::wire::{
    offload::{Offload, Partial},
    segments::MAX_HEADER_BYTES,
};

/// The tunnel headers, besides IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    /// With a checksum, with a key, and carrying a frame.
    Gre(bool, bool, bool),
    Vxlan,
    /// Carrying a frame, and with this many words of options.
    Geneve(bool, usize),
}

/// A long packet in a tunnel.
#[derive(Debug, Clone)]
pub(crate) struct InTunnel {
    pub(crate) long: Long,
    pub(crate) around: Around,
    pub(crate) outer_v6: bool,
    pub(crate) udp_has_checksum: bool,
    /// Words of options, or double words of a destination header.
    pub(crate) outer_options: usize,
    pub(crate) outer_tag: bool,
    pub(crate) outer_identification: u16,
}

impl InTunnel {
    fn is_around_a_frame(&self) -> bool {
        matches!(self.around, Around::Gre(_, _, true) | Around::Vxlan | Around::Geneve(true, _))
    }

    pub(crate) fn is_in_udp(&self) -> bool {
        matches!(self.around, Around::Vxlan | Around::Geneve(..))
    }

    /// Length of the inner packet's own link header, which is missing if the tunnel carries packets.
    pub(crate) fn left_out(&self) -> usize {
        if self.is_around_a_frame() { 0 } else { 14 + 4 * self.long.tags.len() }
    }

    /// Offset of the outer IP header.
    fn outer(&self) -> usize {
        14 + if self.outer_tag { 4 } else { 0 }
    }

    fn outer_header_bytes(&self) -> usize {
        if self.outer_v6 { 40 + 8 * self.outer_options } else { 20 + 4 * self.outer_options }
    }

    /// Bytes before the tunnel's content.
    pub(crate) fn outer_bytes(&self) -> usize {
        self.outer() + self.outer_header_bytes() + self.between(0).len()
    }

    /// The headers between the outer IP header and the content, which has this many bytes; checksums are nonsense.
    fn between(&self, bytes: usize) -> Vec<u8> {
        let inner_type: [u8; 2] = match (self.is_around_a_frame(), self.long.v6) {
            (true, _) => [0x65, 0x58],
            (false, true) => [0x86, 0xdd],
            (false, false) => [0x08, 0x00],
        };
        let in_udp = |port: u16, header: Vec<u8>| {
            let length = (8 + header.len() + bytes) as u16;
            let checksum = if self.udp_has_checksum { 0x4321 } else { 0_u16 };
            [[0x9c, 0x40], port.to_be_bytes(), length.to_be_bytes(), checksum.to_be_bytes()]
                .concat()
                .into_iter()
                .chain(header)
        };
        match self.around {
            Around::Nothing => vec![],
            Around::Gre(has_checksum, has_key, _) => {
                let flags = if has_checksum { 0x80 } else { 0 } | if has_key { 0x20 } else { 0 };
                let mut header = vec![flags, 0, inner_type[0], inner_type[1]];
                header.extend(vec![0x77; if has_checksum { 2 } else { 0 }]);
                header.extend(vec![0; if has_checksum { 2 } else { 0 }]);
                header.extend(vec![0x2a; if has_key { 4 } else { 0 }]);
                header
            }
            Around::Vxlan => in_udp(4789, vec![8, 0, 0, 0, 0, 0, 42, 0]).collect(),
            Around::Geneve(_, options) => {
                let mut header = vec![options as u8, 0, inner_type[0], inner_type[1], 0, 0, 42, 0];
                header.extend(vec![0x99; 4 * options]);
                in_udp(6081, header).collect()
            }
        }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let inner = self.long.frame().split_off(self.left_out());
        let between = self.between(inner.len());
        let protocol = match self.around {
            Around::Nothing if self.long.v6 => 41,
            Around::Nothing => 4,
            Around::Gre(..) => 47,
            Around::Vxlan | Around::Geneve(..) => 17,
        };
        let body = between.len() + inner.len();
        let mut ip = if self.outer_v6 {
            let length = (8 * self.outer_options + body) as u16;
            let next = if self.outer_options > 0 { 60 } else { protocol };
            let mut header =
                [&[0x60, 0, 0, 0][..], &length.to_be_bytes(), &[next, 64], &[0x20; 16], &[0x21; 16]].concat();
            if self.outer_options > 0 {
                header.extend([protocol, (self.outer_options - 1) as u8]);
                header.extend(vec![0; 8 * self.outer_options - 2]);
            }
            header
        } else {
            let length = (self.outer_header_bytes() + body) as u16;
            let first = 0x45 + self.outer_options as u8;
            let mut header =
                [&[first, 0][..], &length.to_be_bytes(), &self.outer_identification.to_be_bytes()].concat();
            header.extend([0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
            header.extend([1, 1, 1, 1].repeat(self.outer_options));
            header
        };
        let tag: &[u8] = if self.outer_tag { &[0x81, 0, 0, 9] } else { &[] };
        let kind = if self.outer_v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let mut frame = [&[2, 9, 9, 9, 9, 1, 2, 9, 9, 9, 9, 2][..], tag, &kind].concat();
        frame.append(&mut ip);
        [frame, between, inner].concat()
    }

    pub(crate) fn partial(&self) -> Option<Partial> {
        let moved = self.outer_bytes() - self.left_out();
        self.long.partial().map(|partial| Partial { start: partial.start + moved as u16, ..partial })
    }

    pub(crate) fn offload(&self) -> Offload {
        Offload { partial: self.partial(), segmented: Some(self.long.segmented()) }
    }

    /// The outer headers of a segment are those of the frame, except for segment-specific fields, which are correct.
    pub(crate) fn assert_outer(&self, frame: &[u8], segment: &[u8], index: usize) {
        let (at, body) = (self.outer(), self.outer() + self.outer_header_bytes());
        let word = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let mut own = vec![];
        if self.outer_v6 {
            assert_eq!(usize::from(word(at + 4)), segment.len() - at - 40, "of IPv6");
            own.push(at + 4);
        } else {
            assert_eq!(usize::from(word(at + 2)), segment.len() - at, "of IPv4");
            assert_eq!(word(at + 4), self.outer_identification.wrapping_add(index as u16));
            assert_eq!(naive_sum(&segment[at..body]), 0xffff, "of IPv4's header");
            own.extend([at + 2, at + 4, at + 10]);
        }
        match self.around {
            Around::Gre(true, ..) => {
                assert_eq!(naive_sum(&segment[body..]), 0xffff, "of GRE");
                own.push(body + 4);
            }
            Around::Vxlan | Around::Geneve(..) => {
                assert_eq!(usize::from(word(body + 4)), segment.len() - body, "of UDP");
                own.extend([body + 4, body + 6]);
                if self.udp_has_checksum {
                    let addresses = if self.outer_v6 { at + 8..at + 40 } else { at + 12..at + 20 };
                    let length = ((segment.len() - body) as u16).to_be_bytes();
                    let summed = [&segment[addresses], &[0, 17], &length, &segment[body..]].concat();
                    assert_eq!(naive_sum(&summed), 0xffff, "of UDP");
                    assert_ne!(word(body + 6), 0);
                } else {
                    assert_eq!(word(body + 6), 0, "no checksum stays none");
                }
            }
            Around::Nothing | Around::Gre(..) => {}
        }
        let without = |frame: &[u8]| {
            let mut headers = frame[..self.outer_bytes()].to_vec();
            own.iter().for_each(|&place| headers[place..place + 2].fill(0));
            headers
        };
        assert_eq!(without(segment), without(frame));
    }
}

/// Any long frame in a tunnel that can be split.
pub(crate) fn in_tunnel() -> impl Strategy<Value = InTunnel> {
    let around = prop_oneof![
        Just(Around::Nothing),
        any::<[bool; 3]>().prop_map(|[checksum, key, frame]| Around::Gre(checksum, key, frame)),
        Just(Around::Vxlan),
        (any::<bool>(), prop_oneof![4 => 0usize..10, 1 => 0usize..64])
            .prop_map(|(frame, options)| Around::Geneve(frame, options)),
    ];
    (long(), around, any::<[bool; 3]>(), prop_oneof![2 => Just(0), 1 => 0usize..=10], any::<u16>()).prop_map(
        |(mut long, around, [outer_v6, udp_has_checksum, outer_tag], outer_options, outer_identification)| {
            long.payload.truncate(63_500);
            let mut made =
                InTunnel { long, around, outer_v6, udp_has_checksum, outer_options, outer_tag, outer_identification };
            // Which of two nested datagrams is split can be told only from a partial checksum.
            made.long.is_partial |= made.long.udp && made.is_in_udp();
            // A frame whose segments have more bytes of headers than that is refused.
            let headers = made.outer_bytes() - made.left_out() + made.long.header_bytes();
            let least = made.long.payload.len().div_ceil(MAX_HEADER_BYTES / headers);
            made.long.payload_bytes = made.long.payload_bytes.max(least as u16);
            made
        },
    )
}
