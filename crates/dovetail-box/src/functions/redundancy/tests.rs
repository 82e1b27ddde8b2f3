use super::{super::testing::*, *};
use proptest::prelude::*;

const KEY: [u8; 16] = [5; 16];

/// Payloads of repeated pieces, at any offset, and of others.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        (0usize..3000, 40usize..700).prop_map(|(from, length)| corpus()[from..from + length].to_vec()),
        prop::collection::vec(any::<u8>(), 0..300),
        (any::<u8>(), 0usize..600).prop_map(|(byte, times)| vec![byte; times]),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn corpus() -> Vec<u8> {
    let mut corpus = vec![0; 4000];
    SplitMix64::seed_from_u64(9).fill_bytes(&mut corpus);
    corpus
}

proptest! {
    #[test]
    fn the_other_end_restores_every_byte(
        packets in prop::collection::vec((payload(), any::<[bool; 3]>(), any::<u8>()), 1..40),
        // Small stores evict chunks that packets still refer to.
        chunks in prop_oneof![Just(2usize), Just(16), Just(1024)],
    ) {
        let (mut here, mut there) = (Redundancy::new(chunks, KEY), Restoration::new(chunks, KEY));
        for (payload, [v6, vlan, tcp], flow) in packets {
            let sent = Packet { v6, vlan, tcp, flow, hops: 9, payload }.frame();
            let mut frame = sent.clone();
            prop_assert_eq!(here.process(&mut frame), Verdict::Forward);
            prop_assert!(frame.len() <= sent.len());
            assert_sound(&frame);
            prop_assert_eq!(there.process(&mut frame), Verdict::Forward);
            prop_assert_eq!(&frame, &sent);
        }
    }

    #[test]
    fn chunks_cover_the_content_and_keep_their_bounds(content in payload()) {
        let mut chunks = Vec::new();
        cut(&content, &mut chunks);
        let mut at = 0;
        for chunk in &chunks {
            prop_assert_eq!(chunk.start, at);
            prop_assert!(chunk.len() <= super::super::chunks::MAX_BYTES);
            prop_assert!(chunk.len() >= super::super::chunks::MIN_BYTES || chunk.end == content.len());
            at = chunk.end;
        }
        prop_assert_eq!(at, content.len());
    }
}

#[test]
fn what_comes_again_is_not_sent_again_also_at_another_offset() {
    let mut here = Redundancy::new(1024, KEY);
    let corpus = corpus();
    let mut length = |payload: &[u8]| {
        let mut frame = Packet::udp(payload).frame();
        assert_eq!(here.process(&mut frame), Verdict::Forward);
        frame.len()
    };
    assert_eq!(length(&corpus[..1200]), 1242, "all new");
    let again = length(&corpus[..1200]);
    assert!(again < 400, "{again} bytes of 1,242 that were sent before");
    let shifted = length(&[b"13 more bytes", &corpus[..1200]].concat());
    assert!(shifted < 600, "{shifted} bytes of 1,255, all but a few sent before");
}

#[test]
fn what_only_looks_encoded_comes_through_as_it_was() {
    let (mut here, mut there) = (Redundancy::new(64, KEY), Restoration::new(64, KEY));
    let mut sent = Packet::udp(&[0x80; 50]).frame();
    sent[23] = protocol::EXPERIMENT;
    let ip = Ip::find(&sent).expect("a packet");
    write_length(&mut sent, &ip);
    let mut frame = sent.clone();
    assert_eq!(here.process(&mut frame), Verdict::Forward);
    assert_eq!(there.process(&mut frame), Verdict::Forward);
    assert_eq!(frame, sent);
}

#[test]
fn a_lost_packet_costs_packets_but_never_delivers_wrong_bytes() {
    let (mut here, mut there) = (Redundancy::new(64, KEY), Restoration::new(64, KEY));
    let corpus = corpus();
    let mut dropped = 0;
    for number in 0..200usize {
        let from = number * 97 % 2500;
        let sent = Packet::udp(&corpus[from..from + 1000]).frame();
        let mut frame = sent.clone();
        here.process(&mut frame);
        if number == 3 {
            continue;
        }
        match there.process(&mut frame) {
            Verdict::Forward => assert_eq!(frame, sent),
            verdict => {
                assert_eq!(verdict, Verdict::Drop(Reason::Malformed));
                dropped += 1;
            }
        }
    }
    assert!(dropped > 0, "the loss went unnoticed");
}

/// The length field of IPv6 does not count the header.
#[test]
fn the_longest_packets_of_either_version_are_encoded() {
    for (v6, longest) in [(false, 65_535 - 20), (true, 65_535)] {
        for (spare, verdict) in [(11, Verdict::Drop(Reason::TooLong)), (12, Verdict::Forward)] {
            let (mut here, mut there) = (Redundancy::new(64, KEY), Restoration::new(64, KEY));
            let mut noise = vec![0; longest - spare - 8];
            SplitMix64::seed_from_u64(3).fill_bytes(&mut noise);
            let mut sent = Packet { v6, ..Packet::udp(&noise) }.frame();
            let ip = Ip::find(&sent).expect("a packet");
            write(&mut sent, ip.protocol_at(), &[protocol::EXPERIMENT]);
            write_length(&mut sent, &ip);
            let mut frame = sent.clone();
            assert_eq!(here.process(&mut frame), verdict, "IPv6: {v6}, {spare} B spare");
            if verdict == Verdict::Forward {
                assert_eq!(frame.len(), sent.len() + GROWTH as usize);
                assert_eq!(there.process(&mut frame), Verdict::Forward);
            }
            assert_eq!(frame, sent);
        }
    }
}

#[test]
fn a_packet_whose_bytes_were_changed_on_the_way_is_dropped() {
    let (mut here, mut there) = (Redundancy::new(1024, KEY), Restoration::new(1024, KEY));
    let corpus = corpus();
    let mut encoded = Vec::new();
    for payload in [&corpus[..1200], &[b"13 more bytes", &corpus[..1200]].concat()] {
        encoded = Packet::udp(payload).frame();
        assert_eq!(here.process(&mut encoded), Verdict::Forward);
        if encoded[23] != protocol::EXPERIMENT {
            assert_eq!(there.process(&mut encoded), Verdict::Forward);
        }
    }
    assert_eq!(encoded[23], protocol::EXPERIMENT);
    // Behind the header and the length of the first part: a port of UDP, and then the new bytes.
    for at in [34 + SHIM + LITERAL, 34 + SHIM + LITERAL + 8] {
        let mut changed = encoded.clone();
        changed[at] ^= 1;
        assert_eq!(there.process(&mut changed), Verdict::Drop(Reason::Malformed));
    }
    assert_eq!(there.process(&mut encoded), Verdict::Forward);
}
