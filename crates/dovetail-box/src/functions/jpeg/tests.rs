use super::{super::testing::*, *};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// A picture of gradients, which JPEG preserves well.
fn picture(side: usize) -> Vec<u8> {
    let brightness = (0..side * side).map(|at| (60 + (at % side + at / side) * 120 / (2 * side)) as u8);
    let half = side / 2;
    let colour =
        |offset: usize| (0..half * half).map(move |at| (offset + (at % half + 2 * (at / half)) * 20 / half) as u8);
    brightness.chain(colour(90)).chain(colour(130)).collect()
}

#[test]
fn a_decoder_sees_the_picture() {
    for (side, v6) in [(26, false), (34, true), (32, false), (64, true), (130, false)] {
        let raw = picture(side);
        assert_eq!(super::side(raw.len()), Some(side));
        let packet = Packet { v6, ..Packet::udp(&raw) };
        let mut frame = packet.frame();
        assert_eq!(Jpeg::new().process(&mut frame), Verdict::Forward);
        assert_sound(&frame);
        let sliced = etherparse::SlicedPacket::from_ethernet(&frame).expect("a packet");
        let Some(etherparse::TransportSlice::Udp(udp)) = &sliced.transport else { panic!("no UDP") };
        let header = udp.to_header();
        let sum = match &sliced.net {
            Some(etherparse::NetSlice::Ipv4(ip)) => header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload()),
            Some(etherparse::NetSlice::Ipv6(ip)) => header.calc_checksum_ipv6(&ip.header().to_header(), udp.payload()),
            _ => panic!("no IP"),
        };
        assert_eq!(sum.expect("it fits"), header.checksum);
        let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::YCbCr);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(udp.payload()), options);
        let pixels = decoder.decode().expect("a JPEG file");
        assert_eq!(decoder.dimensions(), Some((side, side)));
        let half = side / 2;
        let mut worst = [0; 3];
        for (at, pixel) in pixels.chunks(3).enumerate() {
            let (x, y) = (at % side, at / side);
            let colour = side * side + y / 2 * half + x / 2;
            for (part, from) in [at, colour, colour + half * half].into_iter().enumerate() {
                worst[part] = worst[part].max(pixel[part].abs_diff(raw[from]));
            }
        }
        assert!(worst.iter().all(|&off| off <= 12), "{side} pixels: off by {worst:?}");
    }
}

#[test]
fn a_picture_that_would_become_longer_passes_as_it_is() {
    for side in [2, 16] {
        let before = Packet::udp(&picture(side)).frame();
        let mut frame = before.clone();
        assert_eq!(Jpeg::new().process(&mut frame), Verdict::Forward);
        assert_eq!(frame, before);
    }
}

#[test]
fn what_is_no_picture_passes() {
    assert_eq!([1536, 6144, 13_824, 24_576, 64_896].map(side), [Some(32), Some(64), Some(96), Some(128), Some(208)]);
    assert_eq!([0, 1, 5, 7, 1535, 1537, 66_150, usize::MAX].map(side), [None; 8]);
    let before = Packet::udp(&[1; 1000]).frame();
    let mut frame = before.clone();
    assert_eq!(Jpeg::new().process(&mut frame), Verdict::Untouched);
    assert_eq!(frame, before);
    let mut first = Packet::udp(&picture(64)).frame();
    first[20] = 0x20;
    assert_eq!(Jpeg::new().process(&mut first), Verdict::Untouched, "a part of a picture");
    let tcp = Packet { tcp: true, ..Packet::udp(&picture(32)) };
    assert_eq!(Jpeg::new().process(&mut tcp.frame()), Verdict::Untouched);
}
