use super::{super::testing::*, *};
use etherparse::{
    Icmpv4Type, Icmpv6Type, NetSlice, SlicedPacket, TransportSlice, icmpv4, icmpv4::DestUnreachableHeader, icmpv6,
};
use proptest::prelude::*;

fn tell(frame: &[u8], message: Message) -> Result<Vec<u8>, Silent> {
    let mut into = vec![1, 2, 3];
    match answer(frame, message, &mut into) {
        Ok(()) => Ok(into),
        Err(silent) => {
            assert_eq!(into, [1, 2, 3], "no answer, nothing written");
            Err(silent)
        }
    }
}

/// The RFCs' names of the messages.
fn v4(message: Message) -> Icmpv4Type {
    match message {
        Message::TooBig { mtu } => {
            Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: mtu as u16 })
        }
        Message::HopLimit => Icmpv4Type::TimeExceeded(icmpv4::TimeExceededCode::TtlExceededInTransit),
        Message::NoRoute => Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Network),
    }
}

fn v6(message: Message) -> Icmpv6Type {
    match message {
        Message::TooBig { mtu } => Icmpv6Type::PacketTooBig { mtu },
        Message::HopLimit => Icmpv6Type::TimeExceeded(icmpv6::TimeExceededCode::HopLimitExceeded),
        Message::NoRoute => Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::NoRoute),
    }
}

fn messages() -> impl Strategy<Value = Message> {
    prop_oneof![
        Just(Message::HopLimit),
        Just(Message::NoRoute),
        (1280u32..9000).prop_map(|mtu| Message::TooBig { mtu })
    ]
}

/// Whether an error is sent does not depend on the message.
fn tell_all(frame: &[u8]) -> Result<(), Silent> {
    let all = [Message::TooBig { mtu: 1400 }, Message::HopLimit, Message::NoRoute];
    let [first, others @ ..] = all.map(|message| tell(frame, message).map(|_| ()));
    assert_eq!(others, [first; 2]);
    first
}

proptest! {
    /// The error as read by another library matches the RFCs, also for a packet that may be fragmented.
    #[test]
    fn the_sender_is_told(long in long(), message in messages(), may_fragment: bool) {
        let mut frame = long.frame();
        let at = 14 + 4 * long.tags.len();
        if may_fragment && !long.v6 {
            frame[at + 6] = 0;
            frame[at + 10..at + 12].fill(0);
            let header = at..at + 20 + 4 * long.ip_options;
            let checksum = !naive_sum(&frame[header]);
            frame[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        let packet = &frame[at..];
        let told = tell(&frame, message).unwrap();
        assert_checksums(&told);
        prop_assert_eq!(&told[..12], &[&frame[6..12], &frame[..6]].concat()[..]);
        prop_assert_eq!(&told[12..at], &frame[12..at], "the tags and the type");
        let sliced = SlicedPacket::from_ethernet(&told).unwrap();
        let quote = match (sliced.net.unwrap(), sliced.transport.unwrap()) {
            (NetSlice::Ipv4(ip), TransportSlice::Icmpv4(told_v4)) => {
                prop_assert_eq!(told_v4.icmp_type(), v4(message));
                prop_assert_eq!(ip.header().source(), [10, 0, 0xff, 2]);
                prop_assert_eq!(ip.header().destination(), [10, 0, 0, 1]);
                prop_assert_eq!(told.len() - at, (packet.len() + 28).min(576));
                told_v4.payload().to_vec()
            }
            (NetSlice::Ipv6(ip), TransportSlice::Icmpv6(told_v6)) => {
                prop_assert_eq!(told_v6.icmp_type(), v6(message));
                prop_assert_eq!((ip.header().source()[15], ip.header().destination()[15]), (2, 1));
                prop_assert_eq!(told.len() - at, (packet.len() + 48).min(1280));
                told_v6.payload().to_vec()
            }
            other => panic!("{other:?}"),
        };
        prop_assert!(packet.starts_with(&quote));
        for answered in [Message::HopLimit, Message::NoRoute] {
            prop_assert_eq!(tell(&told, answered), Err(Silent::Error), "errors answer no errors");
        }
    }

    #[test]
    fn any_bytes_are_answered_or_not(frame in hostile(), message in messages()) {
        if let Ok(told) = tell(&frame, message) {
            assert_checksums(&told);
            prop_assert!(told.len() <= 22 + 1280);
            // The error is addressed to a single station and host.
            prop_assert_eq!(told[0] & 1, 0);
            prop_assert_eq!(tell(&told, message), Err(Silent::Error));
        }
    }
}

#[test]
fn some_packets_must_not_be_answered() {
    let v4 = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = long_datagram(false).frame();
        change(&mut frame);
        sum_header(&mut frame);
        tell_all(&frame)
    };
    let v6 = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = long_datagram(true).frame();
        change(&mut frame);
        tell_all(&frame)
    };
    assert_eq!(v4(&|_| ()), Ok(()));
    assert_eq!(v6(&|_| ()), Ok(()));
    for at_version in [&v4 as &dyn Fn(&dyn Fn(&mut Vec<u8>)) -> _, &v6] {
        assert_eq!(at_version(&|frame| frame[0] |= 1), Err(Silent::Group), "to a group of the link");
        assert_eq!(at_version(&|frame| frame[..6].fill(0xff)), Err(Silent::Group));
        assert_eq!(at_version(&|frame| frame[6] |= 1), Err(Silent::Address), "from a group of the link");
        assert_eq!(at_version(&|frame| frame[13] = 6), Err(Silent::NoPacket), "no IP");
        assert_eq!(at_version(&|frame| frame.truncate(1450)), Err(Silent::NoPacket), "cut");
    }
    assert_eq!(v4(&|frame| frame[20] = 0), Ok(()), "it may be fragmented");
    assert_eq!(v4(&|frame| frame[20] = 0x60), Ok(()), "the first fragment");
    assert_eq!(v4(&|frame| frame[21] = 9), Err(Silent::LaterFragment));
    for (from, to, wanted) in [
        ([0, 0, 0, 0], [10, 0, 0, 2], Silent::Address),
        ([127, 0, 0, 1], [10, 0, 0, 2], Silent::Address),
        ([224, 0, 0, 1], [10, 0, 0, 2], Silent::Address),
        ([255; 4], [10, 0, 0, 2], Silent::Address),
        ([10, 0, 0, 1], [0, 0, 0, 0], Silent::Address),
        ([10, 0, 0, 1], [127, 0, 0, 2], Silent::Address),
        ([10, 0, 0, 1], [239, 1, 1, 1], Silent::Group),
        ([10, 0, 0, 1], [255; 4], Silent::Group),
    ] {
        let change = |frame: &mut Vec<u8>| frame[26..34].copy_from_slice(&[from, to].concat());
        assert_eq!(v4(&change), Err(wanted), "{from:?} to {to:?}");
    }
    for (at, wanted) in [(22, Silent::Address), (38, Silent::Group)] {
        assert_eq!(v6(&|frame| frame[at] = 0xff), Err(wanted));
        for last in [0, 1] {
            let change = |frame: &mut Vec<u8>| {
                frame[at..at + 16].fill(0);
                frame[at + 15] = last;
            };
            assert_eq!(v6(&change), Err(Silent::Address));
        }
    }
    let mut damaged = long_datagram(false).frame();
    damaged[24] ^= 1;
    assert_eq!(tell_all(&damaged), Err(Silent::NoPacket), "the checksum is wrong");
}

