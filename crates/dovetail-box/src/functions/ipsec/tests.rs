use super::{super::testing::*, *};
use etherparse::SlicedPacket;
use proptest::prelude::*;
use ring::aead::BoundKey;

fn association(keys: Keys) -> Association {
    Association { keys, spi: 0x1234, source: [192, 0, 2, 1], destination: [192, 0, 2, 2] }
}

fn ends(keys: Keys) -> (Ipsec, Association) {
    let numbers = Arc::new(Numbers::new(1, Numbers::END));
    (Ipsec::new(association(keys), numbers), association(keys))
}

/// The other end: finds ESP with another parser, authenticates and decrypts it, removes the padding.
fn open(frame: &[u8], association: &Association) -> (u32, u8, Vec<u8>) {
    let sliced = SlicedPacket::from_ethernet(frame).expect("a packet");
    let Some(etherparse::NetSlice::Ipv4(outer)) = &sliced.net else { panic!("no IPv4 outside") };
    let header = outer.header().to_header();
    assert_eq!((header.source, header.destination), (association.source, association.destination));
    assert_eq!(header.protocol.0, 50);
    let esp = outer.payload().payload;
    assert_eq!(esp[..4], association.spi.to_be_bytes());
    let (key, cipher, salt) = match &association.keys {
        Keys::Short(bytes) => (&bytes[..16], &AES_128_GCM, &bytes[16..]),
        Keys::Long(bytes) => (&bytes[..32], &AES_256_GCM, &bytes[32..]),
    };
    let nonce: [u8; 12] = [salt, &esp[8..16]].concat().try_into().unwrap();
    struct Once(Option<[u8; 12]>);
    impl ring::aead::NonceSequence for Once {
        fn advance(&mut self) -> Result<Nonce, ring::error::Unspecified> {
            self.0.take().map(Nonce::assume_unique_for_key).ok_or(ring::error::Unspecified)
        }
    }
    let key = UnboundKey::new(cipher, key).unwrap();
    let mut text = esp[16..].to_vec();
    let mut key = ring::aead::OpeningKey::new(key, Once(Some(nonce)));
    let text = key.open_in_place(Aad::from(&esp[..8]), &mut text).expect("it is genuine");
    let [inner @ .., padding, next] = text else { panic!("no trailer") };
    let (inner, pad) = inner.split_at(inner.len() - usize::from(*padding));
    assert_eq!(pad, &[1, 2, 3][..pad.len()]);
    assert_eq!(esp.len() % 4, 0);
    (u32::from_be_bytes(esp[4..8].try_into().unwrap()), *next, inner.to_vec())
}

proptest! {
    #[test]
    fn the_other_end_gets_the_packet_back(
        packets in prop::collection::vec(packet(), 1..10),
        padding in 0usize..20,
        keys in prop_oneof![any::<[u8; 20]>().prop_map(Keys::Short), any::<[[u8; 18]; 2]>().prop_map(long)],
    ) {
        let (mut ipsec, association) = ends(keys);
        let mut ivs = std::collections::HashSet::new();
        for (number, packet) in packets.iter().enumerate() {
            let at = if packet.vlan { 18 } else { 14 };
            let sent = packet.frame();
            let mut frame = sent.clone();
            frame.resize(sent.len() + padding, 0);
            prop_assert_eq!(ipsec.process(&mut frame), Verdict::Forward);
            assert_sound(&frame);
            let (sequence, next, inner) = open(&frame, &association);
            prop_assert_eq!(sequence, number as u32 + 1);
            prop_assert_eq!(next, if packet.v6 { 41 } else { 4 });
            prop_assert_eq!(&inner, &sent[at..]);
            prop_assert!(ivs.insert(frame[at + 28..at + 36].to_vec()), "an IV came again");
            prop_assert!(!frame.windows(32).any(|bytes| sent[at..].windows(32).any(|plain| plain == bytes)));
        }
    }
}

fn long(halves: [[u8; 18]; 2]) -> Keys {
    Keys::Long(halves.concat().try_into().unwrap())
}

