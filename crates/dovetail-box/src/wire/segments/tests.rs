use super::{
    super::testing::{
        tunnel::{Around, InTunnel, in_tunnel},
        *,
    },
    *,
};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use crate::{functions::testing::hex, wire::offload::Offload};

/// All segments of a frame.
fn split(long: &Long, tag: Option<Tag>) -> Vec<Vec<u8>> {
    let frame = long.frame();
    let segments = Segments::new(&frame, long.partial(), long.segmented(), tag).expect("it can be split");
    let written: Vec<_> = (0..segments.count())
        .map(|index| {
            let mut segment = vec![0xee; 70];
            assert!(segments.write(index, &mut segment));
            assert_eq!(segments.length(index), Some(segment.len()), "the length that was promised");
            segment
        })
        .collect();
    let mut into = vec![5];
    assert!(!segments.write(written.len(), &mut into) && !segments.write(usize::MAX, &mut into));
    assert_eq!((into, segments.length(written.len()), segments.length(usize::MAX)), (vec![5], None, None));
    written
}

/// A segment's headers, with what may differ from segment to segment set to zero.
fn common(long: &Long, mut headers: Vec<u8>) -> Vec<u8> {
    let at = 14 + 4 * long.tags.len();
    let (ip, zeroed) = if long.v6 {
        (40 + 8 * long.ip_options, vec![4, 5])
    } else {
        (20 + 4 * long.ip_options, vec![2, 3, 4, 5, 10, 11])
    };
    let of_transport = if long.udp { vec![4, 5, 6, 7] } else { vec![4, 5, 6, 7, 13, 16, 17] };
    for place in zeroed.into_iter().map(|place| at + place).chain(of_transport.into_iter().map(|place| at + ip + place))
    {
        headers[place] = 0;
    }
    headers
}

