//! Captures, constructed byte by byte.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Read, Write};

use dovetail_sched::{FlowId, Nanos, units::parse_rate};
use dovetail_sim::workload::{
    Arrival, Capture, CaptureOptions, Class, ClassSet, Cost, Notice, Resource, Workload, WorkloadError, scale_for_load,
    survey,
};
use etherparse::PacketBuilder;

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
    fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;

fn header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for word in [0, 0, 65_535, link] {
        file.extend(order.u32(word));
    }
    file
}

fn record(order: Order, seconds: u32, fraction: u32, wire: u32, data: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [seconds, fraction, data.len() as u32, wire] {
        record.extend(order.u32(word));
    }
    record.extend(data);
    record
}

/// A little-endian microsecond capture; packets are (microseconds, wire length, captured bytes).
fn pcap(link: u32, packets: &[(u64, u32, &[u8])]) -> Vec<u8> {
    let mut file = header(Order::Little, MICROS, link);
    for &(micros, wire, data) in packets {
        let (seconds, fraction) = (1_000_000 + micros / 1_000_000, micros % 1_000_000);
        file.extend(record(Order::Little, seconds as u32, fraction as u32, wire, data));
    }
    file
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = body.len() as u32 + 12;
    [&order.u32(kind)[..], &order.u32(length), &body, &order.u32(length)].concat()
}

fn section(order: Order) -> Vec<u8> {
    let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// An interface with options (code, value).
fn interface(order: Order, link: u16, snap: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [&order.u16(link)[..], &order.u16(0), &order.u32(snap)].concat();
    for &(code, value) in options {
        body.extend(order.u16(code));
        body.extend(order.u16(value.len() as u16));
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        body.extend([0; 4]);
    }
    block(order, 1, &body)
}

fn enhanced(order: Order, interface: u32, ticks: u64, wire: u32, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for word in [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, wire] {
        body.extend(order.u32(word));
    }
    body.extend(data);
    block(order, 6, &body)
}

fn tcp(source: u8, destination: u8, source_port: u16) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, source], [2, 0, 0, 0, 0, destination])
        .ipv4([10, 0, 0, source], [10, 0, 0, destination], 64)
        .tcp(source_port, 80, 1, 1000);
    let mut frame = Vec::new();
    builder.write(&mut frame, &[0; 10]).unwrap();
    frame
}

/// The IP packet in an Ethernet frame.
fn without_link(frame: &[u8]) -> &[u8] {
    &frame[14..]
}

/// One resource at 8 Mbit/s, so that a byte takes a microsecond.
fn bytes_only() -> ClassSet {
    ClassSet::new(vec![Resource::with_rate("link", parse_rate("8Mbps").unwrap())], vec![]).unwrap()
}

fn open(file: Vec<u8>) -> Result<Capture, WorkloadError> {
    Capture::open(Box::new(Cursor::new(file)), "test.pcap", CaptureOptions::new(bytes_only()))
}

fn drain(capture: &mut Capture) -> Vec<Arrival> {
    std::iter::from_fn(|| capture.next().unwrap()).collect()
}

/// All arrivals as (nanoseconds, bytes, flow's name), and the notices.
fn read(file: Vec<u8>) -> (Vec<(u64, u32, String)>, Vec<Notice>) {
    let mut capture = open(file).unwrap();
    let arrivals = drain(&mut capture);
    let named = arrivals.iter().map(|arrival| (arrival.at.0, arrival.bytes, capture.label(arrival.flow)));
    (named.collect(), capture.notices())
}

fn labels(file: Vec<u8>) -> Vec<String> {
    read(file).0.into_iter().map(|(_, _, label)| label).collect()
}

fn count(notices: &[Notice], part: &str) -> u64 {
    notices.iter().filter(|notice| notice.what.contains(part)).map(|notice| notice.count).sum()
}

