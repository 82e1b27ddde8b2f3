use super::{super::testing::*, *};
use etherparse::{Icmpv4Type, Icmpv6Type, NetSlice, SlicedPacket, TransportSlice, icmpv4};
use proptest::prelude::*;

fn ask(frame: &[u8], mtu: u32) -> Result<Vec<u8>, Silent> {
    let mut into = vec![1, 2, 3];
    match answer(frame, mtu, &mut into) {
        Ok(()) => Ok(into),
        Err(silent) => {
            assert_eq!(into, [1, 2, 3], "no answer, nothing written");
            Err(silent)
        }
    }
}

fn example(v6: bool) -> Long {
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
        ecn: false,
    }
}

/// The IPv4 header's checksum after a change to it.
fn settle(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let checksum = !naive_sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}

proptest! {
    /// What another library reads of the answer is what the RFCs say.
    #[test]
    fn the_sender_is_told(long in long(), mtu in 68u32..9000) {
        let frame = long.frame();
        let at = 14 + 4 * long.tags.len();
        let packet = &frame[at..];
        let told = match ask(&frame, mtu) {
            Ok(told) => told,
            Err(Silent::Fits) => {
                prop_assert!(packet.len() <= mtu as usize);
                return Ok(());
            }
            Err(silent) => {
                prop_assert_eq!(silent, Silent::Narrow);
                prop_assert!(long.v6 && mtu < 1280);
                return Ok(());
            }
        };
        prop_assert!(packet.len() > mtu as usize);
        assert_checksums(&told);
        prop_assert_eq!(&told[..12], &[&frame[6..12], &frame[..6]].concat()[..]);
        prop_assert_eq!(&told[12..at], &frame[12..at], "the tags and the type");
        let sliced = SlicedPacket::from_ethernet(&told).unwrap();
        let quote = match (sliced.net.unwrap(), sliced.transport.unwrap()) {
            (NetSlice::Ipv4(ip), TransportSlice::Icmpv4(message)) => {
                let wanted = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: mtu as u16 };
                prop_assert_eq!(message.icmp_type(), Icmpv4Type::DestinationUnreachable(wanted));
                prop_assert_eq!(ip.header().source(), [10, 0, 0xff, 2]);
                prop_assert_eq!(ip.header().destination(), [10, 0, 0, 1]);
                prop_assert!(ip.header().dont_fragment() && ip.header().ttl() == 64);
                prop_assert_eq!(told.len() - at, (packet.len() + 28).min(576));
                message.payload().to_vec()
            }
            (NetSlice::Ipv6(ip), TransportSlice::Icmpv6(message)) => {
                prop_assert_eq!(message.icmp_type(), Icmpv6Type::PacketTooBig { mtu });
                prop_assert_eq!(ip.header().source()[15], 2);
                prop_assert_eq!(ip.header().destination()[15], 1);
                prop_assert_eq!(told.len() - at, (packet.len() + 48).min(1280));
                message.payload().to_vec()
            }
            other => panic!("{other:?}"),
        };
        prop_assert!(packet.starts_with(&quote));
        // Ports at least; errors answer no errors.
        prop_assert!(quote.len() >= packet.len().min(28));
        prop_assert_eq!(ask(&told, 70), Err(Silent::Error));
    }

    #[test]
    fn any_bytes_are_answered_or_not(frame in hostile(), mtu in prop_oneof![0u32..2000, any::<u32>()]) {
        if let Ok(told) = ask(&frame, mtu) {
            assert_checksums(&told);
            prop_assert!(told.len() <= 22 + 1280);
        }
    }
}

#[test]
fn some_packets_must_not_be_answered() {
    let v4 = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = example(false).frame();
        change(&mut frame);
        settle(&mut frame);
        ask(&frame, 1400).map(|_| ())
    };
    let v6 = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = example(true).frame();
        change(&mut frame);
        ask(&frame, 1400).map(|_| ())
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
    assert_eq!(v4(&|frame| frame[20] = 0), Err(Silent::MayFragment));
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
    let mut damaged = example(false).frame();
    damaged[24] ^= 1;
    assert_eq!(ask(&damaged, 1400), Err(Silent::NoPacket), "the checksum is wrong");
}

#[test]
fn errors_answer_no_errors() {
    for kind in 0..=255 {
        let mut frame = example(false).frame();
        (frame[23], frame[34]) = (1, kind);
        settle(&mut frame);
        let is_query = [0, 8, 9, 10, 13, 14, 15, 16, 17, 18].contains(&kind);
        assert_eq!(ask(&frame, 1400).is_ok(), is_query, "ICMP {kind}");
        for behind_options in [false, true] {
            let mut frame = example(true).frame();
            frame[20] = 58;
            if behind_options {
                frame[20] = 0;
                frame[54..62].copy_from_slice(&[58, 0, 1, 4, 0, 0, 0, 0]);
            }
            frame[if behind_options { 62 } else { 54 }] = kind;
            let wanted = if kind >= 128 && kind != 137 { Ok(()) } else { Err(Silent::Error) };
            assert_eq!(ask(&frame, 1400).map(|_| ()), wanted, "ICMPv6 {kind}");
        }
    }
}

#[test]
fn fragments_of_ipv6_are_answered_once() {
    for (offset, wanted) in [([0, 1], Ok(())), ([0, 9], Err(Silent::LaterFragment))] {
        let mut frame = example(true).frame();
        frame[20] = 44;
        frame[54..62].copy_from_slice(&[17, 0, offset[0], offset[1], 0, 0, 0, 9]);
        assert_eq!(ask(&frame, 1400).map(|_| ()), wanted);
    }
    // What the packet is cannot be seen behind so many headers: it may be an error.
    let mut frame = example(true).frame();
    frame[20] = 60;
    for at in (54..54 + 9 * 8).step_by(8) {
        frame[at..at + 8].copy_from_slice(&[60, 0, 1, 4, 0, 0, 0, 0]);
    }
    assert_eq!(ask(&frame, 1400), Err(Silent::Error));
}

#[test]
fn there_is_a_least_mtu() {
    let (v4, v6) = (example(false).frame(), example(true).frame());
    assert_eq!(ask(&v4, 67), Err(Silent::Narrow));
    assert!(ask(&v4, 68).is_ok());
    assert_eq!(ask(&v6, 1279), Err(Silent::Narrow));
    assert!(ask(&v6, 1280).is_ok());
    assert_eq!(ask(&v4, 1508), Err(Silent::Fits));
    assert_eq!(ask(&v6, u32::MAX), Err(Silent::Fits));
    assert_eq!(ask(&[], 68), Err(Silent::NoPacket));
}
