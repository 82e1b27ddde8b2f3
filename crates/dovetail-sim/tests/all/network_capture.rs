//! The capture of the watched link, and byte-identical runs.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, env, fs, io::Cursor, process};

use dovetail_sched::{Nanos, units::Rate};
use dovetail_sim::{
    network::{Arrivals, Congestion, Datagrams, Kind, Network, Traffic},
    workload::{Capture, CaptureOptions, ClassSet, Resource, Size, Workload},
};
use dovetail_skip::skipped;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

use crate::dumbbell::{dumbbell, traffic};
use crate::recorded::records;
use crate::watch::{Run, lines, run};

/// Transfers and UDP that keep the buffer full at times.
fn small(congestion: Congestion) -> Network {
    let web =
        Kind::Transfers { count: 30, size: Size::Uniform(1, 60), unit_bytes: 1000, arrivals: Arrivals::Load(0.8) };
    let udp = Datagrams { bytes: 333, gap: Nanos::from_millis(20), random: false, on_off: None, flow_each: true };
    let udp = Traffic { name: "udp".into(), ..traffic(3, Kind::Datagrams(udp)) };
    let mut network = dumbbell(3, 3.0, 15, vec![traffic(3, web), udp]);
    network.stop_at = Some(Nanos::from_secs(60));
    network.transport.tcp.congestion = congestion;
    network
}