#[test]
fn errors_answer_no_errors() {
    for kind in 0..=255 {
        let mut frame = long_datagram(false).frame();
        (frame[23], frame[34]) = (1, kind);
        sum_header(&mut frame);
        let is_query = [0, 8, 9, 10, 13, 14, 15, 16, 17, 18].contains(&kind);
        assert_eq!(tell_all(&frame).is_ok(), is_query, "ICMP {kind}");
        for behind_options in [false, true] {
            let mut frame = long_datagram(true).frame();
            frame[20] = 58;
            if behind_options {
                frame[20] = 0;
                frame[54..62].copy_from_slice(&[58, 0, 1, 4, 0, 0, 0, 0]);
            }
            frame[if behind_options { 62 } else { 54 }] = kind;
            let wanted = if kind >= 128 && kind != 137 { Ok(()) } else { Err(Silent::Error) };
            assert_eq!(tell_all(&frame), wanted, "ICMPv6 {kind}");
        }
    }
}

#[test]
fn fragments_of_ipv6_are_answered_once() {
    for (offset, wanted) in [([0, 1], Ok(())), ([0, 9], Err(Silent::LaterFragment))] {
        let mut frame = long_datagram(true).frame();
        frame[20] = 44;
        frame[54..62].copy_from_slice(&[17, 0, offset[0], offset[1], 0, 0, 0, 9]);
        assert_eq!(tell_all(&frame), wanted);
    }
    // Behind this many headers the protocol is unknown: it may be an error.
    let mut frame = long_datagram(true).frame();
    frame[20] = 60;
    for at in (54..54 + 9 * 8).step_by(8) {
        frame[at..at + 8].copy_from_slice(&[60, 0, 1, 4, 0, 0, 0, 0]);
    }
    assert_eq!(tell_all(&frame), Err(Silent::Error));
}

/// The link's padding is not part of the packet: it may look like a query.
#[test]
fn an_icmp_packet_without_a_type_is_not_answered() {
    let mut frame = long_datagram(false).frame();
    (frame[23], frame[34]) = (1, 8);
    frame[16..18].copy_from_slice(&[0, 20]);
    sum_header(&mut frame);
    assert_eq!(tell_all(&frame), Err(Silent::Error));
    let mut frame = long_datagram(true).frame();
    (frame[20], frame[54]) = (58, 128);
    frame[18..20].copy_from_slice(&[0, 0]);
    assert_eq!(tell_all(&frame), Err(Silent::Error));
}

#[test]
fn an_mtu_beyond_16_bits_is_the_longest_packet_of_ipv4() {
    for (mtu, told) in [(65_535, [0xff, 0xff]), (65_536, [0xff, 0xff]), (70_000, [0xff, 0xff]), (9_000, [0x23, 0x28])] {
        let frame = tell(&long_datagram(false).frame(), Message::TooBig { mtu }).unwrap();
        assert_eq!(frame[40..42], told, "{mtu}");
    }
}
