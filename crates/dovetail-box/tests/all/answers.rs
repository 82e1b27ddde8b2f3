//! Senders learn what happened to packets that a box does not forward: their kernel tells the program, and no more errors
//! are sent than permitted.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpStream, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, Raw, datagram};
use dovetail_netns::tool;
use etherparse::{
    Icmpv4Type, Icmpv6Type, IpHeaders, IpNumber, Ipv4Header, NetSlice, PacketBuilder, SlicedPacket, TransportSlice,
    icmpv4::{DestUnreachableHeader, TimeExceededCode},
    icmpv6,
};

use crate::{
    failing::unbridge,
    key::KeyFile,
    live::{FAR, Running, by_each_io, lab},
    traffic::PATIENCE,
};

const NEXT: &str = "02:00:00:00:00:22";
const STATIONS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x33], [2, 0, 0, 0, 0, 0x44]];

/// A box that forwards everything, by one route.
fn settings(io: &str, prefix: &str) -> String {
    format!(
        "on_failure = \"closed\"\n{io}policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n\
         [[route]]\nprefix = \"{prefix}\"\nvia = \"{NEXT}\"\nfrom = \"02:00:00:00:00:11\"\n\
         [[class]]\nname = \"default\"\nfunctions = [\"monitoring\", \"forwarding\"]\n"
    )
}

fn closed(test: &str) -> Option<Lab> {
    let lab = lab(test)?;
    unbridge(&lab);
    tool("ip", &format!("-n {} link set eth0 address {NEXT}", lab.namespace(Place::Outside).name())).unwrap();
    Some(lab)
}

/// The error that a program on the inside gets when it connects to a host outside where nothing listens.
fn told(lab: &Lab, hops: u8) -> ErrorKind {
    let inside = lab.namespace(Place::Inside);
    inside.set("ipv4/ip_default_ttl", &hops.to_string()).unwrap();
    let to = SocketAddr::from((FAR, 9));
    loop {
        let error = inside.within(|| TcpStream::connect_timeout(&to, PATIENCE).map(drop)).unwrap_err();
        // Linux queues a router's error, which wakes the program up, before it sets the socket's: for a moment there is none.
        if error.raw_os_error().is_some() || error.kind() == ErrorKind::TimedOut {
            return error.kind();
        }
    }
}

/// The inside kernel accepts the box's errors as a router's; with one hop more, packets arrive.
fn programs_are_told(io: &str) {
    let Some(lab) = closed("told") else { return };
    let running = Running::start(&lab, &settings(io, "0.0.0.0/0"));
    assert_eq!(told(&lab, 1), ErrorKind::HostUnreachable);
    assert_eq!(told(&lab, 2), ErrorKind::ConnectionRefused);
    let [_, (_, hop_limit), (_, no_route)] = running.stop().answers.by_kind();
    assert!(hop_limit.sent > 0 && no_route.sent == 0, "{hop_limit:?} {no_route:?}");
    let running = Running::start(&lab, &settings(io, "203.0.113.0/24"));
    assert_eq!(told(&lab, 64), ErrorKind::NetworkUnreachable);
    // The kernel's own multicast packets may be dropped here too, for their hop limit of 1 (RFC 3810, 5); no sender is told.
    let status = running.stop();
    let [_, (_, hop_limit), (_, no_route)] = status.answers.by_kind();
    let counted = status.classes[0].1;
    assert_eq!((hop_limit.sent, counted.ended_by_function), (0, 0));
    assert!(no_route.sent > 0 && counted.no_route >= no_route.sent, "{no_route:?} {counted:?}");
}

