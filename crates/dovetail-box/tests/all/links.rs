//! Links that go down and come up again, and links with a smaller MTU.

use std::{
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::{
    LiveError, Spawned,
    lab::{Lab, PORTS, Place, Raw},
};
use dovetail_netns::tool;

use crate::{
    live::{FAR, Running, by_each_io, config, lab},
    traffic::{PATIENCE, Stream, both_ways, echo, go_on},
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";

fn ip(lab: &Lab, place: Place, words: &str) {
    tool("ip", &format!("-n {} {words}", lab.namespace(place).name())).unwrap();
}

fn the_box_goes_on_after_a_link_was_down(io: &str) {
    let Some(lab) = lab("down") else { return };
    let traffic = both_ways(&lab);
    let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
    for port in PORTS {
        go_on(&traffic, 200);
        ip(&lab, Place::Box, &format!("link set {port} down"));
        traffic.iter().for_each(|traffic| traffic.send_on(200));
        ip(&lab, Place::Box, &format!("link set {port} up"));
        go_on(&traffic, 500);
        // Forwarded by the box, not by the bridge.
        let before = running.control.status();
        running.until(|status| (0..2).all(|side| status.ports[side].sent > before.ports[side].sent + 500));
    }
    let status = running.stop();
    println!("refused while a link was down: {:?}", status.ports.map(|port| port.refused));
    for record in traffic.map(Stream::end) {
        assert_eq!(record.duplicated(), 0);
    }
}

fn udp_learns_how_much_fits_a_narrower_link(io: &str) {
    let Some(lab) = lab("mtu") else { return };
    ip(&lab, Place::Box, "link set outside mtu 1300");
    let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
    learns(&lab, running);
}

/// Packet sockets notice a changed MTU at once; AF_XDP sockets pass what the interface accepts.
#[test]
fn a_link_may_become_narrower_while_the_box_runs() {
    let Some(lab) = lab("mtulate") else { return };
    let running = Running::start(&lab, SETTINGS);
    ip(&lab, Place::Box, "link set outside mtu 1300");
    learns(&lab, running);
}

/// A sender of datagrams of 1,400 bytes learns that 1,300 fit.
fn learns(lab: &Lab, running: Running) {
    let target = lab.namespace(Place::Outside).within(|| UdpSocket::bind((FAR, 4500))).unwrap();
    target.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    // Linux sets DF until it has learnt the path MTU, and fragments then.
    let source = lab.namespace(Place::Inside).within(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    source.connect((FAR, 4500)).unwrap();
    let (asked, mut bytes, mut sent) = (Instant::now(), [0; 2000], 0);
    loop {
        assert!(asked.elapsed() < PATIENCE, "nothing arrives");
        // The error of this one may be the response to an earlier one.
        let _ = source.send(&[7; 1400]);
        sent += 1;
        if target.recv(&mut bytes).is_ok_and(|got| got == 1400) {
            break;
        }
    }
    let told = tool("ip", &format!("-n {} route get {FAR}", lab.namespace(Place::Inside).name())).unwrap();
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("mtu 1300"), "{told}");
    let status = running.stop();
    println!("{sent} datagrams until one arrived");
    assert!(status.classes[0].1.too_long >= 1, "{status:#?}");
}

fn a_box_ends_with_its_interface_and_says_which(io: &str) {
    lose("gone", io, "link del outside");
}

fn a_box_ends_when_its_interface_is_renamed_and_says_so(io: &str) {
    let wrong = lose("renamed", io, "link set outside name elsewhere");
    assert!(wrong.is_none_or(|wrong| wrong.to_string().starts_with("outside was removed or renamed")));
}

/// The error of a box whose outside interface is lost by these words for `ip`, or nothing where there is no lab.
fn lose(name: &str, io: &str, words: &str) -> Option<LiveError> {
    let lab = lab(name)?;
    let spawned = Spawned::start(config(&lab, &(io.to_owned() + SETTINGS)), |_| {}).unwrap();
    ip(&lab, Place::Box, words);
    let asked = Instant::now();
    while !spawned.has_ended() {
        assert!(asked.elapsed() < PATIENCE, "it runs without its interface");
        thread::sleep(Duration::from_millis(5));
    }
    let wrong = spawned.stop().unwrap_err();
    assert!(matches!(&wrong, LiveError::Gone { interface } if interface == "outside"), "{wrong}");
    Some(wrong)
}

/// With packet sockets only: a veth with a smaller MTU at this end accepts only long frames of a stream, and with AF_XDP
/// produces none.
#[test]
fn tcp_adapts_to_a_narrower_link() {
    let Some(lab) = lab("mtutcp") else { return };
    ip(&lab, Place::Box, "link set outside mtu 1300");
    // A packet that the far host retransmits alone would always be too long for its own link.
    ip(&lab, Place::Outside, "route change 10.77.0.0/24 dev eth0 mtu 1300 advmss 1460");
    let running = Running::start(&lab, SETTINGS);
    echo(&lab, 1_000_000);
    let status = running.stop();
    println!("{} were too long", status.classes[0].1.too_long);
    assert!(status.classes[0].1.too_long >= 1, "{status:#?}");
}

/// The MSS that the next SYN has.
fn mss(raw: &mut Raw) -> u16 {
    let asked = Instant::now();
    loop {
        assert!(asked.elapsed() < PATIENCE, "no SYN");
        let Some(frame) = raw.receive() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let is_syn = frame.get(12..14) == Some(&[8, 0]) && frame.get(23) == Some(&6) && frame[47] & 2 != 0;
        // Linux puts it first.
        if is_syn && frame[54..56] == [2, 4] {
            return u16::from_be_bytes([frame[56], frame[57]]);
        }
    }
}

fn where_functions_lengthen_packets_tcp_sends_shorter_ones(io: &str) {
    let Some(lab) = lab("mss") else { return };
    let plain = io.to_owned() + SETTINGS;
    let grown = format!("{io}{SETTINGS}[[class]]\nname = \"vpn\"\nports = [4500]\nfunctions = [\"ipsec\"]\n");
    let as_they_came = format!("{grown}effect = \"discard\"\n");
    for (settings, is_grown) in [(&plain, false), (&as_they_came, false), (&grown, true)] {
        let running = Running::start(&lab, settings);
        let mut sides = [Place::Inside, Place::Outside].map(|side| lab.raw(side).unwrap());
        echo(&lab, 1_000_000);
        let seen = sides.each_mut().map(mss);
        let status = running.stop();
        println!("MSS of the answer and of the question: {seen:?}");
        let growth = dovetail_box::functions::find("ipsec").unwrap().growth_bytes as u16;
        if status.oddities.lapses == 0 {
            assert_eq!(seen, [1460 - if is_grown { growth } else { 0 }; 2]);
        }
    }
}

by_each_io!(
    the_box_goes_on_after_a_link_was_down,
    udp_learns_how_much_fits_a_narrower_link,
    a_box_ends_with_its_interface_and_says_which,
    a_box_ends_when_its_interface_is_renamed_and_says_so,
    where_functions_lengthen_packets_tcp_sends_shorter_ones
);