#[test]
fn all_four_classic_formats_say_the_same() {
    for order in [Order::Little, Order::Big] {
        for (magic, scale) in [(MICROS, 1), (NANOS, 1000)] {
            let mut file = header(order, magic, 1);
            file.extend(record(order, 5, 999_999 * scale, 60, &tcp(1, 2, 7)));
            file.extend(record(order, 6, scale, 1514, &tcp(2, 1, 7)));
            let (arrivals, notices) = read(file);
            let names = ["10.0.0.1:7>10.0.0.2:80/tcp", "10.0.0.2:7>10.0.0.1:80/tcp"];
            assert_eq!(arrivals, [(0, 60, names[0].into()), (2_000, 1514, names[1].into())]);
            // The frame of 64 bytes is longer than its record claims; the other was truncated.
            assert_eq!(count(&notices, "captured only in part"), 1);
            assert_eq!(count(&notices, "shorter"), 1);
        }
    }
}

#[test]
fn nanoseconds_are_kept() {
    let mut file = header(Order::Little, NANOS, 1);
    file.extend(record(Order::Little, 4_294_967_295, 1, 64, &tcp(1, 2, 7)));
    file.extend(record(Order::Little, 4_294_967_295, 4, 64, &tcp(1, 2, 7)));
    assert_eq!(read(file).0[1].0, 3);
}

#[test]
fn demand_and_flow_ids_follow_the_wire() {
    let frames = [tcp(1, 2, 7), tcp(1, 2, 8), tcp(1, 2, 7)];
    let file = pcap(1, &[(0, 1000, &frames[0]), (10, 200, &frames[1]), (20, 64, &frames[2])]);
    let arrivals = drain(&mut open(file).unwrap());
    assert_eq!(arrivals.iter().map(|arrival| arrival.flow.0).collect::<Vec<_>>(), [0, 1, 0]);
    let demands: Vec<_> = arrivals.iter().map(|arrival| arrival.demand.times().to_vec()).collect();
    assert_eq!(demands, [[Nanos::from_micros(1000)], [Nanos::from_micros(200)], [Nanos::from_micros(64)]]);
}

#[test]
fn two_interfaces_with_clocks_of_their_own() {
    for order in [Order::Little, Order::Big] {
        let frame = tcp(1, 2, 7);
        let mut file = section(order);
        file.extend(interface(order, 1, 0, &[]));
        // Nanoseconds, ten seconds late; and raw IP.
        file.extend(interface(order, 101, 0, &[(9, &[9]), (14, &order.u64(10))]));
        // Ticks of 2^-10 s.
        file.extend(interface(order, 1, 0, &[(2, b"eth0"), (9, &[0x80 | 10])]));
        file.extend(enhanced(order, 0, 20_000_000, 100, &frame));
        file.extend(enhanced(order, 1, 10_000_000_500, 90, without_link(&frame)));
        file.extend(block(order, 5, &[0; 12]));
        file.extend(block(order, 0x7777, b"whatever"));
        file.extend(enhanced(order, 2, 20 * 1024 + 512, 80, &frame));
        let (arrivals, notices) = read(file);
        let name = "10.0.0.1:7>10.0.0.2:80/tcp".to_string();
        assert_eq!(
            arrivals,
            [(0, 100, name.clone()), (500, 90, name.clone()), (500_000_000, 80, name)],
            "20 s in microseconds, 10 s + 10 s + 500 ns, 20.5 s"
        );
        assert_eq!(count(&notices, "interface"), 0);
    }
}

#[test]
fn simple_packets_and_new_sections() {
    let frame = tcp(1, 2, 7);
    let mut file = section(Order::Little);
    file.extend(interface(Order::Little, 1, 40, &[]));
    file.extend(enhanced(Order::Little, 0, 7_000, 64, &frame));
    // Truncated to the interface's snap length of 40 bytes; the block needs no padding.
    file.extend(block(Order::Little, 3, &[&Order::Little.u32(1500)[..], &frame[..40]].concat()));
    // A section with the other byte order, in which interface 0 is a different one.
    file.extend(section(Order::Big));
    file.extend(interface(Order::Big, 228, 0, &[]));
    file.extend(enhanced(Order::Big, 0, 7_003, 50, without_link(&frame)));
    file.extend(enhanced(Order::Big, 1, 7_004, 50, without_link(&frame)));
    let (arrivals, notices) = read(file);
    let name = || "10.0.0.1:7>10.0.0.2:80/tcp".to_string();
    assert_eq!(arrivals, [(0, 64, name()), (0, 1500, name()), (3_000, 50, name())]);
    assert_eq!(count(&notices, "no time"), 1);
    assert_eq!(count(&notices, "undescribed"), 1);
}

