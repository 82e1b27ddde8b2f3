use etherparse::{Ipv4Options, PacketBuilder};
use proptest::prelude::*;

use super::*;

/// A UDP datagram with these options, written by another library.
fn v4(options: &[u8]) -> Vec<u8> {
    let mut padded = options.to_vec();
    padded.resize(options.len().next_multiple_of(4), END);
    let mut header =
        etherparse::Ipv4Header::new(8, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    header.options = Ipv4Options::try_from(padded.as_slice()).unwrap();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ip(etherparse::IpHeaders::Ipv4(header, Default::default()));
    let mut frame = Vec::new();
    builder.udp(7, 9).write(&mut frame, b"data").unwrap();
    frame
}

/// A UDP datagram behind these extension headers, whose lengths and next headers are filled in; `options` follow both bytes.
fn v6(headers: &[(u8, &[u8])]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, headers.first().map_or(17, |first| first.0), 64]);
    frame.extend([0x20; 32]);
    for (at, (_, options)) in headers.iter().enumerate() {
        let next = headers.get(at + 1).map_or(17, |next| next.0);
        let bytes = (2 + options.len()).next_multiple_of(8);
        frame.extend([next, (bytes / 8 - 1) as u8]);
        frame.extend(*options);
        frame.extend(vec![0; bytes - 2 - options.len()]);
    }
    frame.extend([0, 7, 0, 9, 0, 8, 0, 0]);
    let length = (frame.len() - 54) as u16;
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    frame
}

fn option(kind: u8, extra: usize, letters: &[u8]) -> Vec<u8> {
    [&[kind, (letters.len() + extra) as u8], letters].concat()
}

fn name_of(frame: &[u8]) -> Option<String> {
    named(frame, &Ip::find(frame).ok()?).map(|name| name.as_str().to_owned())
}

#[test]
fn packets_say_their_names() {
    let count = option(OPTION_V4, 2, b"count");
    assert_eq!(name_of(&v4(&count)).as_deref(), Some("count"));
    // After other options: a router alert, and a no-operation.
    let behind = [&[148, 4, 0, 0, NO_OPERATION], &*count].concat();
    assert_eq!(name_of(&v4(&behind)).as_deref(), Some("count"));
    assert_eq!(name_of(&v4(&[])), None);
    let count = option(OPTION_V6, 0, b"count");
    for kind in [HOP_BY_HOP, DESTINATION] {
        assert_eq!(name_of(&v6(&[(kind, &count)])).as_deref(), Some("count"), "{kind}");
    }
    // After a router alert and padding, in a second header.
    let alert = [5, 2, 0, 0];
    assert_eq!(name_of(&v6(&[(HOP_BY_HOP, &alert), (DESTINATION, &count)])).as_deref(), Some("count"));
    assert_eq!(name_of(&v6(&[(HOP_BY_HOP, &alert)])), None);
    assert_eq!(name_of(&v6(&[])), None);
}

#[test]
fn nothing_follows_the_end_and_anything_a_byte_of_padding() {
    let [of_v4, of_v6] = [option(OPTION_V4, 2, b"count"), option(OPTION_V6, 0, b"count")];
    // With the length that an option would have in its place.
    assert_eq!(name_of(&v4(&[&[END, 4, 0, 0], &*of_v4].concat())), None);
    assert_eq!(name_of(&v4(&[&[NO_OPERATION; 3], &*of_v4].concat())).as_deref(), Some("count"));
    for padding in 1..4 {
        let padded = [&vec![PAD1; padding][..], &of_v6].concat();
        assert_eq!(name_of(&v6(&[(DESTINATION, &padded)])).as_deref(), Some("count"));
    }
}

#[test]
fn what_is_no_name_is_none() {
    let long = [b'a'; MAX_NAME + 1];
    for letters in [&b""[..], b"a b", b"../x", &[0xff; 4], b"a\0", &long] {
        assert_eq!(name_of(&v4(&option(OPTION_V4, 2, letters))), None, "{letters:?}");
        assert_eq!(name_of(&v6(&[(HOP_BY_HOP, &option(OPTION_V6, 0, letters))])), None, "{letters:?}");
    }
    // Invalid lengths, and lengths that reach beyond the options.
    for length in [0, 1, 7, 200] {
        assert_eq!(name_of(&v4(&[OPTION_V4, length, b'a', b'b'])), None, "{length}");
    }
    assert_eq!(name_of(&v6(&[(HOP_BY_HOP, &[OPTION_V6, 200, b'a', b'b', 0, 0])])), None);
    // More options than are read.
    let mut many: Vec<u8> = [1, 0].repeat(MAX_OPTIONS);
    many.extend(option(OPTION_V6, 0, b"late"));
    assert_eq!(name_of(&v6(&[(HOP_BY_HOP, &many)])), None);
}

proptest! {
    #[test]
    fn no_options_whatever_do_harm(options in prop::collection::vec(any::<u8>(), 0..40), cut in 0..120usize) {
        for mut frame in [v4(&options), v6(&[(HOP_BY_HOP, &options)]), v6(&[(DESTINATION, &options)])] {
            let name = name_of(&frame);
            prop_assert!(name.is_none_or(|name| (1..=MAX_NAME).contains(&name.len())));
            frame.truncate(cut);
            let _ = name_of(&frame);
        }
    }

    #[test]
    fn no_packet_whatever_does_harm(kind in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut frame = v6(&[]);
        frame[20] = kind;
        frame.truncate(54);
        frame.extend(&body);
        let length = body.len() as u16;
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        let _ = name_of(&frame);
    }
}
