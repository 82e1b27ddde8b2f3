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

proptest! {
    /// The error as read by another library matches the RFCs.
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
        // Ports at least; errors are not answered by errors.
        prop_assert!(quote.len() >= packet.len().min(28));
        prop_assert_eq!(ask(&told, 70), Err(if long.v6 { Silent::Narrow } else { Silent::Error }));
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
fn what_may_be_fragmented_is_not_answered() {
    // The bit beside "don't fragment" is reserved, and the next one says that more follows.
    for flags in [0, 0x80, 0x20, 0xa0] {
        let mut frame = long_datagram(false).frame();
        frame[20] = flags;
        sum_header(&mut frame);
        assert_eq!(ask(&frame, 1400), Err(Silent::MayFragment), "{flags:#x}");
    }
}

#[test]
fn there_is_a_least_mtu() {
    let (v4, v6) = (long_datagram(false).frame(), long_datagram(true).frame());
    assert_eq!(ask(&v4, 67), Err(Silent::Narrow));
    assert!(ask(&v4, 68).is_ok());
    assert_eq!(ask(&v6, 1279), Err(Silent::Narrow));
    assert!(ask(&v6, 1280).is_ok());
    assert_eq!(ask(&v4, 1508), Err(Silent::Fits));
    assert_eq!(ask(&v6, u32::MAX), Err(Silent::Fits));
    assert_eq!(ask(&[], 68), Err(Silent::NoPacket));
}
