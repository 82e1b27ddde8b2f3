use super::*;
use etherparse::{LinkExtSlice, SlicedPacket};
use proptest::prelude::*;

use crate::functions::testing::{Packet, packet};

proptest! {
    #[test]
    fn a_tag_is_where_another_library_finds_it(
        packet in packet(),
        vlan in 0u16..4096,
        priority in 0u16..8,
        provider in any::<bool>(),
    ) {
        let frame = packet.frame();
        let protocol = if provider { 0x88a8 } else { 0x8100 };
        let mut tagged = vec![1, 2, 3];
        put_back(&frame, Some(Tag { protocol, control: priority << 13 | vlan }), &mut tagged).unwrap();
        prop_assert_eq!(tagged.len(), frame.len() + bytes(Some(Tag { protocol, control: 0 })));
        let sliced = SlicedPacket::from_ethernet(&tagged).unwrap();
        let Some(LinkExtSlice::Vlan(outer)) = sliced.link_exts.first() else { panic!("no tag") };
        prop_assert_eq!(outer.vlan_identifier().value(), vlan);
        prop_assert_eq!(u16::from(outer.priority_code_point().value()), priority);
        // An inner tag stays in place, and so does everything after it.
        prop_assert_eq!(sliced.link_exts.len(), 1 + usize::from(packet.vlan));
        prop_assert_eq!(&tagged[..12], &frame[..12]);
        prop_assert_eq!(&tagged[16..], &frame[12..]);
    }
}

#[test]
fn without_a_tag_it_is_a_copy() {
    let frame = Packet::udp(b"plain").frame();
    let mut copy = vec![9; 2000];
    put_back(&frame, None, &mut copy).unwrap();
    assert_eq!(copy, frame);
    assert_eq!(bytes(None), 0);
}

#[test]
fn what_is_no_frame_has_no_place_for_a_tag() {
    let mut into = vec![7];
    for length in 0..12 {
        assert_eq!(put_back(&vec![0; length], None, &mut into), Err(Refused::Short));
    }
    assert_eq!(into, [7]);
    put_back(&[5; 12], Some(Tag { protocol: 0x8100, control: 1 }), &mut into).unwrap();
    assert_eq!(into[12..], [0x81, 0, 0, 1]);
}

#[test]
fn a_slot_says_whether_there_is_a_tag() {
    assert_eq!(Tag::of_slot(0, 5, 0x88a8), None);
    assert_eq!(Tag::of_slot(0x40, 5, 0x88a8), None);
    assert_eq!(Tag::of_slot(0x50, 5, 0x88a8), Some(Tag { protocol: 0x88a8, control: 5 }));
    // VLAN 0 is a tag as well: it carries a priority.
    assert_eq!(Tag::of_slot(0x51, 0, 0x8100), Some(Tag { protocol: 0x8100, control: 0 }));
    assert_eq!(Tag::of_slot(0x10, 5, 0), Some(Tag { protocol: 0x8100, control: 5 }));
}