#[test]
fn damaged_blocks_are_passed_over() {
    let frame = tcp(1, 2, 7);
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, 0, &[]));
    file.extend(enhanced(order, 0, 1, 64, &frame));
    // Claims more captured bytes than the block has.
    let mut bad = enhanced(order, 0, 2, 64, &frame);
    bad[20..24].copy_from_slice(&order.u32(5_000));
    file.extend(bad);
    // The packet block of 2004.
    file.extend(block(order, 2, &[0; 24]));
    file.extend(enhanced(order, 0, 3, 64, &frame));
    let (arrivals, notices) = read(file);
    assert_eq!(arrivals.iter().map(|arrival| arrival.0).collect::<Vec<_>>(), [0, 2_000]);
    assert_eq!((count(&notices, "contradict"), count(&notices, "obsolete")), (1, 1));
}

#[test]
fn gzip_in_one_or_several_members() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let frame = tcp(1, 2, 7);
    let packets: Vec<(u64, u32, &[u8])> = (0..20_000).map(|at| (at, 64, &frame[..])).collect();
    let plain = pcap(1, &packets);
    let whole = gzip(&plain);
    assert_eq!(read(whole.clone()), read(plain.clone()));
    let members = [gzip(&plain[..100]), gzip(&plain[100..])].concat();
    assert_eq!(read(members), read(plain));
    // Truncated, it ends like any truncated capture.
    let (arrivals, notices) = read(whole[..whole.len() - 2000].to_vec());
    assert!(arrivals.len() < 20_000, "{}", arrivals.len());
    assert_eq!(count(&notices, "ends within a record"), 1);
    // A wrong checksum is reported at the end, after all packets.
    let mut damaged = whole;
    let end = damaged.len() - 8;
    damaged[end] ^= 1;
    let mut capture = open(damaged).unwrap();
    let mut count = 0;
    let error = loop {
        match capture.next() {
            Ok(Some(_)) => count += 1,
            Ok(None) => panic!("the check sum is wrong"),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(count, 20_000);
    assert!(error.starts_with("test.pcap, after packet 20000: cannot be read: "), "{error}");
    assert!(capture.next().unwrap().is_none(), "an error ends the stream");
}

#[test]
fn vlan_tags_and_pppoe_are_stepped_over() {
    let plain = tcp(1, 2, 7);
    let tagged = |tags: &[[u8; 4]]| [&plain[..12], &tags.concat(), &plain[12..]].concat();
    let (vlan, provider) = ([0x81, 0, 0, 5], [0x88, 0xa8, 0, 6]);
    let length = (plain.len() - 14 + 2) as u16;
    let session =
        [&plain[..12], &[0x88, 0x64, 0x11, 0, 0, 1], &length.to_be_bytes(), &[0, 0x21], &plain[14..]].concat();
    // RFC 1661, section 6.5: the protocol in one byte.
    let compressed = [&session[..20], &session[21..]].concat();
    let frames = [tagged(&[vlan]), tagged(&[provider, vlan]), session, compressed];
    let packets: Vec<(u64, u32, &[u8])> = frames.iter().map(|frame| (0, 100, &frame[..])).collect();
    assert_eq!(labels(pcap(1, &packets)), ["10.0.0.1:7>10.0.0.2:80/tcp"; 4]);
}

#[test]
fn every_link_type() {
    let frame = tcp(1, 2, 7);
    let ip = without_link(&frame);
    let mut v6 = Vec::new();
    let builder = PacketBuilder::ipv6([0x20; 16], [0x30; 16], 64).udp(53, 1053);
    builder.write(&mut v6, &[0; 4]).unwrap();
    let sll = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], ip].concat();
    let sll2 = [&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], ip].concat();
    let name4 = "10.0.0.1:7>10.0.0.2:80/tcp";
    let name6 = "[2020:2020:2020:2020:2020:2020:2020:2020]:53>[3030:3030:3030:3030:3030:3030:3030:3030]:1053/udp";
    for (link, data, name) in [
        (1, &frame[..], name4),
        (101, ip, name4),
        (12, ip, name4),
        (228, ip, name4),
        (101, &v6, name6),
        (229, &v6, name6),
        (113, &sll, name4),
        (276, &sll2, name4),
        (0, &[&[2, 0, 0, 0], ip].concat(), name4),
        (108, &[&[0, 0, 0, 30], &v6[..]].concat(), name6),
        // The upper half of the field describes checksums after the frames.
        (0x1400_0000 | 1, &frame, name4),
    ] {
        assert_eq!(labels(pcap(link, &[(0, 100, data)])), [name], "link type {link:#x}");
    }
    // Cooked frames without IP.
    let arp = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 6][..], &[0; 28]].concat();
    assert_eq!(labels(pcap(113, &[(0, 44, &arp)])), ["02:00:00:00:00:01>00:00:00:00:00:00/arp"]);
}

