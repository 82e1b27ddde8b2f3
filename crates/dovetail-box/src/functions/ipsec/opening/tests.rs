use std::sync::Arc;

use super::{
    super::{
        super::testing::*,
        super::{NetworkFunction, Verdict, frame::write_checksum},
        Ipsec, Keys, Numbers,
    },
    *,
};
use etherparse::{LaxSlicedPacket, PacketBuilder};
use proptest::prelude::*;

const SPI: u32 = 0x2000;
const THERE: [u8; 4] = [198, 51, 100, 1];
const HERE: [u8; 4] = [192, 0, 2, 1];

fn association(keys: Keys) -> Association {
    Association { keys, spi: SPI, source: THERE, destination: HERE }
}

fn prefixes(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn opening(keys: Keys) -> Opening {
    Opening::new(association(keys), &prefixes(&["10.0.0.0/8", "2001:db8::/32"]))
}

/// Opens a frame the way the box does.
fn open(opening: &mut Opening, frame: &[u8]) -> Result<Vec<u8>, Refused> {
    let (address, ip) = Address::of(frame).expect("an ESP packet");
    assert_eq!(address, opening.address());
    let mut frame = frame.to_vec();
    let (at, capacity) = (frame.as_ptr(), frame.capacity());
    let outcome = opening.open(&mut frame, &ip);
    assert_eq!((frame.as_ptr(), frame.capacity()), (at, capacity), "nothing is allocated");
    outcome.map(|inner| {
        assert_eq!(Ip::find(&frame), Ok(inner));
        frame
    })
}

/// A packet of the other end: sealed by one library, headers by another, with this plaintext.
fn sealed(keys: Keys, sequence: u32, class: u8, text: &[u8]) -> Vec<u8> {
    let mut esp = [SPI.to_be_bytes(), sequence.to_be_bytes()].concat();
    let iv = u64::from(sequence).to_be_bytes();
    let nonce: [u8; 12] = [&keys.salt()[..], &iv].concat().try_into().unwrap();
    let mut text = text.to_vec();
    let aad = Aad::from(esp.clone());
    keys.cipher().seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text).unwrap();
    esp.extend(iv);
    esp.extend(text);
    let mut header = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber(50), THERE, HERE).unwrap();
    (header.dscp, header.ecn) = ((class >> 2).try_into().unwrap(), (class & 3).try_into().unwrap());
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let builder = builder.ip(etherparse::IpHeaders::Ipv4(header, Default::default()));
    builder.write(&mut frame, etherparse::IpNumber(50), &esp).unwrap();
    frame
}

/// A packet with its padding and next header.
fn text(packet: &[u8], next: u8) -> Vec<u8> {
    let padding = (4 - (packet.len() + 2) % 4) % 4;
    [packet, &[1, 2, 3][..padding], &[padding as u8, next]].concat()
}

fn keys() -> Keys {
    Keys::Short([9; 20])
}

