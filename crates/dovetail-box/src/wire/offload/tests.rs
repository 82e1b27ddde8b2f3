use super::{super::testing::any_offload, *};
use proptest::prelude::*;

/// The header in C's layout.
fn header(flags: u8, kind: u8, [header_bytes, payload_bytes, start, offset]: [u16; 4]) -> [u8; 10] {
    let words = [header_bytes, payload_bytes, start, offset].map(u16::to_ne_bytes).concat();
    [&[flags, kind][..], &words].concat().try_into().unwrap()
}

#[test]
fn a_header_says_what_it_says() {
    assert_eq!(Offload::parse(&[0; 10]), Ok(Offload::NONE));
    // The kernel has verified the sum: nothing is left to do.
    assert_eq!(Offload::parse(&header(2, 0, [0; 4])), Ok(Offload::NONE));
    let partial = Some(Partial { start: 34, offset: 16 });
    assert_eq!(Offload::parse(&header(1, 0, [0, 0, 34, 16])), Ok(Offload { partial, segmented: None }));
    let [unsaid, in_first, in_all] = [Cwr::Unsaid, Cwr::InFirst, Cwr::InAll];
    for (number, kind, cwr) in [
        (1, Kind::Tcp4, unsaid),
        (0x81, Kind::Tcp4, in_first),
        (0x11, Kind::Tcp4, in_all),
        (4, Kind::Tcp6, unsaid),
        (0x84, Kind::Tcp6, in_first),
        (0x14, Kind::Tcp6, in_all),
        (5, Kind::Udp, unsaid),
    ] {
        let segmented = Some(Segmented { kind, cwr, header_bytes: 66, payload_bytes: 1448 });
        let said = header(1, number, [66, 1448, 34, 16]);
        assert_eq!(Offload::parse(&said), Ok(Offload { partial, segmented }));
        assert_eq!(Offload { partial, segmented }.bytes(), said, "the kernel is told what it has said");
    }
    // If both are set, it is a count.
    for (number, kind) in [(0x91, Kind::Tcp4), (0x94, Kind::Tcp6)] {
        let offload = Offload::parse(&header(1, number, [66, 1448, 34, 16])).unwrap();
        assert_eq!(offload.segmented.map(|split| (split.kind, split.cwr)), Some((kind, in_all)));
    }
}

#[test]
fn what_is_not_known_is_refused() {
    for kind in (0..=255).filter(|kind| ![0, 1, 4, 5, 0x81, 0x84, 0x11, 0x14, 0x91, 0x94].contains(kind)) {
        assert_eq!(Offload::parse(&header(0, kind, [0; 4])), Err(Refused::Offload { flags: 0, kind }));
    }
    for flags in 4..=255 {
        assert_eq!(Offload::parse(&header(flags, 1, [0; 4])), Err(Refused::Offload { flags, kind: 1 }));
    }
}

proptest! {
    #[test]
    fn a_header_is_read_as_it_was_written(offload in any_offload()) {
        prop_assert_eq!(Offload::parse(&offload.bytes()), Ok(offload));
    }

    #[test]
    fn any_header_is_read_or_refused(bytes: [u8; 10]) {
        if let Ok(offload) = Offload::parse(&bytes) {
            prop_assert_eq!(Offload::parse(&offload.bytes()), Ok(offload));
        }
    }

    #[test]
    fn a_tag_moves_what_is_summed(offload in any_offload()) {
        match (offload.behind(4), offload.partial) {
            (Err(refused), Some(partial)) => {
                prop_assert!(partial.start > u16::MAX - 4);
                prop_assert_eq!(refused, Refused::Checksum);
            }
            (Ok(moved), partial) => {
                prop_assert_eq!(moved.partial.map(|p| p.start), partial.map(|p| p.start + 4));
                prop_assert_eq!(moved.partial.map(|p| p.offset), partial.map(|p| p.offset));
                let payload = |offload: &Offload| offload.segmented.map(|split| split.payload_bytes);
                prop_assert_eq!(payload(&moved), payload(&offload));
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