/// The error to the sender of a frame; retries if a machine that kept the box from running has lost it.
fn answer(host: &mut Raw, frame: &[u8]) -> Vec<u8> {
    let asked = Instant::now();
    loop {
        host.send(std::iter::once(frame)).unwrap();
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            while let Some(got) = host.receive() {
                if got.starts_with(&frame[6..12]) {
                    return got.to_vec();
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
        assert!(asked.elapsed() < PATIENCE, "no answer");
    }
}

fn the_packet_is_quoted_as_it_was_sent(io: &str) {
    let Some(lab) = closed("quote") else { return };
    let mut host = lab.raw(Place::Inside).unwrap();
    for (prefix, hops, of_v4, of_v6) in [
        (
            "::/0",
            1,
            Icmpv4Type::TimeExceeded(TimeExceededCode::TtlExceededInTransit),
            Icmpv6Type::TimeExceeded(icmpv6::TimeExceededCode::HopLimitExceeded),
        ),
        (
            "2001:db8:ffff::/48",
            9,
            Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Network),
            Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::NoRoute),
        ),
    ] {
        let running = Running::start(&lab, &settings(io, prefix));
        let link = || PacketBuilder::ethernet2(STATIONS[0], STATIONS[1]).single_vlan(7.try_into().unwrap());
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        link().ipv4([10, 77, 0, 101], [10, 77, 0, 102], hops).udp(1, 2).write(&mut v4, &[5; 900]).unwrap();
        let ends = [1, 2].map(|last| [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        link().ipv6(ends[0], ends[1], hops).udp(1, 2).write(&mut v6, &[6; 900]).unwrap();
        let told = answer(&mut host, &v4);
        assert_eq!(told[..18], [&STATIONS.concat()[..], &v4[12..18]].concat(), "the way back, in its VLAN");
        let sliced = SlicedPacket::from_ethernet(&told).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Icmpv4(message))) = (sliced.net, sliced.transport) else {
            panic!("no answer: {told:x?}")
        };
        assert_eq!(message.icmp_type(), of_v4);
        assert_eq!(ip.header().destination(), [10, 77, 0, 101]);
        assert_eq!(message.payload(), &v4[18..18 + 576 - 28]);
        assert_eq!(message.checksum(), message.icmp_type().calc_checksum(message.payload()));
        let told = answer(&mut host, &v6);
        let sliced = SlicedPacket::from_ethernet(&told).unwrap();
        let (Some(NetSlice::Ipv6(ip)), Some(TransportSlice::Icmpv6(message))) = (sliced.net, sliced.transport) else {
            panic!("no answer: {told:x?}")
        };
        assert_eq!(message.icmp_type(), of_v6);
        assert_eq!(ip.header().destination(), ends[0]);
        assert_eq!(message.payload(), &v6[18..]);
        assert!(message.is_checksum_valid(ip.header().source(), ip.header().destination()));
        // Errors are not answered, even if they are dropped here themselves.
        let mut error = told.clone();
        error[25] = 1;
        let before = running.control.status().classes[0].1.dropped();
        let asked = Instant::now();
        while running.control.status().classes[0].1.dropped() <= before + 10 {
            assert!(asked.elapsed() < PATIENCE, "none of them comes to the box");
            host.send(std::iter::once(&*error)).unwrap();
            thread::sleep(Duration::from_millis(50));
            while let Some(got) = host.receive() {
                assert!(!got.starts_with(&error[6..12]), "an error was answered");
            }
        }
        running.stop();
    }
}

fn a_flood_has_few_answers(io: &str) {
    let Some(lab) = closed("flood") else { return };
    let host = lab.raw(Place::Inside).unwrap();
    let started = Instant::now();
    let running = Running::start(&lab, &settings(io, "203.0.113.0/24"));
    let frames: Vec<_> =
        (0..Raw::BATCH).map(|number| datagram::frame(Place::Inside, (number % 7) as u16, number as u64, 200)).collect();
    // On a busy machine some arrive one by one, with time for an error each.
    while running.control.status().answers.by_kind().iter().all(|(_, answers)| answers.limited == 0) {
        assert!(started.elapsed() < PATIENCE, "{:?}", running.control.status());
        for _ in 0..20 {
            host.send(frames.iter().map(|frame| &**frame)).unwrap();
        }
        thread::sleep(Duration::from_millis(50));
    }
    let counted = running.stop();
    // A burst of 50, then one per millisecond.
    let most = 51 + started.elapsed().as_millis() as u64;
    let answers = counted.answers.by_kind().map(|(kind, answers)| (kind, answers.sent, answers.limited));
    let [("too_long", 0, 0), ("hop_limit", 0, 0), ("no_route", sent, limited)] = answers else { panic!("{answers:?}") };
    assert!((1..=most).contains(&sent) && limited > 0, "{sent} of {most}, and {limited}");
    // Multicast packets are dropped as well, and never answered.
    assert!(sent + limited <= counted.classes[0].1.no_route, "{counted:?}");
}

