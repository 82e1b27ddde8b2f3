use super::{super::testing::*, *};
use etherparse::SlicedPacket;
use proptest::prelude::*;

proptest! {
    /// Against a library's parser: the same headers, the same payload offset.
    #[test]
    fn headers_are_where_they_are(packet in packet(), padding in 0usize..20) {
        let mut frame = packet.frame();
        let length = frame.len();
        frame.resize(length + padding, 0);
        let ip = Ip::find(&frame).expect("a packet");
        prop_assert_eq!(ip.end, length, "padding is not part of the packet");
        let sliced = SlicedPacket::from_ethernet(&frame).expect("a packet");
        let payload = sliced.ip_payload().expect("a payload").payload;
        prop_assert_eq!(&frame[ip.body..ip.end], payload);
        let tuple = ip.five_tuple(&frame);
        prop_assert_eq!(tuple.source, packet.source());
        prop_assert_eq!(tuple.destination, packet.destination());
        prop_assert_eq!(tuple.protocol, packet.protocol());
        prop_assert_eq!((tuple.source_port, tuple.destination_port), packet.ports());
    }
}

/// An IPv6 extension header: its number and its bytes but the first, which is the number of what follows.
type Extension = (u8, Vec<u8>);

fn extension() -> impl Strategy<Value = Extension> {
    let optional = prop_oneof![Just(HOP_BY_HOP), Just(ROUTING), Just(DESTINATION)];
    let in_words_of_8 = (optional, 0u8..4).prop_map(|(number, more)| {
        let bytes = [vec![more], vec![7; 6 + 8 * usize::from(more)]].concat();
        (number, bytes)
    });
    // Lengths of authentication headers are in words of four bytes, and say two less than there are.
    let in_words_of_4 = (0u8..6).prop_map(|more| {
        let bytes = [vec![more], vec![7; 6 + 4 * usize::from(more)]].concat();
        (AUTHENTICATION, bytes)
    });
    let fragment = (0u16..3, any::<bool>()).prop_map(|(offset, has_more)| {
        let [high, low] = (offset << 3 | u16::from(has_more)).to_be_bytes();
        (FRAGMENT, vec![0, high, low, 1, 2, 3, 4])
    });
    prop_oneof![3 => in_words_of_8, 2 => in_words_of_4, 1 => fragment]
}

proptest! {
    /// Walks the list that the headers are made of, instead of the bytes.
    #[test]
    fn what_is_behind_extensions_is_found(
        extensions in prop::collection::vec(extension(), 0..11),
        protocol in prop_oneof![Just(6u8), Just(17), Just(50), Just(58), Just(132)],
        body in 0usize..12,
        cut in prop_oneof![Just(0usize), 0usize..60],
        padding in 0usize..20,
    ) {
        let number = |at: usize| extensions.get(at).map_or(protocol, |extension| extension.0);
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, number(0), 64];
        packet.extend([5; 32]);
        for (at, (_, bytes)) in extensions.iter().enumerate() {
            packet.push(number(at + 1));
            packet.extend(bytes);
        }
        packet.extend([0x30, 0x31, 0x32, 0x33, 0, 0, 0, 0, 0, 0, 0, 0].iter().take(body));
        let end = packet.len().saturating_sub(cut).max(IPV6);
        packet[4..6].copy_from_slice(&((end - IPV6) as u16).to_be_bytes());
        // What is beyond the packet's own end may look as if it went on.
        packet.extend(vec![0x3f; padding]);
        let frame = [&[2; 12][..], &TYPE_IPV6.to_be_bytes(), &packet].concat();

        let (mut at, mut is_fragment, mut found) = (IPV6, false, None);
        for (index, (number, bytes)) in extensions.iter().enumerate() {
            is_fragment |= *number == FRAGMENT;
            if index == MAX_EXTENSIONS || at + 8 > end {
                found = Some((*number, Some(at)));
                break;
            }
            if *number == FRAGMENT && bytes[2] >> 3 != 0 {
                found = Some((extensions.get(index + 1).map_or(protocol, |next| next.0), None));
                break;
            }
            at += 1 + bytes.len();
        }
        let (protocol, at) = found.unwrap_or((protocol, Some(at)));
        let ip = Ip::find(&frame).expect("a packet");
        prop_assert_eq!((ip.at, ip.body, ip.end), (ETHERNET, ETHERNET + IPV6, ETHERNET + end));
        prop_assert_eq!(ip.transport(&frame), (protocol, at.map(|at| ETHERNET + at)));
        prop_assert_eq!(ip.is_fragment(&frame), is_fragment);
        let has_ports = matches!(protocol, 6 | 17 | 132) && at.is_some_and(|at| at + 4 <= end);
        let tuple = ip.five_tuple(&frame);
        let ports = if has_ports { (0x3031, 0x3233) } else { (0, 0) };
        prop_assert_eq!((tuple.protocol, tuple.source_port, tuple.destination_port), (protocol, ports.0, ports.1));
    }
}

