use super::{
    super::testing::{tunnel::in_tunnel, *},
    *,
};
use proptest::prelude::*;

use crate::wire::segments::MAX_SEGMENTS;

proptest! {
    /// Equal to applying its parts one by one.
    #[test]
    fn it_is_a_copy_a_tag_a_checksum_or_segments(long in long(), control in any::<u16>(), is_tagged in any::<bool>(), is_long in any::<bool>()) {
        let tag = is_tagged.then_some(Tag { protocol: 0x8100, control });
        let frame = long.frame();
        let offload = if is_long { long.offload() } else { Offload { partial: long.partial(), segmented: None } };
        let received = Received::new(&frame, offload, tag).unwrap();
        let mut into = Vec::new();
        for index in 0..received.count() {
            prop_assert!(received.write(index, &mut into));
            prop_assert_eq!(received.length(index), Some(into.len()));
            if is_long || long.is_partial {
                assert_checksums(&into);
            }
        }
        if !is_long {
            prop_assert_eq!(received.count(), 1);
            if is_tagged {
                prop_assert_eq!(&into.drain(12..16).collect::<Vec<_>>()[2..], control.to_be_bytes());
            }
            let at = offload.partial.map_or(frame.len(), |partial| partial.at());
            prop_assert!(into[..at] == frame[..at] && into.get(at + 2..) == frame.get(at + 2..));
        }
        let mut untouched = vec![1];
        prop_assert!(!received.write(received.count(), &mut untouched));
        prop_assert_eq!((untouched, received.length(received.count())), (vec![1], None));
    }

    /// A frame that the kernel does not accept back is split or refused even if other long frames stay whole.
    #[test]
    fn a_long_frame_in_a_tunnel_never_stays_whole(made in in_tunnel()) {
        let (frame, outside) = (made.frame(), made.long.frame());
        let in_tunnel = |frame, offload| Received::in_tunnel(frame, offload, None).map(|frames| frames.map(|it| it.count()));
        let count = Received::new(&outside, made.long.offload(), None).unwrap().count();
        prop_assert_eq!(in_tunnel(&frame, made.offload()), Some(Ok(count)));
        prop_assert_eq!(in_tunnel(&outside, made.long.offload()), None);
        prop_assert_eq!(in_tunnel(&frame, Offload { segmented: None, ..made.offload() }), None, "a short one");
    }

    /// Whatever is not refused can be written.
    #[test]
    fn any_bytes_are_received_or_refused(frame in hostile(), offload in any_offload(), is_tagged in any::<bool>()) {
        let tag = is_tagged.then_some(Tag { protocol: 0x88a8, control: 3 });
        let Ok(received) = Received::new(&frame, offload, tag) else { return Ok(()) };
        prop_assert!((1..=MAX_SEGMENTS).contains(&received.count()));
        let mut into = Vec::new();
        for index in 0..received.count() {
            prop_assert!(received.write(index, &mut into));
            prop_assert_eq!(received.length(index), Some(into.len()));
        }
    }
}

#[test]
fn what_is_said_of_a_frame_must_fit_it() {
    let new = |length, start, offset, tag| {
        let offload = Offload { partial: Some(Partial { start, offset }), segmented: None };
        let tag = Some(Tag { protocol: 0x8100, control: 0 }).filter(|_| tag);
        Received::new(&vec![0; length], offload, tag).map(|received| received.count())
    };
    assert_eq!(new(60, 34, 24, false), Ok(1));
    assert_eq!(new(60, 34, 24, true), Ok(1));
    assert_eq!(new(60, 34, 25, false), Err(Refused::Checksum));
    assert_eq!(new(60, 4, 4, false), Err(Refused::Checksum));
    assert_eq!(new(70_000, u16::MAX - 2, 4, true), Err(Refused::Checksum));
    assert_eq!(new(11, 0, 0, false), Err(Refused::Short));
    assert_eq!(Received::new(&[0; 11], Offload::NONE, None).map(|_| ()), Err(Refused::Short));
    assert_eq!(Received::new(&[0; 12], Offload::NONE, None).map(|_| ()), Ok(()));
}

#[test]
fn a_tunnel_of_an_unknown_kind_is_refused() {
    const ENCRYPTED: u8 = 50;
    let long = Long { udp: false, payload_bytes: 100, ..long_datagram(false) };
    let mut frame = long.frame();
    frame[23] = ENCRYPTED;
    let refused = Received::in_tunnel(&frame, long.offload(), None).map(|frames| frames.map(|it| it.count()));
    assert_eq!(refused, Some(Err(Refused::Headers)));
}

#[test]
fn an_sctp_packet_without_room_for_its_checksum_is_refused() {
    let mut frame = long_datagram(false).frame();
    frame[23] = 132;
    let offload = Offload { partial: Some(Partial { start: 34, offset: 8 }), segmented: None };
    for (sctp_bytes, refused) in [(10, Some(Refused::Checksum)), (11, Some(Refused::Checksum)), (12, None)] {
        frame[16..18].copy_from_slice(&(20u16 + sctp_bytes).to_be_bytes());
        sum_header(&mut frame);
        for tag in [None, Some(Tag { protocol: 0x8100, control: 5 })] {
            let received = Received::new(&frame, offload, tag);
            assert_eq!(received.as_ref().err(), refused.as_ref());
            assert!(received.is_err() || received.is_ok_and(|received| received.write(0, &mut Vec::new())));
        }
    }
}
