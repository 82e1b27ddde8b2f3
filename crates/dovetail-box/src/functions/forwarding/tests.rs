use super::{super::testing::*, *};
use proptest::prelude::*;

fn table() -> Table {
    let mut table = Table::default();
    let neighbour = |number| NextHop { destination: [2, 1, 1, 1, 1, number], source: [2, 9, 9, 9, 9, number] };
    for number in 0..4 {
        assert_eq!(table.neighbour(neighbour(number)), Some(number.into()));
    }
    table.route_v4([10, 0, 0, 0], 8, 1);
    table.route_v4([10, 64, 0, 0], 10, 2);
    table.route_v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 32, 3);
    table
}

proptest! {
    #[test]
    fn a_packet_leaves_as_a_router_would_send_it(packet in packet()) {
        let mut forwarding = Forwarding::new(&table());
        let before = packet.frame();
        let mut frame = before.clone();
        let verdict = forwarding.process(&mut frame);
        if packet.hops <= 1 {
            prop_assert_eq!(verdict, Verdict::Drop(Reason::HopLimit));
            prop_assert_eq!(frame, before);
            return Ok(());
        }
        prop_assert_eq!(verdict, Verdict::Forward);
        assert_sound(&frame);
        let second = packet.destination()[13];
        let hop = if packet.v6 { 3 } else if (64..128).contains(&second) { 2 } else { 1 };
        prop_assert_eq!(&frame[..12], &[2, 1, 1, 1, 1, hop, 2, 9, 9, 9, 9, hop]);
        // Except for the Ethernet addresses, the packet is what the sender would have built with a hop limit one lower.
        let sent = Packet { hops: packet.hops - 1, ..packet }.frame();
        prop_assert_eq!(&frame[12..], &sent[12..]);
    }
}

#[test]
fn what_cannot_be_forwarded_is_answered() {
    let mut forwarding = Forwarding::new(&table());
    let mut answered = |frame: &[u8]| forwarding.process(&mut frame.to_vec());
    let good = Packet::udp(b"x").frame();
    assert_eq!(answered(&good), Verdict::Forward);
    let mut damaged = good.clone();
    damaged[24] ^= 1;
    assert_eq!(answered(&damaged), Verdict::Drop(Reason::Malformed), "the checksum is wrong");
    let mut arp = good;
    arp[13] = 0x06;
    assert_eq!(answered(&arp), Verdict::Untouched);
    let mut nowhere = Forwarding::new(&Table::default());
    assert_eq!(nowhere.process(&mut Packet::udp(b"x").frame()), Verdict::Drop(Reason::NoRoute));
}