#[test]
fn fragments_and_protocols_without_ports() {
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = tcp(1, 2, 7);
        change(&mut frame);
        frame
    };
    let frames = [
        // The first fragment still has its ports, later ones do not.
        with(&|frame| frame[20] |= 0x20),
        with(&|frame| frame[21] = 100),
        with(&|frame| frame[23] = 50),
        with(&|frame| frame[23] = 132),
        with(&|frame| frame[23] = 200),
        // Truncated within the ports, and within the IP header.
        with(&|frame| frame.truncate(37)),
        with(&|frame| frame.truncate(30)),
        with(&|frame| frame.truncate(9)),
    ];
    let packets: Vec<(u64, u32, &[u8])> = frames.iter().map(|frame| (0, 1500, &frame[..])).collect();
    let (arrivals, notices) = read(pcap(1, &packets));
    let names: Vec<_> = arrivals.iter().map(|(_, _, label)| label.as_str()).collect();
    let ends = [
        "10.0.0.1:7>10.0.0.2:80/tcp",
        "10.0.0.1:0>10.0.0.2:0/tcp",
        "10.0.0.1>10.0.0.2/esp",
        "10.0.0.1:7>10.0.0.2:80/sctp",
        "10.0.0.1>10.0.0.2/ip-200",
        "10.0.0.1:0>10.0.0.2:0/tcp",
        "02:00:00:00:00:01>02:00:00:00:00:02/ipv4",
        "unreadable",
    ];
    assert_eq!(names, ends);
    assert_eq!(count(&notices, "truncated before their ports or addresses"), 3);
    assert_eq!(count(&notices, "invalid headers"), 0);
}

#[test]
fn ipv6_fragments_after_the_first_have_no_ports() {
    let packet = |offset: u8| {
        let mut packet = vec![0x60, 0, 0, 0, 0, 16, 44, 64];
        packet.extend([0x20; 16]);
        packet.extend([0x30; 16]);
        packet.extend([17, 0, 0, offset | 1, 0, 0, 0, 9]);
        packet.extend([0, 53, 4, 29, 0, 8, 0, 0]);
        packet
    };
    let (first, later) = (packet(0), packet(8));
    let names = labels(pcap(229, &[(0, 56, &first), (0, 56, &later)]));
    assert!(names[0].contains("]:53>") && names[0].ends_with("]:1053/udp"), "{names:?}");
    assert!(names[1].contains("]:0>") && names[1].ends_with("]:0/udp"), "{names:?}");
}

