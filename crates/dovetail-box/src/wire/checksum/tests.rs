use super::{super::testing::*, *};
use crate::wire::offload::Cwr;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_partial_checksum_becomes_a_whole_one(long in long()) {
        let long = Long { is_partial: true, ..long };
        let before = long.frame();
        let mut frame = before.clone();
        let partial = long.partial().unwrap();
        complete(&mut frame, partial).unwrap();
        assert_checksums(&frame);
        frame[partial.at()..partial.at() + 2].copy_from_slice(&before[partial.at()..partial.at() + 2]);
        prop_assert_eq!(frame, before, "nothing else has changed");
    }

    /// For any start and offset: sums all bytes from there on, word by word, and writes nothing outside of the frame.
    #[test]
    fn sums_are_those_of_the_definition(frame in hostile(), start in 0u16..150, offset in 0u16..150) {
        let partial = Partial { start, offset };
        let mut completed = frame.clone();
        let at = partial.at();
        match complete(&mut completed, partial) {
            Err(refused) => {
                prop_assert_eq!(refused, Refused::Checksum);
                prop_assert!(at + 2 > frame.len());
                prop_assert_eq!(completed, frame);
            }
            Ok(()) => {
                let expected = !naive_sum(&frame[usize::from(start)..]);
                let got = u16::from_be_bytes([completed[at], completed[at + 1]]);
                prop_assert_eq!(got, if expected == 0 { 0xffff } else { expected });
                completed[at..at + 2].copy_from_slice(&frame[at..at + 2]);
                prop_assert_eq!(completed, frame);
            }
        }
    }
}

#[test]
fn zero_is_written_as_all_ones() {
    let mut frame = vec![0; 60];
    frame[40..42].copy_from_slice(&[0xff, 0xff]);
    complete(&mut frame, Partial { start: 34, offset: 6 }).unwrap();
    assert_eq!(frame[40..42], [0xff, 0xff]);
}

#[test]
fn a_checksum_outside_of_the_frame_is_refused() {
    let mut frame = vec![1; 50];
    for (start, offset) in [(34, 15), (49, 0), (50, 0), (60, 0), (0, 49), (u16::MAX, u16::MAX)] {
        assert_eq!(complete(&mut frame, Partial { start, offset }), Err(Refused::Checksum));
    }
    assert_eq!(frame, [1; 50]);
    assert_eq!(complete(&mut frame, Partial { start: 34, offset: 14 }), Ok(()));
}

#[test]
fn crcs_are_those_of_rfc_3720() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    assert_eq!(crc32c(&[0; 32]).to_le_bytes(), [0xaa, 0x36, 0x91, 0x8a]);
    assert_eq!(crc32c(&[0xff; 32]).to_le_bytes(), [0x43, 0xab, 0xa8, 0x62]);
    assert_eq!(crc32c(&ascending).to_le_bytes(), [0x4e, 0x79, 0xdd, 0x46]);
    assert_eq!(crc32c(&descending).to_le_bytes(), [0x5c, 0xdb, 0x3f, 0x11]);
}

#[test]
fn sctp_gets_its_crc_and_tcp_does_not() {
    let long = Long {
        v6: false,
        udp: false,
        tags: vec![],
        ip_options: 0,
        tcp_options: 0,
        identification: 1,
        sequence: 0,
        flags: 0,
        payload: vec![3; 100],
        payload_bytes: 100,
        is_partial: true,
        cwr: Cwr::Unsaid,
    };
    let mut tcp = long.frame();
    complete(&mut tcp, Partial { start: 34, offset: 8 }).unwrap();
    assert_eq!(tcp[44..], long.frame()[44..], "two bytes, whatever the offset");
    let mut sctp = long.frame();
    sctp[23] = 132;
    sctp[42..46].copy_from_slice(&[9; 4]);
    complete(&mut sctp, Partial { start: 34, offset: 8 }).unwrap();
    let got: [u8; 4] = sctp[42..46].try_into().unwrap();
    sctp[42..46].fill(0);
    assert_eq!(got, crc32c(&sctp[34..]).to_le_bytes());
    let mut padded = [&sctp[..], &[0; 9]].concat();
    complete(&mut padded, Partial { start: 34, offset: 8 }).unwrap();
    assert_eq!(padded[42..46], got);
    // Truncated in the middle of its checksum.
    let mut cut = vec![0; 44];
    cut[12..34].copy_from_slice(&sctp[12..34]);
    cut[16..18].copy_from_slice(&[0, 30]);
    let before = cut.clone();
    assert_eq!(complete(&mut cut, Partial { start: 34, offset: 8 }), Err(Refused::Checksum));
    assert_eq!(cut, before);
}