#[test]
fn a_packet_too_short_for_ports_has_none() {
    for (bytes, port) in [(24, 1001), (23, 0), (20, 0)] {
        let mut frame = Packet::udp(b"data").frame();
        frame[17] = bytes;
        assert_eq!(Ip::find(&frame).expect("a packet").five_tuple(&frame).source_port, port, "{bytes} bytes");
    }
}

#[test]
fn a_frame_with_three_tags_is_of_another_protocol() {
    let mut frame = Packet::udp(b"data").frame();
    for tags in 0..4 {
        assert_eq!(Ip::find(&frame).map(|ip| ip.at).ok(), (tags < 3).then_some(ETHERNET + 4 * tags));
        frame.splice(12..12, [0x81, 0, 0, 7]);
    }
    assert_eq!(Ip::find(&frame), Err(Verdict::Untouched));
}

#[test]
fn ports_are_found_behind_extensions_and_not_in_later_fragments() {
    let packet = Packet { v6: true, ..Packet::udp(b"data") };
    let plain = packet.frame();
    let with = |first: u8, headers: &[u8]| {
        let mut frame = plain.clone();
        frame.splice(54..54, headers.iter().copied());
        let length = (frame.len() - 54) as u16;
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        frame[20] = first;
        let ip = Ip::find(&frame).expect("a packet");
        assert_eq!(ip.is_fragment(&frame), headers.chunks(8).any(|header| header[7] == 9));
        let tuple = ip.five_tuple(&frame);
        (tuple.protocol, tuple.source_port)
    };
    let port = packet.ports().0;
    assert_eq!(with(17, &[]), (17, port));
    // Hop by hop, then destination options of 16 bytes, then UDP.
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let options = [17, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(with(0, &[&hop_by_hop[..], &options].concat()), (17, port));
    // The first fragment includes the ports, a later one does not.
    assert_eq!(with(44, &[17, 0, 0, 1, 0, 0, 0, 9]), (17, port));
    assert_eq!(with(44, &[17, 0, 0, 9, 0, 0, 0, 9]), (17, 0));
    let behind_another = [44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 1, 0, 0, 0, 9];
    assert_eq!(with(0, &behind_another), (17, port));
    // An extension header that claims to be longer than the packet.
    assert_eq!(with(60, &[17, 255, 0, 0, 0, 0, 0, 0]), (17, 0));
    let many = [60, 0, 1, 4, 0, 0, 0, 0].repeat(100);
    assert_eq!(with(60, &many).0, 60);
}

#[test]
fn lengths_that_are_not_so_are_refused() {
    let good = Packet::udp(b"some data").frame();
    assert!(Ip::find(&good).is_ok());
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        Ip::find(&frame)
    };
    let malformed = Err(Verdict::Drop(Reason::Malformed));
    assert_eq!(with(17, 255), malformed, "longer than the frame");
    assert_eq!(with(17, 19), malformed, "shorter than its header");
    assert_eq!(with(14, 0x44), malformed, "a header of 16 bytes");
    assert_eq!(with(14, 0x4f), malformed, "a header longer than the packet");
    assert_eq!(with(14, 0x65), malformed, "another version than the link says");
    assert_eq!(with(12, 0x09), Err(Verdict::Untouched), "another protocol");
    for length in 0..good.len() {
        assert_eq!(Ip::find(&good[..length]), malformed, "cut at {length}");
    }
}