#[test]
fn ipv6_headers_in_a_chain_and_cut() {
    // Hop-by-hop options, an authentication header of 24 bytes, destination options, a fragment, then UDP.
    let mut packet = vec![0x60, 0, 0, 0, 0, 64, 0, 64];
    packet.extend([[0x20; 16], [0x30; 16]].concat());
    packet.extend([51, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([60, 4, 0, 0].iter().chain(&[0; 20]));
    packet.extend([44, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([17, 0, 0, 0, 0, 0, 0, 9]);
    packet.extend([0, 53, 4, 29, 0, 8, 0, 0]);
    let fragment = packet.len() - 16;
    let mut later = packet.clone();
    later[fragment + 3] = 8;
    let names = labels(pcap(229, &[(0, 104, &packet), (0, 104, &later)]));
    assert!(names[0].contains("]:53>") && names[0].ends_with("]:1053/udp"), "{names:?}");
    assert!(names[1].contains("]:0>") && names[1].ends_with("]:0/udp"), "{names:?}");
    // Wherever it is truncated, it still belongs to some flow.
    for length in 40..packet.len() {
        for whole in [&packet, &later] {
            let (arrivals, notices) = read(pcap(229, &[(0, 104, &whole[..length])]));
            assert!(arrivals[0].2.starts_with('[') || arrivals[0].2.starts_with("2020:"), "{arrivals:?}");
            let blind = count(&notices, "truncated before");
            // For a later fragment, nothing is missing once its header is there.
            let enough = if whole == &later { fragment + 8 } else { fragment + 12 };
            assert_eq!(blind, u64::from(length < enough), "{length} bytes of {}", arrivals[0].2);
        }
    }
}

#[test]
fn frames_without_ip_flow_by_type_and_addresses() {
    let frame = |source: u8, kind: [u8; 2]| [&[0xff; 6][..], &[2, 0, 0, 0, 0, source], &kind, &[0; 46]].concat();
    let frames = [
        frame(1, [8, 6]),
        frame(2, [8, 6]),
        frame(1, [8, 6]),
        frame(1, [0x88, 0xcc]),
        // Lengths, not types: the same flow whatever they are.
        frame(1, [0, 46]),
        frame(1, [0, 40]),
        // An invalid IP header.
        frame(1, [8, 0]),
    ];
    let packets: Vec<(u64, u32, &[u8])> = frames.iter().map(|frame| (0, 60, &frame[..])).collect();
    let mut capture = open(pcap(1, &packets)).unwrap();
    let flows: Vec<_> = drain(&mut capture).iter().map(|arrival| arrival.flow.0).collect();
    assert_eq!(flows, [0, 1, 0, 2, 3, 3, 4]);
    assert_eq!(capture.label(FlowId(0)), "02:00:00:00:00:01>ff:ff:ff:ff:ff:ff/arp");
    assert_eq!(capture.label(FlowId(3)), "02:00:00:00:00:01>ff:ff:ff:ff:ff:ff/llc");
    assert_eq!(count(&capture.notices(), "invalid headers"), 1);
}

#[test]
fn time_never_runs_back() {
    let frame = tcp(1, 2, 7);
    let file =
        pcap(1, &[(500, 64, &frame), (400, 64, &frame), (900, 64, &frame), (800, 64, &frame), (901, 64, &frame)]);
    let (arrivals, notices) = read(file);
    let times: Vec<_> = arrivals.iter().map(|arrival| arrival.0).collect();
    assert_eq!(times, [0, 0, 400_000, 400_000, 401_000]);
    assert_eq!(count(&notices, "earlier"), 2);
}

#[test]
fn odd_lengths_and_cut_ends() {
    let frame = tcp(1, 2, 7);
    let whole = pcap(1, &[(0, 0, &[]), (1, 1500, &frame)]);
    let (arrivals, notices) = read(whole.clone());
    assert_eq!((arrivals[0].1, arrivals[0].2.as_str()), (0, "unreadable"));
    assert_eq!(count(&notices, "length 0"), 1);
    // Wherever the last record is truncated, the one before it is read; if it is missing completely, nothing is wrong.
    for missing in 1..frame.len() + 16 {
        let (arrivals, notices) = read(whole[..whole.len() - missing].to_vec());
        assert_eq!((arrivals.len(), count(&notices, "ends within a record")), (1, 1), "{missing} bytes missing");
    }
    let (arrivals, notices) = read(whole[..whole.len() - frame.len() - 16].to_vec());
    assert_eq!((arrivals.len(), count(&notices, "ends within a record")), (1, 0));
}

#[test]
fn records_larger_than_the_buffer_and_absurd_ones() {
    let frame = tcp(1, 2, 7);
    let large = [&frame[..], &vec![0; 3_000_000]].concat();
    let mut file = pcap(1, &[(0, 9_000_000, &large), (1, 64, &frame)]);
    file.extend(record(Order::Little, 1_000_001, 0, 64, &frame));
    let (arrivals, _) = read(file.clone());
    assert_eq!(arrivals.iter().map(|arrival| arrival.1).collect::<Vec<_>>(), [9_000_000, 64, 64]);
    // A record that claims four gigabytes, followed by plenty of bytes.
    let mut absurd = file.clone();
    absurd.extend(record(Order::Little, 1_000_002, 0, 64, &frame));
    let at = file.len() + 8;
    absurd[at..at + 4].fill(0xff);
    absurd.extend(vec![0; 40_000_000]);
    let (arrivals, notices) = read(absurd);
    assert_eq!((arrivals.len(), count(&notices, "damaged record")), (3, 1));
}

/// A reader that gives one byte at a time, as a slow pipe may.
struct Drops(Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn a_slow_pipe_says_the_same() {
    let frame = tcp(1, 2, 7);
    let file = pcap(1, &[(0, 64, &frame), (5, 64, &frame)]);
    let dripping = Box::new(Drops(Cursor::new(file)));
    let mut capture = Capture::open(dripping, "test.pcap", CaptureOptions::new(bytes_only())).unwrap();
    assert_eq!(drain(&mut capture).len(), 2);
}

#[test]
fn what_is_no_capture() {
    let error = |file: Vec<u8>| open(file).unwrap_err().to_string();
    assert_eq!(error(vec![]), "test.pcap: is empty: a capture in pcap or pcapng format is needed");
    let png = error([&b"\x89PNG\r\n\x1a\n"[..], &[0; 100]].concat());
    assert!(png.contains("[89, 50, 4e, 47]") && png.contains("a PNG image"), "{png}");
    let lz4 = error([&[4, 0x22, 0x4d, 0x18][..], &[0; 100]].concat());
    assert!(lz4.contains("lz4: unpack it first"), "{lz4}");
    assert!(error(b"hello, world".to_vec()).contains("is not a capture: it starts with"));
    assert!(error(b"arrival_ns,flow,bytes,cpu_ns".to_vec()).contains("CSV"));
    assert!(error(vec![0xd4, 0xc3]).contains("header is cut off"));
    assert!(error(pcap(1, &[])[..20].to_vec()).contains("header is cut off"));
    assert!(error(section(Order::Little)[..20].to_vec()).contains("header is cut off"));
    assert!(error(pcap(187, &[])).contains("link type 187 cannot be read: Ethernet (1)"));
    // In pcapng others than the unsupported interfaces are read, if anything came through them.
    let frame = tcp(1, 2, 7);
    let mut file = section(Order::Little);
    file.extend(interface(Order::Little, 187, 0, &[]));
    file.extend(interface(Order::Little, 1, 0, &[]));
    assert!(drain(&mut open(file.clone()).unwrap()).is_empty());
    file.extend(enhanced(Order::Little, 0, 0, 64, &frame));
    let error = open(file.clone()).unwrap().next().unwrap_err().to_string();
    assert!(error.starts_with("test.pcap: link type 187 cannot be read"), "{error}");
    file.extend(enhanced(Order::Little, 1, 0, 64, &frame));
    let (arrivals, notices) = read(file);
    assert_eq!((arrivals.len(), count(&notices, "link type that cannot be read")), (1, 1));
    // A file with only a header is a capture without packets.
    assert!(drain(&mut open(pcap(1, &[])).unwrap()).is_empty());
}

#[test]
fn classes_by_port_and_by_chance() {
    let cost = |nanos: f64| Cost::new(0.0, nanos).unwrap();
    let mut web = Class::new("web", &[("cpu", cost(1.0))]);
    web.ports = vec!["80".parse().unwrap()];
    let classes = vec![web, Class::new("a", &[("cpu", cost(2.0))]), Class::new("b", &[("cpu", cost(3.0))])];
    let set = ClassSet::new(vec![Resource::new("cpu")], classes).unwrap();
    let udp = |port: u16| {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([2; 6], [3; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(port, 9);
        builder.write(&mut frame, &[]).unwrap();
        frame
    };
    let frames: Vec<_> = std::iter::once(tcp(1, 2, 7)).chain((1000..3000).map(udp)).collect();
    let packets: Vec<(u64, u32, &[u8])> = frames.iter().map(|frame| (0, 64, &frame[..])).collect();
    let file = pcap(1, &packets);
    let run = |seed| {
        let options = CaptureOptions { seed, ..CaptureOptions::new(set.clone()) };
        let mut capture = Capture::open(Box::new(Cursor::new(file.clone())), "test.pcap", options).unwrap();
        let arrivals = drain(&mut capture);
        assert_eq!(capture.class(arrivals[0].flow), Some("web"));
        for arrival in &arrivals {
            let class = capture.class(arrival.flow).unwrap();
            let nanos = ["web", "a", "b"].iter().position(|name| *name == class).unwrap() as u64 + 1;
            assert_eq!(arrival.demand.times(), [Nanos(nanos)], "{class}");
        }
        arrivals.iter().map(|arrival| arrival.demand.dominant().0).collect::<Vec<_>>()
    };
    let first = run(1);
    assert_eq!(first, run(1), "a seed fixes the classes");
    assert_ne!(first, run(2), "another seed deals anew");
    let in_a = first.iter().filter(|&&nanos| nanos == 2).count();
    // Four standard deviations of a binomial of 2,000 and 1/2 are 89.
    assert!(in_a.abs_diff(1000) < 90, "{in_a}");
}

#[test]
fn scaled_to_a_load() {
    let frame = tcp(1, 2, 7);
    // 10 packets of 100 bytes in 9 ms: 1 ms of work at a microsecond a byte, a load of 1/9.
    let packets: Vec<(u64, u32, &[u8])> = (0..10).map(|at| (at * 1000, 100, &frame[..])).collect();
    let file = pcap(1, &packets);
    let before = survey(&mut open(file.clone()).unwrap()).unwrap();
    assert_eq!((before.packets, before.bytes, before.flows), (10, 1000, 1));
    assert_eq!((before.duration, &before.demand[..]), (Nanos::from_millis(9), &[Nanos::from_millis(1)][..]));
    assert!((before.loads()[0] - 1.0 / 9.0).abs() < 1e-12);
    let time_scale = scale_for_load(&before, 2.0);
    let options = CaptureOptions { time_scale, ..CaptureOptions::new(bytes_only()) };
    let mut scaled = Capture::open(Box::new(Cursor::new(file)), "test.pcap", options).unwrap();
    let after = survey(&mut scaled).unwrap();
    assert!((after.loads()[0] - 2.0).abs() < 1e-6, "{:?}", after.loads());
    // One packet takes no time, so there is nothing to scale.
    let one = survey(&mut open(pcap(1, &[(0, 100, &frame)])).unwrap()).unwrap();
    assert_eq!(scale_for_load(&one, 0.9), 1.0);
}

#[test]
fn it_is_a_boxed_workload() {
    let frame = tcp(1, 2, 7);
    let mut boxed: Box<dyn Workload> = Box::new(open(pcap(1, &[(0, 64, &frame)])).unwrap());
    assert_eq!(boxed.resources(), ["link"]);
    assert_eq!(boxed.packets_hint(), None);
    let arrival = boxed.next().unwrap().unwrap();
    assert!(boxed.refill(arrival.flow, Nanos(5)).is_none(), "a captured flow is never backlogged");
    assert!(boxed.next().unwrap().is_none() && boxed.next().unwrap().is_none());
    fn sends<T: Send>(_: &T) {}
    sends(&open(pcap(1, &[])).unwrap());
}
