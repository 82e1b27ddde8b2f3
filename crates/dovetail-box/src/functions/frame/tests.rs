use super::{super::testing::*, *};
use etherparse::SlicedPacket;
use proptest::prelude::*;

proptest! {
    /// Against a library's parser: the same headers, the same payload offset.
    #[test]
    fn headers_are_where_they_are(packet in packet(), padding in 0usize..20) {
        let mut frame = packet.frame();
        let length = frame.len();
        frame.resize(length + padding, 0);
        let ip = Ip::find(&frame).expect("a packet");
        prop_assert_eq!(ip.end, length, "padding is not part of the packet");
        let sliced = SlicedPacket::from_ethernet(&frame).expect("a packet");
        let payload = sliced.ip_payload().expect("a payload").payload;
        prop_assert_eq!(&frame[ip.body..ip.end], payload);
        let tuple = ip.five_tuple(&frame);
        prop_assert_eq!(tuple.source, packet.source());
        prop_assert_eq!(tuple.destination, packet.destination());
        prop_assert_eq!(tuple.protocol, packet.protocol());
        prop_assert_eq!((tuple.source_port, tuple.destination_port), packet.ports());
    }
}

#[test]
fn ports_are_found_behind_extensions_and_not_in_later_fragments() {
    let packet = Packet { v6: true, ..Packet::udp(b"data") };
    let plain = packet.frame();
    let with = |first: u8, headers: &[u8]| {
        let mut frame = plain.clone();
        frame.splice(54..54, headers.iter().copied());
        let length = (frame.len() - 54) as u16;
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        frame[20] = first;
        let ip = Ip::find(&frame).expect("a packet");
        assert_eq!(ip.is_fragment(&frame), headers.chunks(8).any(|header| header[7] == 9));
        let tuple = ip.five_tuple(&frame);
        (tuple.protocol, tuple.source_port)
    };
    let port = packet.ports().0;
    assert_eq!(with(17, &[]), (17, port));
    // Hop by hop, then destination options of 16 bytes, then UDP.
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let options = [17, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(with(0, &[&hop_by_hop[..], &options].concat()), (17, port));
    // The first fragment includes the ports, a later one does not.
    assert_eq!(with(44, &[17, 0, 0, 1, 0, 0, 0, 9]), (17, port));
    assert_eq!(with(44, &[17, 0, 0, 9, 0, 0, 0, 9]), (17, 0));
    let behind_another = [44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 1, 0, 0, 0, 9];
    assert_eq!(with(0, &behind_another), (17, port));
    // An extension header that claims to be longer than the packet.
    assert_eq!(with(60, &[17, 255, 0, 0, 0, 0, 0, 0]), (17, 0));
    let many = [60, 0, 1, 4, 0, 0, 0, 0].repeat(100);
    assert_eq!(with(60, &many).0, 60);
}

#[test]
fn lengths_that_are_not_so_are_refused() {
    let good = Packet::udp(b"some data").frame();
    assert!(Ip::find(&good).is_ok());
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        Ip::find(&frame)
    };
    let malformed = Err(Verdict::Drop(Reason::Malformed));
    assert_eq!(with(17, 255), malformed, "longer than the frame");
    assert_eq!(with(17, 19), malformed, "shorter than its header");
    assert_eq!(with(14, 0x44), malformed, "a header of 16 bytes");
    assert_eq!(with(14, 0x4f), malformed, "a header longer than the packet");
    assert_eq!(with(14, 0x65), malformed, "another version than the link says");
    assert_eq!(with(12, 0x09), Err(Verdict::Untouched), "another protocol");
    for length in 0..good.len() {
        assert_eq!(Ip::find(&good[..length]), malformed, "cut at {length}");
    }
}