proptest! {
    /// Another library parses every segment: correct checksums, the fields that the table promises, everything else
    /// unchanged, and the concatenated payloads equal the frame's.
    #[test]
    fn segments_are_the_frame_in_parts(long in long(), tag in prop::option::of(any::<u16>())) {
        let frame = long.frame();
        let tag = tag.map(|control| Tag { protocol: 0x88a8, control });
        let segments = split(&long, tag);
        let last = segments.len() - 1;
        prop_assert_eq!(segments.len(), long.payload.len().div_ceil(long.payload_bytes.into()).max(1));
        let mut payload = Vec::<u8>::new();
        for (index, mut segment) in segments.into_iter().enumerate() {
            assert_checksums(&segment);
            if let Some(tag) = tag {
                let removed: Vec<u8> = segment.drain(12..16).collect();
                prop_assert_eq!(removed, [tag.protocol.to_be_bytes(), tag.control.to_be_bytes()].concat());
            }
            let headers = long.header_bytes();
            prop_assert_eq!(common(&long, segment[..headers].to_vec()), common(&long, frame[..headers].to_vec()));
            let sliced = SlicedPacket::from_ethernet(&segment).unwrap();
            if let Some(NetSlice::Ipv4(ip)) = &sliced.net {
                prop_assert_eq!(ip.header().identification(), long.identification.wrapping_add(index as u16));
            }
            let part = match sliced.transport.unwrap() {
                TransportSlice::Tcp(tcp) => {
                    let before = index * usize::from(long.payload_bytes);
                    prop_assert_eq!(tcp.sequence_number(), long.sequence.wrapping_add(before as u32));
                    let only_last = |bit: u8| long.flags & bit != 0 && index == last;
                    prop_assert_eq!((tcp.fin(), tcp.psh()), (only_last(1), only_last(8)));
                    prop_assert_eq!(tcp.cwr(), long.flags & 0x80 != 0 && (index == 0 || long.cwr != Cwr::InFirst));
                    let others = [tcp.syn(), tcp.rst(), tcp.ack(), tcp.urg(), tcp.ece()];
                    prop_assert_eq!(others, [2, 4, 16, 32, 64].map(|bit| long.flags & bit != 0));
                    tcp.payload()
                }
                TransportSlice::Udp(udp) => {
                    prop_assert_eq!(usize::from(udp.length()), 8 + udp.payload().len());
                    prop_assert!(udp.checksum() != 0, "zero would say that there is none");
                    udp.payload()
                }
                other => panic!("{other:?}"),
            };
            prop_assert!(index == last || part.len() == usize::from(long.payload_bytes));
            prop_assert!(part.len() <= long.payload_bytes.into());
            payload.extend(part);
        }
        prop_assert!(payload == long.payload, "the payload is not what it was");
    }

    /// In a tunnel a packet is split as it is outside of one, and every segment gets the outer headers.
    #[test]
    fn a_packet_in_a_tunnel_is_split_as_outside(made in in_tunnel(), tag in prop::option::of(any::<u16>())) {
        let tag = tag.map(|control| Tag { protocol: 0x88a8, control });
        let (frame, inner) = (made.frame(), made.long.frame());
        let segments = Segments::new(&frame, made.partial(), made.long.segmented(), tag).unwrap();
        let outside = Segments::new(&inner, made.long.partial(), made.long.segmented(), None).unwrap();
        prop_assert!(segments.outer.is_some() && outside.outer.is_none());
        prop_assert!(is_of_inner(&frame, made.partial(), made.long.segmented().kind));
        prop_assert!(!is_of_inner(&inner, made.long.partial(), made.long.segmented().kind));
        prop_assert_eq!(segments.count(), outside.count());
        let [mut one, mut other] = [vec![0xee; 70], vec![]];
        for index in 0..segments.count() {
            prop_assert!(segments.write(index, &mut one) && outside.write(index, &mut other));
            prop_assert_eq!(segments.length(index), Some(one.len()));
            if let Some(tag) = tag {
                let removed: Vec<u8> = one.drain(12..16).collect();
                prop_assert_eq!(removed, [tag.protocol.to_be_bytes(), tag.control.to_be_bytes()].concat());
            }
            made.assert_outer(&frame, &one, index);
            assert_checksums(&other);
            prop_assert!(one[made.outer_bytes()..] == other[made.left_out()..], "segment {}", index);
        }
    }

    /// Bytes after the packet are in no segment.
    #[test]
    fn padding_is_left_out(long in long(), padding in 1usize..20) {
        let frame = long.frame();
        let padded = [&frame[..], &vec![0x55; padding]].concat();
        let plain = Segments::new(&frame, long.partial(), long.segmented(), None).unwrap();
        let segments = Segments::new(&padded, long.partial(), long.segmented(), None).unwrap();
        prop_assert_eq!(segments.count(), plain.count());
        let [mut one, mut other] = [vec![], vec![]];
        for index in [0, plain.count() - 1] {
            prop_assert!(plain.write(index, &mut one) && segments.write(index, &mut other));
            prop_assert!(one == other);
        }
    }

    /// Whatever the bytes and metadata: refused, or as many and as long as promised.
    #[test]
    fn any_bytes_are_split_or_refused(frame in hostile(), offload in any_offload(), tag in any::<bool>()) {
        let Some(segmented) = offload.segmented else { return Ok(()) };
        let tag = tag.then_some(Tag { protocol: 0x8100, control: 1 });
        for partial in [offload.partial, None] {
            let Ok(segments) = Segments::new(&frame, partial, segmented, tag) else { continue };
            prop_assert!((1..=MAX_SEGMENTS).contains(&segments.count()));
            let mut into = Vec::new();
            for index in 0..segments.count() {
                prop_assert!(segments.write(index, &mut into));
                prop_assert_eq!(segments.length(index), Some(into.len()));
                prop_assert!(into.len() <= frame.len() + 4);
            }
        }
    }
}

/// Compares byte by byte with the kernel's segments of the same frames.
#[test]
fn linux_splits_alike() {
    let mut cases = 0;
    for case in include_str!("linux.txt").split("\ncase ").skip(1) {
        let of = |word: &'static str| case.lines().filter_map(move |line| line.strip_prefix(word)?.strip_prefix(' '));
        let numbers: Vec<u16> = of("offload").next().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        let words: Vec<u8> = numbers[2..].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let header = [&[numbers[0] as u8, numbers[1] as u8][..], &words].concat();
        let offload = Offload::parse(&header.try_into().unwrap()).unwrap();
        let frame = hex(of("frame").next().unwrap());
        let wanted: Vec<_> = of("segment").map(hex).collect();
        // Which of two nested datagrams is split can be told only from the checksum's offset.
        let is_told = case.starts_with("udp4 in vxlan");
        for partial in [offload.partial, None].into_iter().filter(|partial| partial.is_some() || !is_told) {
            let segments = Segments::new(&frame, partial, offload.segmented.unwrap(), None).unwrap();
            let mut into = Vec::new();
            assert_eq!(segments.count(), wanted.len());
            for (index, wanted) in wanted.iter().enumerate() {
                assert!(segments.write(index, &mut into));
                assert_eq!(&into, wanted, "segment {index} of {case}");
            }
        }
        cases += 1;
    }
    assert_eq!(cases, 20);
}

