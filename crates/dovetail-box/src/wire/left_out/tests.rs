use super::{
    super::{checksum::complete, testing::*},
    *,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_a_host_left_out_is_found(long in long()) {
        let long = Long { is_partial: true, ..long };
        prop_assert_eq!(left_out(&long.frame()), long.partial());
    }

    /// Whatever is taken for missing: a correct checksum does not change.
    #[test]
    fn a_checksum_that_is_right_stays(long in long()) {
        let long = Long { is_partial: true, ..long };
        let mut frame = long.frame();
        complete(&mut frame, long.partial().unwrap()).unwrap();
        let before = frame.clone();
        if let Some(partial) = left_out(&frame) {
            complete(&mut frame, partial).unwrap();
        }
        prop_assert_eq!(frame, before);
    }

    #[test]
    fn nonsense_has_none_that_lies_outside(frame in hostile()) {
        if let Some(partial) = left_out(&frame) {
            prop_assert!(partial.lies_within(frame.len()));
        }
    }
}

/// A datagram whose correct checksum has the value that indicates a missing one.
#[test]
fn one_that_is_right_by_chance_stays() {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 30, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x11, 0x94, 0x11, 0x94, 0, 10, 0, 0, 0, 0]);
    let pseudo = naive_sum(&[&frame[26..34], &[0, 17, 0, 10]].concat());
    // The payload is chosen so that everything sums to the complement of that.
    let rest = naive_sum(&[&frame[34..44], &pseudo.to_be_bytes()].concat());
    let payload = naive_sum(&[(!pseudo).to_be_bytes(), (!rest).to_be_bytes()].concat());
    frame[42..44].copy_from_slice(&payload.to_be_bytes());
    frame[40..42].copy_from_slice(&pseudo.to_be_bytes());
    let before = frame.clone();
    let partial = left_out(&frame).unwrap();
    complete(&mut frame, partial).unwrap();
    assert_eq!(frame, before);
}

#[test]
fn a_padded_packet_and_a_fragment_have_their_checksums() {
    let long = long_datagram(false);
    assert_eq!(left_out(&long.frame()), long.partial());
    assert_eq!(left_out(&[long.frame(), vec![0]].concat()), None);
    let mut first = long.frame();
    first[20] = 0x20;
    assert_eq!(left_out(&first), None);
}

/// The pseudo-header contains the last address of a routing header that is not used up (RFC 8200, 8.1; RFC 8754, 2).
#[test]
fn a_sum_for_the_last_of_several_addresses_is_found() {
    const LAST: [u8; 16] = [0x20, 1, 0xd, 0xb8, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 9];
    let plain = Long { udp: false, ..long_datagram(true) };
    for (kind, left, addresses) in [(0, 2, [[1; 16], LAST]), (2, 1, [[1; 16], LAST]), (4, 1, [LAST, [1; 16]])] {
        let mut to_last = plain.frame();
        to_last[38..54].copy_from_slice(&LAST);
        let sum = naive_sum(&[&to_last[22..54], &[0, 6], &((to_last.len() - 54) as u16).to_be_bytes()].concat());
        let mut frame = plain.frame();
        frame[70..72].copy_from_slice(&sum.to_be_bytes());
        let bytes = u16::from_be_bytes([frame[18], frame[19]]) + 40;
        frame[18..20].copy_from_slice(&bytes.to_be_bytes());
        frame[20] = 43;
        frame.splice(54..54, [&[6, 4, kind, left, 0, 0, 0, 0][..], &addresses.concat()].concat());
        let partial = Partial { start: 94, offset: 16 };
        assert_eq!(left_out(&frame), Some(partial), "type {kind}");
        // At its last destination, or of a type whose addresses are not known, the header has none to say.
        frame[57] = 0;
        assert_eq!(left_out(&frame), None, "type {kind}");
        (frame[56], frame[57]) = (3, left);
        assert_eq!(left_out(&frame), None);
    }
}