fn inner(class: u8) -> Vec<u8> {
    let mut packet = Packet::udp(b"hello").frame()[14..].to_vec();
    packet[1] = class;
    packet[10..12].fill(0);
    let checksum = finish(sum(&packet[..20], 0));
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

proptest! {
    /// Whatever was encrypted is restored with the tag that it had, in any order within the window, and once only.
    #[test]
    fn what_was_encrypted_comes_back_once(
        packets in prop::collection::vec(packet(), 1..10).prop_shuffle(),
        long: bool,
    ) {
        let keys = if long { Keys::Long([3; 36]) } else { keys() };
        let mut ipsec = Ipsec::new(association(keys), Arc::new(Numbers::new(1, Numbers::END)));
        let mut opening = opening(keys);
        let mut sent: Vec<_> = packets.iter().map(|packet| {
            let mut frame = packet.frame();
            assert_eq!(ipsec.process(&mut frame), Verdict::Forward);
            (packet.frame(), frame)
        }).collect();
        sent.reverse();
        for (plain, frame) in &sent {
            let got = open(&mut opening, frame);
            prop_assert_eq!(got.as_ref(), Ok(plain));
            assert_sound(&got.unwrap());
        }
        for (_, frame) in &sent {
            prop_assert_eq!(open(&mut opening, frame), Err(Refused::Replay));
        }
    }

    /// A change anywhere after the outer header is detected and does not move the window.
    #[test]
    fn what_was_changed_is_refused(at in any::<prop::sample::Index>(), with in 1u8.., cut in 0usize..200) {
        let mut opening = opening(keys());
        let frame = sealed(keys(), 7, 0, &text(&inner(0), protocol::IPV4));
        let mut changed = frame.clone();
        // From the sequence number on: another SPI is another tunnel's.
        let at = 38 + at.index(frame.len() - 38);
        changed[at] ^= with;
        let wanted = if u32::from_be_bytes(changed[38..42].try_into().unwrap()) == 0 {
            Refused::Replay
        } else {
            Refused::Authentication
        };
        prop_assert_eq!(open(&mut opening, &changed), Err(wanted));
        let mut shorter = frame.clone();
        shorter.truncate(frame.len() - cut.min(frame.len() - 38));
        let length = (shorter.len() - 14) as u16;
        shorter[16..18].copy_from_slice(&length.to_be_bytes());
        shorter[24..26].fill(0);
        let checksum = finish(sum(&shorter[14..34], 0));
        shorter[24..26].copy_from_slice(&checksum.to_be_bytes());
        let whole = shorter.len() == frame.len();
        prop_assert_eq!(open(&mut opening, &shorter).is_ok(), whole);
        prop_assert_eq!(open(&mut opening, &frame).is_ok(), !whole, "the number was not used up");
    }

    /// Genuine or not, no input panics, and only packets from within the prefixes pass.
    #[test]
    fn any_text_is_refused_or_a_packet(
        words in prop::collection::vec(any::<[u8; 4]>(), 1..60),
        head in prop::option::of((0usize..28, any::<u8>())),
        next in prop_oneof![Just(4u8), Just(41), any::<u8>()],
        padding in prop_oneof![3 => Just(0u8), 1 => any::<u8>()],
        class: u8,
    ) {
        let mut text = words.concat();
        if let Some((at, byte)) = head {
            let like = inner(0);
            let length = like.len().min(text.len());
            text[..length].copy_from_slice(&like[..length]);
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
        }
        let length = text.len();
        text[length - 2..].copy_from_slice(&[padding, next]);
        let frame = sealed(keys(), 1, class, &text);
        if let Ok(got) = open(&mut opening(keys()), &frame) {
            prop_assert!(LaxSlicedPacket::from_ethernet(&got).unwrap().net.is_some());
            prop_assert!(got[14] >> 4 == 6 || got[26] == 10);
        }
    }
}

#[test]
fn each_reason_to_refuse() {
    let good = text(&inner(0), protocol::IPV4);
    let outcome = |class, text: &[u8]| open(&mut opening(keys()), &sealed(keys(), 1, class, text)).map(|_| ());
    assert_eq!(outcome(0, &good), Ok(()));
    let mut bad_padding = good.clone();
    let length = bad_padding.len();
    // The packet has 33 bytes, so there is one byte of padding.
    assert_eq!(bad_padding[length - 3..], [1, 1, 4]);
    bad_padding[length - 3] = 7;
    assert_eq!(outcome(0, &bad_padding), Err(Refused::Malformed));
    let mut too_much = good.clone();
    too_much[length - 2] = 255;
    assert_eq!(outcome(0, &too_much), Err(Refused::Malformed));
    assert_eq!(outcome(0, &text(&inner(0), protocol::IPV6)), Err(Refused::Malformed), "the other IP");
    assert_eq!(outcome(0, &text(&inner(0), 6)), Err(Refused::Malformed), "transport mode");
    assert_eq!(outcome(0, &text(b"anything", NEXT_NONE)), Err(Refused::Dummy));
    let odd = [&inner(0)[..], &[1, 2, 2, protocol::IPV4]].concat();
    assert_eq!(outcome(0, &odd), Err(Refused::Malformed), "not a multiple of four bytes");
    assert_eq!(outcome(0, &[0, 0, 0, 4]), Err(Refused::Malformed), "nothing within");
    let mut damaged = inner(0);
    damaged[8] ^= 1;
    assert_eq!(outcome(0, &text(&damaged, protocol::IPV4)), Err(Refused::Malformed), "its checksum is wrong");
    let other = Packet { v6: true, ..Packet::udp(b"six") }.frame();
    let elsewhere = Opening::new(association(keys()), &prefixes(&["2001:db9::/32", "10.2.0.0/16"]));
    for packet in [&text(&inner(0), protocol::IPV4), &text(&other[14..], protocol::IPV6)] {
        let mut end = Opening::new(elsewhere.association, &elsewhere.prefixes);
        assert_eq!(open(&mut end, &sealed(keys(), 1, 0, packet)), Err(Refused::NotAllowed));
    }
    assert_eq!(outcome(3, &good), Err(Refused::Congestion));
    // Bytes after the packet conceal its length.
    let hidden = text(&[&inner(0)[..], &[0; 100]].concat(), protocol::IPV4);
    let got = open(&mut opening(keys()), &sealed(keys(), 1, 0, &hidden)).unwrap();
    assert_eq!(got[14..], inner(0));
    // The outer header's congestion mark is passed on.
    let got = open(&mut opening(keys()), &sealed(keys(), 1, 3, &text(&inner(2), protocol::IPV4))).unwrap();
    assert_eq!(got[14..], inner(3));
}

#[test]
fn outer_headers_must_be_whole_and_sound() {
    let frame = sealed(keys(), 1, 0, &text(&inner(0), protocol::IPV4));
    let mut damaged = frame.clone();
    damaged[22] ^= 1;
    assert_eq!(open(&mut opening(keys()), &damaged), Err(Refused::Malformed));
    let mut first = frame.clone();
    first[20] = 0x20;
    let header = Ip::find(&first).unwrap();
    write_checksum(&mut first, &header);
    assert_eq!(open(&mut opening(keys()), &first), Err(Refused::Malformed), "a first fragment");
    let mut later = frame.clone();
    later[21] = 9;
    assert_eq!(Address::of(&later), None, "whose tunnel it is of does not show");
    for short in [14 + 20 + 3, 14 + 19, 0] {
        assert_eq!(Address::of(&frame[..short]), None);
    }
    let mut udp = frame;
    udp[23] = 17;
    assert_eq!(Address::of(&udp), None);
}

/// Packets generated by Scapy 2.8.0 (`SecurityAssociation.encrypt` with AES-GCM), of 128 and of 256 bits.
#[test]
fn what_another_implementation_made() {
    let v4 = (
        Keys::parse("000102030405060708090a0b0c0d0e0fcafebabe").unwrap(),
        "450000640000400040324e32c6336401c0000201000020000000000511223344556677884c11949fe4ce6c795fba20b32d65111bf8533f2c
         b22e44333735cc089469f931ffc6df18f32d174dd78dd0470302c19d766379316624ca007d92535779fbfbdf",
        "4500002c004d00003c116a580a0800050a09000700350fa00018dea5616e737765722066726f6d2061666172",
    );
    let v6 = (
        Keys::parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fcafebabe").unwrap(),
        "4500006c0000400040324e2ac6336401c0000201000020000000000600000000000000063c54b61cc399f728ad87778a95a4c41f143ada5a
         7d5ca30a26d5cffe35cf8cd1fbdad23e23ef47dd2cf479852c2f7ce84df4bfc7cfc1dd0c1cabab3c35b9f459f47fa20000f7b73b",
        "60000000000b113c20010db800080000000000000000000520010db800090000000000000000000700350fa0000ba90a736978",
    );
    for (keys, made, within) in [v4, v6] {
        let frame = [&[2; 12][..], &[8, 0], &hex(made)].concat();
        let got = open(&mut opening(keys), &frame).unwrap();
        assert_eq!(got[14..], hex(within));
    }
}