fn example() -> Long {
    Long {
        v6: false,
        udp: false,
        tags: vec![],
        ip_options: 0,
        tcp_options: 3,
        identification: 7,
        sequence: 1,
        flags: 0x18,
        payload: vec![3; 3000],
        payload_bytes: 1448,
        is_partial: true,
        cwr: Cwr::Unsaid,
    }
}

#[test]
fn a_datagram_that_sums_to_zero_has_a_checksum() {
    let mut long = Long { udp: true, payload: vec![0; 3000], ..example() };
    for _ in 0..2 {
        let first = &split(&long, None)[0];
        assert_checksums(first);
        // Adds the difference to zero.
        let (payload, checksum) = (&mut long.payload[..2], &first[40..42]);
        if payload[..] == [0, 0] {
            payload.copy_from_slice(checksum);
        } else {
            assert_eq!(checksum, [0xff, 0xff]);
        }
    }
}

/// The pseudo-header of a packet with a routing header contains the last address, which only the sender's sum reflects.
#[test]
fn the_sum_that_the_sender_left_is_the_one_that_counts() {
    let long = Long { v6: true, ..example() };
    let mut frame = long.frame();
    // As if it had been sent to an address whose last word is greater by 5.
    let field = u16::from_be_bytes([frame[70], frame[71]]) + 5;
    frame[70..72].copy_from_slice(&field.to_be_bytes());
    let segments = Segments::new(&frame, long.partial(), long.segmented(), None).unwrap();
    let mut into = Vec::new();
    for index in 0..segments.count() {
        assert!(segments.write(index, &mut into));
        into[53] += 5;
        assert_checksums(&into);
    }
}

/// The kernel joins segments as a list where it is told to (`ethtool -K eth0 rx-gro-list on`): the field keeps the sum of the
/// first, with that one's length.
#[test]
fn segments_joined_as_a_list_have_their_own_sums() {
    for (v6, udp) in [(false, false), (true, false), (false, true), (true, true)] {
        let long = Long { v6, udp, ..example() };
        let first = Long { payload: long.payload[..1448].to_vec(), ..long.clone() };
        let mut frame = long.frame();
        let at = long.partial().unwrap().at();
        frame[at..at + 2].copy_from_slice(&first.frame()[at..at + 2]);
        let segments = Segments::new(&frame, long.partial(), long.segmented(), None).unwrap();
        let mut into = Vec::new();
        for index in 0..segments.count() {
            assert!(segments.write(index, &mut into));
            assert_checksums(&into);
        }
        sum_as_one(&mut frame, &long.offload());
        assert_eq!(frame, long.frame(), "as a whole");
    }
}

/// However small their payload, segments cannot turn one frame into a hundred megabytes.
#[test]
fn headers_of_all_segments_are_bounded() {
    let long = Long { v6: true, ..example() };
    let mut frame = long.frame();
    let bytes = u16::from_be_bytes([frame[18], frame[19]]) + 2048;
    frame[18..20].copy_from_slice(&bytes.to_be_bytes());
    // Destination options, all of them padding.
    frame[20] = 60;
    frame.splice(54..54, [6, 255].into_iter().chain([0; 2046]));
    let count = |payload_bytes| {
        let partial = long.partial().map(|partial| Partial { start: partial.start + 2048, ..partial });
        Segments::new(&frame, partial, Segmented { payload_bytes, ..long.segmented() }, None).map(|split| split.count())
    };
    assert_eq!((count(1448), count(20), count(2)), (Ok(3), Ok(150), Err(Refused::Segments)));
}

type Change<'a> = dyn Fn(&mut Vec<u8>, &mut Option<Partial>, &mut Segmented) + 'a;