/// An encrypted packet is longer than the host's, and the host is told how much it may send.
fn hosts_learn_how_much_fits_a_tunnel(io: &str) {
    let Some(lab) = closed("fits") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (key, numbers) = (KeyFile::new(&"0123456789".repeat(4)), folder.path().join("numbers"));
    for workers in [1, 2] {
        let settings = format!(
            "on_failure = \"closed\"\n{io}policy = \"drfq\"\n[cpu]\nworkers = {workers}\n[link]\nrate = \"1Gbps\"\n\
             [ipsec]\nsequence_file = \"{}\"\n[[tunnel]]\nname = \"branch\"\nspi = 300\nsource = \"192.0.2.1\"\n\
             destination = \"198.51.100.1\"\nkey_file = \"{key}\"\n\
             [[class]]\nname = \"vpn\"\nports = [4500]\nfunctions = [\"ipsec\"]\ntunnel = \"branch\"\n",
            numbers.display()
        );
        let running = Running::start(&lab, &settings);
        let inside = lab.namespace(Place::Inside);
        let source = inside.within(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
        source.connect((FAR, 4500)).unwrap();
        let (asked, knows) = (Instant::now(), format!("-n {} route get {FAR}", inside.name()));
        // Of 1,500 bytes a tunnel takes 57 (RFC 4303, RFC 4106): header, SPI, sequence number, IV, trailer and ICV.
        while !String::from_utf8(tool("ip", &knows).unwrap()).unwrap().contains("mtu 1443") {
            assert!(asked.elapsed() < PATIENCE, "{:?}", running.control.status());
            // It fits the host's own link. Once the path MTU is known, the system may reject it.
            let _ = source.send(&[7; 1440]);
            thread::sleep(Duration::from_millis(50));
        }
        let counted = running.stop().classes[0].1;
        assert!(counted.too_long > 0, "{counted:?}");
        tool("ip", &format!("-n {} route flush cache", inside.name())).unwrap();
    }
}

/// By then forwarding has rewritten the frame's Ethernet addresses: the error still goes to its sender, quoting what they sent.
fn what_is_too_long_is_told_of_behind_forwarding(io: &str) {
    let Some(lab) = closed("long") else { return };
    tool("ip", &format!("-n {} link set outside mtu 800", lab.namespace(Place::Box).name())).unwrap();
    let mut host = lab.raw(Place::Inside).unwrap();
    for workers in [1, 2] {
        let workers = format!("policy = \"drfq\"\n[cpu]\nworkers = {workers}\n");
        let running = Running::start(&lab, &settings(io, "0.0.0.0/0").replace("policy = \"drfq\"\n", &workers));
        let mut sent = Vec::new();
        let ends = ([10, 77, 0, 101], [10, 77, 0, 102]);
        let mut ip = Ipv4Header::new(0, 9, IpNumber::UDP, ends.0, ends.1).unwrap();
        ip.dont_fragment = true;
        PacketBuilder::ethernet2(STATIONS[0], STATIONS[1])
            .ip(IpHeaders::Ipv4(ip, Default::default()))
            .udp(1, 2)
            .write(&mut sent, &[5; 900])
            .unwrap();
        let told = answer(&mut host, &sent);
        let sliced = SlicedPacket::from_ethernet(&told).unwrap();
        let Some(TransportSlice::Icmpv4(message)) = sliced.transport else { panic!("no answer: {told:x?}") };
        let next_hop_mtu = 800;
        assert_eq!(
            message.icmp_type(),
            Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded { next_hop_mtu })
        );
        assert!(sent[14..].starts_with(message.payload()), "as it was sent, hop limit and all");
        running.stop();
    }
}

by_each_io!(
    programs_are_told,
    what_is_too_long_is_told_of_behind_forwarding,
    the_packet_is_quoted_as_it_was_sent,
    a_flood_has_few_answers,
    hosts_learn_how_much_fits_a_tunnel
);