/// Second test case of D. McGrew, *Test cases for the use of GCM and GMAC in IPsec ESP*, 2009: AES-128 and 32-bit
/// sequence numbers. It names 1 as the next header.
#[test]
fn known_answer() {
    let keys = Keys::parse("feffe9928665731c6d6a8f9467308308cafebabe").unwrap();
    let numbers = Arc::new(Numbers::new(1, Numbers::END));
    let ipsec = Ipsec::new(Association { spi: 0xa5f8, ..association(keys) }, numbers);
    let inner = hex("4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d00100
                     0001000000000000037369700963796265726369747902646b0000010001");
    let mut frame = [&[0; 14][..], &inner].concat();
    let end = frame.len();
    ipsec.seal(&mut frame, 14, end, 1, 10, 0xface_dbad_deca_f888);
    let want = hex("0000a5f80000000afacedbaddecaf888
                    deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c
                    3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd1
                    83b70d3aa8bc6ee4c309e9d85a41ad4a");
    assert_eq!(frame[14 + IPV4..], want);
}

#[test]
fn a_used_up_key_and_a_packet_too_long_are_refused() {
    let numbers = Arc::new(Numbers::new(u64::from(u32::MAX), u64::MAX));
    let mut ipsec = Ipsec::new(association(Keys::Short([7; 20])), numbers);
    let mut frame = Packet::udp(b"last").frame();
    assert_eq!(ipsec.process(&mut frame), Verdict::Forward);
    let before = Packet::udp(b"one more").frame();
    let mut frame = before.clone();
    assert_eq!(ipsec.process(&mut frame), Verdict::Drop(Reason::KeyUsedUp));
    assert_eq!(frame, before);
    let (mut ipsec, _) = ends(Keys::Short([7; 20]));
    // 20 + 8 bytes of inner headers, 20 + 16 + 2 + 16 of outer ones: 65,532 is the largest multiple of four that fits.
    assert_eq!(ipsec.process(&mut Packet::udp(&vec![0; 65_450]).frame()), Verdict::Forward);
    assert_eq!(ipsec.process(&mut Packet::udp(&vec![0; 65_454]).frame()), Verdict::Drop(Reason::TooLong));
}

#[test]
fn numbers_are_taken_once_and_as_far_as_they_are_permitted() {
    let numbers = Arc::new(Numbers::new(0, 3));
    let mut ends = [(); 2].map(|()| Ipsec::new(association(Keys::Short([7; 20])), numbers.clone()));
    let mut next = |end: usize| {
        let mut frame = Packet::udp(b"one").frame();
        match ends[end].process(&mut frame) {
            Verdict::Forward => Ok(open(&frame, &association(Keys::Short([7; 20]))).0),
            verdict => Err(verdict),
        }
    };
    assert_eq!([next(0), next(1)], [Ok(1), Ok(2)]);
    assert_eq!(next(0), Err(Verdict::Drop(Reason::KeyUsedUp)));
    numbers.permit(5);
    assert_eq!([next(0), next(0)], [Ok(3), Ok(4)]);
    assert_eq!((next(1), numbers.next()), (Err(Verdict::Drop(Reason::KeyUsedUp)), 5));
}

#[test]
fn keys_are_read_and_not_shown() {
    let short = "000102030405060708090a0b0c0d0e0f10111213";
    let long = short.repeat(2)[..72].to_owned();
    assert!(Keys::parse(short) == Keys::parse(&format!("0x{}", short.to_uppercase())));
    assert!(matches!(Keys::parse(short), Some(Keys::Short([0, 1, .., 0x12, 0x13]))));
    assert!(matches!(Keys::parse(&long), Some(Keys::Long([0, 1, .., 0x0f]))));
    for wrong in
        ["", "0x", "00", &short[1..], &long[..64], &format!("{long}00"), &short.replace('0', "g"), &"é".repeat(20)]
    {
        assert_eq!(Keys::parse(wrong), None, "{wrong}");
    }
    let keys = Keys::parse(short).unwrap();
    assert_ne!(keys.fingerprint(), Keys::parse(&long).unwrap().fingerprint());
    assert_eq!(format!("{keys:?}"), "…");
}
