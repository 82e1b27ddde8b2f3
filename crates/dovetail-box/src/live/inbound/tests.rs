use super::*;
use crate::functions::{
    NetworkFunction,
    ipsec::{Association, Ipsec, Keys, Numbers},
    testing::Packet,
};

#[path = "../../../tests/all/key.rs"]
mod key;

const DIGITS: &str = "000102030405060708090a0b0c0d0e0f10111213";

/// A configuration with an inbound tunnel of this name, SPI and key, and further settings.
fn config(name: &str, spi: u32, digits: &str, more: &str) -> Config {
    let key = key::KeyFile::new(digits);
    let text = format!(
        "[box]\ninside = \"a\"\noutside = \"b\"\npolicy = \"fifo\"\n[link]\nrate = \"1Gbps\"\n[[tunnel]]\nname = \"{name}\"\n\
         spi = {spi}\nsource = \"198.51.100.1\"\ndestination = \"192.0.2.1\"\nkey_file = \"{key}\"\ndirection = \"in\"\n\
         prefixes = [\"10.0.0.0/8\"]\n{more}"
    );
    Config::parse(&text).unwrap()
}

/// The other end.
fn sender(spi: u32, digits: &str) -> Ipsec {
    let association =
        Association { keys: Keys::parse(digits).unwrap(), spi, source: [198, 51, 100, 1], destination: [192, 0, 2, 1] };
    Ipsec::new(association, Arc::new(Numbers::new(1, Numbers::END)))
}

fn sent(sender: &mut Ipsec, packet: &Packet) -> Vec<u8> {
    let mut frame = packet.frame();
    assert_eq!(sender.process(&mut frame), Verdict::Forward);
    frame
}

fn counted(inbound: &Inbound) -> TunnelCounters {
    inbound.counters()[0].1
}

#[test]
fn what_has_come_under_a_key_does_not_come_again_after_a_reload() {
    let (first, other) = (DIGITS, DIGITS.replace('0', "a"));
    let mut inbound = Inbound::build(&config("one", 300, first, ""));
    let mut sender = sender(300, first);
    let mut frames: Vec<_> = (0..3).map(|_| sent(&mut sender, &Packet::udp(b"x"))).collect();
    let late = frames.pop().unwrap();
    assert!(frames.iter().all(|frame| inbound.pass(&mut frame.clone())));
    // With another name, without the key for a while, and with it again.
    for (name, digits) in [("one", first), ("two", first), ("two", &*other), ("two", &*other), ("two", first)] {
        let mut next = Inbound::build(&config(name, 300, digits, ""));
        next.take_over(std::mem::take(&mut inbound));
        inbound = next;
        let before = counted(&inbound);
        assert!(frames.iter().all(|frame| !inbound.pass(&mut frame.clone())));
        let after = counted(&inbound);
        let (replayed, forged) = if digits == first { (2, 0) } else { (0, 2) };
        assert_eq!((after.replay - before.replay, after.authentication - before.authentication), (replayed, forged));
        assert!(inbound.retired.len() <= 1);
    }
    assert!(inbound.pass(&mut late.clone()), "it has not come yet");
    assert_eq!(counted(&inbound).decrypted, 1, "a tunnel of another name counts anew");
}

#[test]
fn keys_out_of_use_are_remembered_up_to_a_bound() {
    let mut inbound = Inbound::build(&config("one", 300, DIGITS, ""));
    inbound.retired = (0..MAX_RETIRED as u128 + 9).map(|key| (key.to_be_bytes(), Window::default())).collect();
    let mut next = Inbound::build(&config("one", 300, &DIGITS.replace('0', "a"), ""));
    next.take_over(inbound);
    assert_eq!(next.retired.len(), MAX_RETIRED);
    assert_eq!(next.retired.last().unwrap().0, Keys::parse(DIGITS).unwrap().fingerprint(), "the oldest go first");
}

#[test]
fn a_route_gives_addresses_and_takes_a_hop() {
    let route = "[[route]]\nprefix = \"10.7.0.0/16\"\nvia = \"02:00:00:00:00:22\"\nfrom = \"02:00:00:00:00:11\"\n";
    let mut inbound = Inbound::build(&config("one", 300, DIGITS, route));
    let mut sender = sender(300, DIGITS);
    let mut arrives = |packet: &Packet| {
        let mut frame = sent(&mut sender, packet);
        inbound.pass(&mut frame).then_some(frame)
    };
    // To 10.7.3.4, which is routed, and to 10.14.3.4, which is not.
    let (routed, other) = (Packet::udp(b"x"), Packet { flow: 2, ..Packet::udp(b"x") });
    let wanted = Packet { hops: 63, ..routed.clone() }.frame();
    let got = arrives(&routed).unwrap();
    assert_eq!(got[..12], [2, 0, 0, 0, 0, 0x22, 2, 0, 0, 0, 0, 0x11]);
    assert_eq!(got[12..], wanted[12..]);
    assert_eq!(arrives(&other).unwrap(), other.frame());
    assert_eq!(arrives(&Packet { hops: 1, ..routed }), None);
    let last = Packet { hops: 1, ..other };
    assert_eq!(arrives(&last).unwrap(), last.frame(), "a bridge takes no hop");
    let counted = counted(&inbound);
    assert_eq!((counted.decrypted, counted.hop_limit), (3, 1));
}

#[test]
fn what_is_of_no_tunnel_passes_as_it_came() {
    let mut inbound = Inbound::build(&config("one", 300, DIGITS, ""));
    let plain = Packet::udp(b"x").frame();
    for frame in [plain.clone(), sent(&mut sender(301, DIGITS), &Packet::udp(b"x")), vec![], plain[..20].to_vec()] {
        let mut passed = frame.clone();
        assert!(inbound.pass(&mut passed));
        assert_eq!(passed, frame);
    }
    assert_eq!(counted(&inbound), TunnelCounters::default());
}
