use super::{super::testing::*, *};
use proptest::prelude::*;

use crate::functions::testing::{Packet, packet};

proptest! {
    #[test]
    fn a_packet_fits_by_its_ip_length(packet in packet(), padding in 0usize..20) {
        let mut frame = packet.frame();
        let ip = frame.len() - 14 - if packet.vlan { 4 } else { 0 };
        frame.resize(frame.len() + padding, 0);
        prop_assert_eq!(packet_bytes(&frame), ip, "neither link headers nor padding count");
        prop_assert!(fits(&frame, ip as u32));
        prop_assert!(!fits(&frame, ip as u32 - 1));
    }

    #[test]
    fn any_bytes_have_a_length(frame in hostile(), mtu in any::<u32>()) {
        prop_assert!(packet_bytes(&frame) <= frame.len());
        prop_assert_eq!(fits(&frame, mtu), packet_bytes(&frame) <= mtu as usize);
        // What a socket accepts also fits; in a frame that ends within its tag, the tag counts.
        prop_assert!(!socket_takes(&frame, mtu) || fits(&frame, mtu.saturating_add(4)));
    }
}

#[test]
fn what_is_no_ip_fits_by_its_frame() {
    let mut arp = Packet::udp(&[0; 100]).frame();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(packet_bytes(&arp), arp.len() - 14);
    arp.splice(12..12, [0x81, 0, 0, 1, 0x81, 0, 0, 2]);
    assert_eq!(packet_bytes(&arp), arp.len() - 22);
    assert_eq!(packet_bytes(&[]), 0);
    assert_eq!(packet_bytes(&[0; 13]), 0);
}

/// Matches the results of `sendmsg` on Linux 6.18 for a veth with an MTU of 1,500.
#[test]
fn a_socket_takes_one_tag_beyond_the_mtu() {
    let frame = |types: &[u16], payload: usize| {
        let mut frame = vec![2; 12];
        types.iter().for_each(|kind| frame.extend([kind.to_be_bytes(), [0, 5]].concat()));
        frame.extend([0x88, 0xb5]);
        frame.resize(frame.len() + payload, 0);
        frame
    };
    for (types, payload, takes) in [
        (&[][..], 1500, true),
        (&[], 1501, false),
        (&[], 1504, false),
        (&[0x8100], 1500, true),
        (&[0x8100], 1501, false),
        (&[0x88a8], 1496, true),
        (&[0x88a8], 1500, false),
        (&[0x88a8, 0x8100], 1500, false),
        (&[0x8100, 0x8100], 1496, true),
        (&[0x8100, 0x8100], 1500, false),
    ] {
        assert_eq!(socket_takes(&frame(types, payload), 1500), takes, "{types:x?} {payload}");
    }
}