#[test]
fn what_contradicts_itself_is_refused() {
    let long = example();
    let with = |change: &Change<'_>| {
        let (mut frame, mut partial, mut segmented) = (long.frame(), long.partial(), long.segmented());
        change(&mut frame, &mut partial, &mut segmented);
        Segments::new(&frame, partial, segmented, None).map(|segments| segments.count())
    };
    assert_eq!(with(&|_, _, _| ()), Ok(3));
    let headers = Err(Refused::Headers);
    assert_eq!(with(&|_, _, split| split.kind = Kind::Tcp6), headers, "another version");
    assert_eq!(with(&|_, _, split| split.kind = Kind::Udp), headers, "another protocol");
    assert_eq!(with(&|frame, _, _| frame[23] = 17), headers, "another protocol in the packet");
    assert_eq!(with(&|frame, _, _| frame[46] = 0x40), headers, "a TCP header of 16 bytes");
    assert_eq!(with(&|frame, _, _| frame[16..18].copy_from_slice(&[0, 50])), headers, "an end within TCP's header");
    assert_eq!(with(&|frame, _, _| frame[16..18].fill(0)), headers, "no length, as BIG TCP has none");
    assert_eq!(with(&|frame, _, _| frame[20] |= 0x20), headers, "a fragment");
    assert_eq!(with(&|frame, _, _| frame[21] = 1), headers, "a later fragment");
    assert_eq!(with(&|frame, _, _| frame.truncate(2000)), headers, "cut");
    assert_eq!(with(&|frame, _, _| frame[12] = 0x99), headers, "no IP");
    // Metadata for a tunnel, which it is not in.
    assert_eq!(with(&|_, partial, _| *partial = Some(Partial { start: 84, offset: 16 })), headers);
    assert_eq!(with(&|_, partial, _| *partial = Some(Partial { start: 34, offset: 6 })), headers);
    assert_eq!(with(&|_, _, split| split.payload_bytes = 0), Err(Refused::Segments));
    assert_eq!(with(&|_, _, split| split.payload_bytes = 1), Err(Refused::Segments));
    assert_eq!(with(&|_, _, split| split.payload_bytes = 2), Ok(1500));
    for length in 0..66 {
        assert_eq!(with(&|frame, _, _| frame.truncate(length)), headers, "cut at {length}");
    }
}

fn example_in(around: Around) -> InTunnel {
    InTunnel {
        long: example(),
        around,
        outer_v6: false,
        udp_has_checksum: true,
        outer_options: 0,
        outer_tag: false,
        outer_identification: 5,
    }
}

