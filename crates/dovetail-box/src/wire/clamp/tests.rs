use super::{super::testing::*, *};
use crate::wire::offload::Cwr;
use etherparse::{SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;

/// A SYN with these options, its checksum filled in.
fn syn(v6: bool, tags: usize, flags: u8, options: &[u8]) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let long = Long {
        v6,
        udp: false,
        tags: vec![[0x81, 0, 0, 7]; tags],
        ip_options: 2,
        tcp_options: options.len() / 4,
        identification: 1,
        sequence: 77,
        flags,
        payload: vec![],
        payload_bytes: 1,
        is_partial: true,
        cwr: Cwr::Unsaid,
    };
    let mut frame = long.frame();
    let start = frame.len() - options.len();
    frame[start..].copy_from_slice(options);
    crate::wire::checksum::complete(&mut frame, long.partial().unwrap()).unwrap();
    assert_checksums(&frame);
    frame
}

/// The MSS as read by another library.
fn mss(frame: &[u8]) -> Option<u16> {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap();
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
    tcp.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::MaximumSegmentSize(mss)) => Some(mss),
        _ => None,
    })
}

proptest! {
    #[test]
    fn the_mss_of_a_syn_is_lowered_and_never_raised(
        (v6, is_answer) in any::<(bool, bool)>(),
        tags in 0usize..=2,
        // Odd and even offsets: no-operations before the option.
        before in 0usize..4,
        (offered, most) in any::<(u16, u16)>(),
        padding in 0usize..10,
    ) {
        let options = [&[1].repeat(before), &[2, 4][..], &offered.to_be_bytes(), &[4, 2, 3, 3, 7, 0]].concat();
        let options = [&options[..], &[0].repeat((4 - options.len() % 4) % 4)].concat();
        let mut frame = syn(v6, tags, if is_answer { 0x12 } else { 0x02 }, &options);
        frame.resize(frame.len() + padding, 0);
        let before = frame.clone();
        prop_assert_eq!(clamp_mss(&mut frame, most), offered > most);
        prop_assert_eq!(mss(&frame), Some(offered.min(most)));
        assert_checksums(&frame);
        if offered <= most {
            prop_assert_eq!(&frame, &before);
        }
        prop_assert_eq!(frame.iter().zip(&before).filter(|(one, other)| one != other).count() <= 4, true);
        // A second call has nothing left to do.
        prop_assert!(!clamp_mss(&mut frame, most));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong(offered in 1461u16..=0xffff, error in 1u16..0xffff) {
        let [high, low] = offered.to_be_bytes();
        let mut right = syn(false, 0, 2, &[2, 4, high, low]);
        let at = right.len() - 24 + 16;
        let checksum = u16::from_be_bytes([right[at], right[at + 1]]);
        let mut wrong = right.clone();
        // Differs by less than 0xffff, and so not merely by the other representation of zero.
        write(&mut wrong, at, &finish_sum(checksum, error).to_be_bytes());
        prop_assert!(clamp_mss(&mut right, 1460) && clamp_mss(&mut wrong, 1460));
        prop_assert_ne!(right, wrong);
    }

    #[test]
    fn any_other_frame_is_left_as_it_is(frame in hostile(), most in any::<u16>()) {
        let mut clamped = frame.clone();
        if !clamp_mss(&mut clamped, most) {
            prop_assert_eq!(clamped, frame);
        } else {
            // Corrupted into a SYN with such an option: same length, two words changed.
            prop_assert_eq!(clamped.len(), frame.len());
        }
    }

    /// Any bytes as options: never reads beyond the header, never changes but lowers.
    #[test]
    fn any_options_are_walked(options in prop::collection::vec(prop_oneof![0u8..6, any::<u8>()], 40), v6 in any::<bool>(), most in any::<u16>()) {
        let mut frame = syn(v6, 0, 2, &options);
        let before = frame.clone();
        let offered = mss(&frame);
        let lowered = clamp_mss(&mut frame, most);
        assert_checksums(&frame);
        if let Some(offered) = offered {
            prop_assert_eq!(mss(&frame), Some(offered.min(most)));
            prop_assert!(lowered || offered <= most);
        }
        prop_assert_eq!(lowered, frame != before);
    }
}

fn finish_sum(checksum: u16, error: u16) -> u16 {
    let (sum, carry) = checksum.overflowing_add(error);
    sum + u16::from(carry)
}

#[test]
fn only_a_syn_is_changed() {
    let options = [2, 4, 0x05, 0xb4];
    for (flags, changes) in [(0x02, true), (0x12, true), (0xc2, true), (0x10, false), (0x18, false), (0x00, false)] {
        let mut frame = syn(false, 1, flags, &options);
        assert_eq!(clamp_mss(&mut frame, 1400), changes, "flags {flags:#x}");
        assert_eq!(mss(&frame), Some(if changes { 1400 } else { 1460 }));
    }
    for is_first in [false, true] {
        let mut fragment = syn(false, 0, 0x02, &options);
        // More fragments, or the second.
        fragment[if is_first { 20 } else { 21 }] = if is_first { 0x20 } else { 3 };
        assert_eq!(clamp_mss(&mut fragment, 1400), is_first);
    }
}

#[test]
fn malformed_options_are_left_alone() {
    for options in [
        // A wrong length.
        [2, 3, 0x05, 0xb4, 0, 0, 0, 0],
        [2, 6, 0x05, 0xb4, 1, 1, 0, 0],
        [2, 0, 0x05, 0xb4, 0, 0, 0, 0],
        [2, 1, 0x05, 0xb4, 0, 0, 0, 0],
        // After the end, after an option without length, after one that is longer than the header.
        [0, 1, 1, 1, 2, 4, 0x05, 0xb4],
        [9, 0, 1, 1, 2, 4, 0x05, 0xb4],
        [9, 200, 1, 1, 2, 4, 0x05, 0xb4],
        [9, 1, 2, 4, 0x05, 0xb4, 1, 1],
        // Truncated.
        [1, 1, 1, 1, 1, 2, 4, 0x05],
        [1, 1, 1, 1, 1, 1, 1, 2],
    ] {
        let mut frame = syn(true, 0, 2, &options);
        let before = frame.clone();
        assert!(!clamp_mss(&mut frame, 100), "{options:?}");
        assert_eq!(frame, before);
    }
    // What follows a frame's header is not an option, even if it looks like one.
    for options in [[1, 1, 1, 2], [1, 1, 2, 4], [1, 2, 4, 5]] {
        let mut frame = syn(false, 0, 2, &options);
        frame.extend([4, 0x05, 0xb4]);
        assert!(!clamp_mss(&mut frame, 100));
    }
    // A header that claims to be longer than the packet, without and with bytes after that.
    let mut frame = syn(false, 0, 2, &[2, 4, 0x05, 0xb4]);
    let at = frame.len() - 24 + 12;
    frame[at] = 0xf0;
    for padding in [0, 100] {
        frame.resize(frame.len() + padding, 1);
        assert!(!clamp_mss(&mut frame, 100));
    }
}

#[test]
fn authenticated_options_are_left_alone() {
    let with = |kind| {
        let mut frame = syn(false, 0, 2, &[2, 4, 0x05, 0xb4, kind, 16, 1, 1, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8]);
        clamp_mss(&mut frame, 1400)
    };
    assert!(!with(29));
    // The MD5 of RFC 2385 does not cover options.
    assert!(with(19));
}

#[test]
fn the_mss_is_what_fits() {
    assert_eq!(mss_that_fits(Version::V4, 1500, 0), Some(1460));
    assert_eq!(mss_that_fits(Version::V6, 1500, 0), Some(1440));
    assert_eq!(mss_that_fits(Version::V4, 1500, 57), Some(1403));
    assert_eq!(mss_that_fits(Version::V6, 1280, 57), Some(1163));
    assert_eq!(mss_that_fits(Version::V4, 40, 0), None);
    assert_eq!(mss_that_fits(Version::V4, 100, 200), None);
    assert_eq!(mss_that_fits(Version::V4, u32::MAX, 0), Some(u16::MAX));
}

#[test]
fn each_version_of_ip_has_its_own_mss() {
    for (v6, wanted) in [(false, 1400), (true, 1380)] {
        let mut frame = syn(v6, 1, 2, &[2, 4, 0x05, 0xb4]);
        assert!(clamp_mss_to(&mut frame, 1400, 1380));
        assert_eq!(mss(&frame), Some(wanted));
    }
    assert!(!clamp_mss_to(&mut [0; 60], 1, 1));
}