fn digest(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Digests of the run's transfers and streams, and of its capture.
fn digests(run: &Run) -> [u32; 2] {
    [digest(lines(&run.outcome).as_bytes()), digest(&run.capture)]
}

#[test]
fn equal_seeds_give_equal_runs_and_others_others() {
    for policy in ["fifo", "drr", "sfq"] {
        let network = small(Congestion::Reno);
        let [first, again] = [(); 2].map(|()| run(&network, policy));
        assert!(first.outcome.link.dropped > 0);
        assert!(first.capture == again.capture && lines(&first.outcome) == lines(&again.outcome));
        assert_eq!(first.watch.sent, again.watch.sent);
        let other = run(&Network { seed: 2, ..network }, policy);
        assert!(first.capture != other.capture && lines(&first.outcome) != lines(&other.outcome));
    }
}

/// Pins the runs: they change with the transport, and with intended changes of the network.
#[test]
fn golden() {
    let of = |congestion| digests(&run(&small(congestion), "drr"));
    assert_eq!(of(Congestion::Reno), [594_956_221, 2_312_468_147]);
    assert_eq!(of(Congestion::Cubic), [4_020_398_919, 2_665_492_459]);
}

#[test]
fn a_capture_is_what_the_observer_saw() {
    let run = run(&small(Congestion::Reno), "drr");
    let records = records(&run.capture);
    assert_eq!(records.len(), run.watch.sent.len());
    for ((nanos, bytes), sent) in records.iter().zip(&run.watch.sent) {
        assert_eq!((*nanos, bytes.len() as u64), (sent.begun.0, u64::from(sent.bytes)));
    }
}

#[test]
fn the_projects_reader_reads_it() {
    let run = run(&small(Congestion::Reno), "drr");
    let link = Resource::with_rate("link", Rate::from_bps(3e6).unwrap());
    let classes = ClassSet::new(vec![link], vec![]).unwrap();
    let mut capture =
        Capture::open(Box::new(Cursor::new(run.capture)), "run.pcap", CaptureOptions::new(classes)).unwrap();
    let first = run.watch.sent[0].begun;
    let mut flows = BTreeMap::new();
    for sent in &run.watch.sent {
        let arrival = capture.next().unwrap().unwrap();
        assert_eq!((arrival.at, arrival.bytes), (sent.begun - first, sent.bytes));
        // An id may be reused here once a flow is forgotten, but never twice at a time: 60 s are too few for that.
        assert_eq!(*flows.entry(sent.flow).or_insert(arrival.flow), arrival.flow);
    }
    assert!(capture.next().unwrap().is_none() && capture.notices().is_empty(), "{:?}", capture.notices());
}

/// The internet checksum of words (RFC 1071): 0xffff over data with a correct checksum.
fn sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

/// Kinds of the options of a TCP header, and their values' lengths, without padding.
fn options(mut bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut found = Vec::new();
    while let [kind, rest @ ..] = bytes {
        match (kind, rest) {
            (0, _) => break,
            (1, _) => bytes = rest,
            (kind, [length, ..]) => {
                found.push((*kind, usize::from(*length) - 2));
                bytes = &bytes[usize::from(*length)..];
            }
            _ => panic!("an option without a length"),
        }
    }
    found
}

/// By hand, from the octets: the writer's own library would accept its own errors.
#[test]
fn headers_are_right_octet_by_octet() {
    // Data one way, acknowledgements the other.
    let there = small(Congestion::Cubic);
    let back = Network { watched: 1, ..there.clone() };
    let captures = [there, back].map(|network| run(&network, "fifo").capture);
    let (mut syns, mut blocks) = (0, 0);
    for (_, bytes) in captures.iter().flat_map(|capture| records(capture)) {
        let (ip, body) = bytes.split_at(20);
        assert_eq!((ip[0], sum(&[ip])), (0x45, 0xffff));
        let length = (body.len() as u16).to_be_bytes();
        let pseudo = [&ip[12..20], &[0, ip[9]], &length].concat();
        assert_eq!(sum(&[&pseudo, body]), 0xffff);
        if ip[9] != 6 {
            continue;
        }
        let header = usize::from(body[12] >> 4) * 4;
        let options = options(&body[20..header]);
        let (is_syn, kinds) = (body[13] & 2 != 0, options.iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
        if is_syn {
            // RFC 9293's largest segment, RFC 2018's permission, RFC 7323's scale.
            assert_eq!(kinds, [2, 4, 3]);
            syns += 1;
        } else {
            assert!(options.iter().all(|&(kind, bytes)| kind == 5 && bytes > 0 && bytes % 8 == 0), "{options:?}");
            blocks += options.len();
        }
    }
    assert!(syns > 20 && blocks > 20, "{syns} {blocks}");
}

/// An independent reader of checksums and options.
#[test]
fn tshark_finds_checksums_and_options_right() {
    const FIELDS: [&str; 6] = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "tcp.ack_raw",
    ];
    let there = small(Congestion::Cubic);
    let back = Network { watched: 1, ..there.clone() };
    let (mut tcp, mut udp, mut blocks) = (0, 0, 0);
    for (name, network) in [("there", there), ("back", back)] {
        let capture = run(&network, "fifo").capture;
        let file = env::temp_dir().join(format!("dovetail-{name}-{}.pcap", process::id()));
        fs::write(&file, &capture).unwrap();
        let mut tshark = process::Command::new("tshark");
        tshark.args(["-n", "-T", "fields", "-E", "separator=;", "-r"]).arg(&file);
        tshark.args(["ip", "tcp", "udp"].iter().flat_map(|of| ["-o".into(), format!("{of}.check_checksum:TRUE")]));
        tshark.args(["-o", "tcp.relative_sequence_numbers:FALSE"]);
        tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
        let read = tshark.output();
        fs::remove_file(&file).unwrap();
        let Ok(read) = read else { return skipped("there is no tshark") };
        let text = String::from_utf8(read.stdout).unwrap();
        assert_eq!(text.lines().count(), records(&capture).len(), "{}", String::from_utf8_lossy(&read.stderr));
        for line in text.lines() {
            let fields: Vec<_> = line.split(';').collect();
            let [ip, of_tcp, of_udp, from, to, acknowledged] = fields[..] else { panic!("{line}") };
            // 1: good.
            assert!(ip == "1" && matches!((of_tcp, of_udp), ("1", "") | ("", "1")), "{line}");
            tcp += usize::from(of_tcp == "1");
            udp += usize::from(of_udp == "1");
            let numbers =
                |list: &str| -> Vec<u32> { list.split(',').filter_map(|number| number.parse().ok()).collect() };
            let (from, to) = (numbers(from), numbers(to));
            let acknowledged: Option<u32> = acknowledged.parse().ok();
            assert_eq!(from.len(), to.len(), "{line}");
            for (at, (from, to)) in from.iter().zip(&to).enumerate() {
                let length = to.wrapping_sub(*from);
                // The first may report a duplicate.
                let is_ahead = acknowledged.is_some_and(|all| from.wrapping_sub(all) < 1 << 20);
                assert!((1..1 << 20).contains(&length) && (at == 0 || is_ahead), "{line}");
                blocks += 1;
            }
        }
    }
    assert!(tcp > 1000 && udp > 1000 && blocks > 20, "{tcp} {udp} {blocks}");
}

#[test]
fn packets_are_whole_and_their_checksums_right() {
    let run = run(&small(Congestion::Cubic), "fifo");
    let (mut tcp_packets, mut udp_packets) = (0, 0);
    for (_, bytes) in records(&run.capture) {
        let packet = SlicedPacket::from_ip(bytes).unwrap();
        let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("not IPv4") };
        assert_eq!(usize::from(ip.header().total_len()), bytes.len());
        assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
        match packet.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                assert_eq!(Ok(tcp.checksum()), tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()));
                tcp_packets += 1;
            }
            Some(TransportSlice::Udp(udp)) => {
                let header = udp.to_header();
                let ip = ip.header().to_header();
                assert_eq!(Ok(udp.checksum()), header.calc_checksum_ipv4(&ip, udp.payload()));
                udp_packets += 1;
            }
            other => panic!("neither TCP nor UDP: {other:?}"),
        }
    }
    assert!(tcp_packets > 500 && udp_packets > 1000, "{tcp_packets} {udp_packets}");
}