#[test]
fn what_contradicts_itself_in_a_tunnel_is_refused() {
    let with = |made: &InTunnel, change: &Change<'_>| {
        let (mut frame, mut partial, mut segmented) = (made.frame(), made.partial(), made.long.segmented());
        change(&mut frame, &mut partial, &mut segmented);
        Segments::new(&frame, partial, segmented, None).map(|segments| segments.count())
    };
    let headers = Err(Refused::Headers);
    let [gre, vxlan, geneve] =
        [Around::Gre(true, true, false), Around::Vxlan, Around::Geneve(false, 1)].map(example_in);
    let plain = example_in(Around::Nothing);
    for made in [&gre, &vxlan, &geneve, &plain] {
        assert_eq!(with(made, &|_, _, _| ()), Ok(3));
        assert_eq!(with(made, &|_, partial, _| *partial = None), Ok(3));
        assert_eq!(with(made, &|_, _, split| split.kind = Kind::Tcp6), headers, "another version within");
        assert_eq!(with(made, &|frame, _, _| frame[20] |= 0x20), headers, "a fragment");
        assert_eq!(with(made, &|frame, _, _| frame[21] = 1), headers, "a later fragment");
        let inner = made.outer_bytes() + 14 - made.left_out();
        assert_eq!(with(made, &|frame, _, _| frame[inner + 6] |= 0x20), headers, "a fragment within");
        assert_eq!(with(made, &|frame, _, _| frame[inner + 9] = 17), headers, "another protocol within");
        assert_eq!(with(made, &|frame, _, _| frame[inner] = 0x65), headers, "another version than is said");
        assert_eq!(
            with(made, &|frame, _, _| frame[inner + 3] -= 1),
            headers,
            "it ends before the tunnel's packet does"
        );
        assert_eq!(with(made, &|frame, _, _| frame[inner + 3] += 1), headers, "it ends behind it");
        let elsewhere = |by: i32| {
            move |_: &mut Vec<u8>, partial: &mut Option<Partial>, _: &mut Segmented| {
                let start = made.partial().map_or(0, |partial| partial.start);
                *partial = Some(Partial { start: (i32::from(start) + by) as u16, offset: 16 });
            }
        };
        assert_eq!(with(made, &elsewhere(2)), headers);
        assert_eq!(with(made, &elsewhere(-20)), headers);
        for length in 0..made.outer_bytes() + 60 {
            assert_eq!(with(made, &|frame, _, _| frame.truncate(length)), headers, "cut at {length}");
        }
    }
    assert_eq!(with(&plain, &|frame, _, _| frame[23] = 41), headers, "another protocol in the packet");
    assert_eq!(with(&plain, &|frame, _, _| frame[23] = 50), headers, "a tunnel that is not known");
    // GRE's bits: routing, a sequence number, version 1, and those that are reserved.
    for (at, bit) in [(34, 0x40), (34, 0x10), (34, 0x08), (34, 0x04), (35, 0x01), (35, 0x80)] {
        assert_eq!(with(&gre, &|frame, _, _| frame[at] |= bit), headers, "bit {bit:#x} of {at}");
    }
    assert_eq!(with(&gre, &|frame, _, _| frame[36] = 0x99), headers, "not IP");
    assert_eq!(with(&vxlan, &|frame, _, _| frame[37] += 1), headers, "another port");
    assert_eq!(with(&vxlan, &|frame, _, _| frame[39] += 1), headers, "another length of UDP");
    assert_eq!(with(&vxlan, &|frame, _, _| frame[42] = 0), headers, "no number of a network");
    assert_eq!(with(&vxlan, &|frame, _, _| frame[42] |= 0x04), headers, "another protocol in VXLAN");
    assert_eq!(with(&vxlan, &|frame, _, _| frame[43] |= 0x20), headers, "a checksum that the receiver fills in");
    assert_eq!(with(&vxlan, &|frame, _, _| frame[42..44].copy_from_slice(&[0x88, 0x48])), Ok(3), "a group policy");
    assert_eq!(with(&geneve, &|frame, _, _| frame[42] |= 0x40), headers, "version 1");
    assert_eq!(with(&geneve, &|frame, _, _| frame[42] += 1), headers, "more options than there are");
    let behind_options = InTunnel { outer_v6: true, outer_options: 2, ..vxlan };
    assert_eq!(with(&behind_options, &|_, _, _| ()), Ok(3));
    let end = |frame: &mut Vec<u8>| frame[18..20].copy_from_slice(&[0, 8]);
    assert_eq!(with(&behind_options, &|frame, _, _| end(frame)), headers, "it ends within what is before UDP");
}

/// If tunnels are nested, only the outer one is entered, and its content is not a stream.
#[test]
fn two_tunnels_are_refused() {
    let made = example_in(Around::Nothing);
    let mut frame = made.frame();
    let outer = frame[14..34].to_vec();
    frame.splice(14..14, outer);
    let length = (frame.len() - 14) as u16;
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    for partial in [None, made.partial().map(|partial| partial.behind(20).unwrap())] {
        assert_eq!(Segments::new(&frame, partial, made.long.segmented(), None).err(), Some(Refused::Headers));
    }
}

/// VXLAN datagrams that were joined as datagrams are split as such, whatever they hold.
#[test]
fn joined_datagrams_of_a_tunnel_are_datagrams() {
    let made = example_in(Around::Vxlan);
    let frame = made.frame();
    let segmented = Segmented { kind: Kind::Udp, ..made.long.segmented() };
    for partial in [None, Some(Partial { start: 34, offset: 6 })] {
        assert!(Segments::new(&frame, partial, segmented, None).unwrap().outer.is_none());
    }
}

/// The pseudo-header has the final destination, which a routing header names (RFC 8200, 8.1): only the sender's sum knows it.
#[test]
fn behind_a_routing_header_the_senders_sum_counts() {
    let long = Long { udp: false, ip_options: 2, payload_bytes: 500, ..long_datagram(true) };
    let direct = split(&long, None);
    let mut frame = long.frame();
    frame[20] = 43;
    frame[38..54].fill(0x2b);
    let segments = Segments::new(&frame, long.partial(), long.segmented(), None).unwrap();
    assert_eq!(segments.count(), direct.len());
    let transport = 14 + 40 + 16;
    for (index, direct) in direct.iter().enumerate() {
        let mut segment = Vec::new();
        assert!(segments.write(index, &mut segment));
        assert_eq!(segment[transport..], direct[transport..]);
    }
}
