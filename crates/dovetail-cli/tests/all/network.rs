//! `dovetail compare` over a network, from outside: its output follows from the records and the capture that it writes.

use crate::support;

use std::{collections::BTreeMap, fs, path::Path};

use crate::support::{
    SMALL_NETWORK, dovetail,
    figures::{check_fairness, check_figures},
    folder, near,
    records::Records,
    stdout, written,
};
use serde_json::Value;

/// The small network without unlimited traffic.
fn transfers_alone() -> String {
    let (alone, _) = SMALL_NETWORK.split_once("[[traffic]]\nname = \"ftp\"").expect("the file transfer");
    alone.replace("stop = \"40s\"\n", "")
}

/// Runs three policies over a network and keeps all output.
fn compare(folder: &Path, text: &str, more: &[&str]) -> Value {
    let network = written(folder, "network.toml", text);
    let folder = folder.to_str().expect("a plain path");
    let policies = ["--policy", "fifo", "--policy", "las", "--policy", "drr-sff"];
    let args = [&["compare", &network, "--json", "--records", folder, "--pcap", folder], &policies[..], more].concat();
    let document: Value = serde_json::from_str(&stdout(&args)).expect("one JSON document and nothing else");
    assert_eq!(policies_of(&document).len(), 3);
    document
}

fn policies_of(document: &Value) -> &Vec<Value> {
    document["policies"].as_array().expect("policies")
}

/// An IP packet of a capture.
struct Captured {
    nanos: u64,
    protocol: u8,
    /// As the records write a flow.
    flow: String,
    bytes: u64,
    /// TCP's sequence number, flags and payload.
    sequence: u32,
    flags: u8,
    payload: u64,
}

const SYN: u8 = 2;

/// Reads a capture: pcap, nanoseconds, raw IPv4.
fn read_capture(path: &Path) -> Vec<Captured> {
    let file = fs::read(path).expect("the capture is there");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 101));
    let mut packets = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let [seconds, nanos, kept, length] = [0, 4, 8, 12].map(|offset| word(at + offset));
        assert_eq!(kept, length, "packets are whole");
        let ip = &file[at + 16..at + 16 + kept as usize];
        at += 16 + kept as usize;
        let big = |from: usize| u16::from_be_bytes([ip[from], ip[from + 1]]);
        assert_eq!((ip[0], u32::from(big(2))), (0x45, length), "IPv4 without options");
        let dotted = |from: usize| ip[from..from + 4].iter().map(u8::to_string).collect::<Vec<_>>().join(".");
        let is_tcp = ip[9] == 6;
        packets.push(Captured {
            nanos: u64::from(seconds) * 1_000_000_000 + u64::from(nanos),
            protocol: ip[9],
            flow: format!("{}:{}>{}:{}", dotted(12), big(20), dotted(16), big(22)),
            bytes: length.into(),
            sequence: if is_tcp { u32::from_be_bytes([ip[24], ip[25], ip[26], ip[27]]) } else { 0 },
            flags: if is_tcp { ip[33] } else { 0 },
            payload: u64::from(length) - if is_tcp { 20 + u64::from(ip[32] >> 4) * 4 } else { 28 },
        });
    }
    packets
}

/// The capture contains the records' packets that were sent, each at the time when its first bit left.
fn check_capture(capture: &[Captured], records: &Records) {
    let mut rows: Vec<_> = records.rows.iter().collect();
    rows.sort_by_key(|row| row.start[0]);
    assert_eq!(capture.len(), rows.len());
    for (captured, row) in capture.iter().zip(rows) {
        let flow = &records.flows[row.flow as usize];
        let from_records = (row.start[0], flow, u64::from(row.bytes));
        assert_eq!((captured.nanos, &captured.flow, captured.bytes), from_records);
    }
}

/// A flow's packets that arrived and that were dropped, and the time and length of the first.
#[derive(Default)]
struct Arrived {
    packets: u64,
    dropped: u64,
    first: Option<(u64, u64)>,
}

/// Every flow of a file of records, from its text.
fn arrivals(path: &Value) -> BTreeMap<String, Arrived> {
    let text = fs::read_to_string(path.as_str().expect("a path")).expect("records");
    let mut flows: BTreeMap<String, Arrived> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
        let flow = flows.entry(fields[1].to_owned()).or_default();
        flow.packets += 1;
        flow.dropped += u64::from(fields.last() == Some(&"dropped"));
        let seen = (number(3), number(2));
        flow.first = Some(flow.first.map_or(seen, |first| first.min(seen)));
    }
    flows
}

/// From node to node: 10 ms and the packet's bits at 10 Mbit/s.
fn host_link_ns(bytes: u64) -> u64 {
    10_000_000 + bytes * 800
}

/// When a packet reaches the receiver: its bits at 1 Mbit/s, 30 ms, and a host's link.
fn taken_at(packet: &Captured) -> u64 {
    packet.nanos + packet.bytes * 8000 + 30_000_000 + host_link_ns(packet.bytes)
}

/// A transfer as seen at the link.
struct Seen {
    bytes: u64,
    seconds: f64,
    ended: f64,
    dropped: u64,
}

/// Completed transfers, as seen at the link. A transfer starts the delay of a host's link before its first packet reaches
/// the watched one, and ends when the last of its bytes to cross that has crossed the receiver's link: 30 ms and a host's
/// link later.
fn transfers_seen(capture: &[Captured], arrivals: &BTreeMap<String, Arrived>, from: &[&str]) -> Vec<Seen> {
    let of_hosts = |flow: &str| from.iter().any(|host| flow.starts_with(&format!("{host}:")));
    let mut seen = Vec::new();
    for (flow, arrived) in arrivals.iter().filter(|(flow, _)| of_hosts(flow)) {
        let packets = || capture.iter().filter(|packet| packet.flow == *flow);
        let (first, syn_bytes) = arrived.first.expect("a packet");
        let begun = first - host_link_ns(syn_bytes);
        let initial = packets().find(|packet| packet.flags & SYN != 0).expect("a handshake").sequence;
        // When the first byte of each segment had crossed.
        let mut through: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for packet in packets().filter(|packet| packet.payload > 0) {
            let offset = packet.sequence.wrapping_sub(initial).wrapping_sub(1);
            through.entry(offset).or_insert((packet.payload, taken_at(packet)));
        }
        let bytes = through.iter().map(|(&offset, &(payload, _))| u64::from(offset) + payload).max().expect("bytes");
        let mut covered = 0;
        for (&offset, &(payload, _)) in &through {
            assert!(u64::from(offset) <= covered, "{flow}: a hole at {covered}");
            covered = covered.max(u64::from(offset) + payload);
        }
        let ended = through.values().map(|&(_, at)| at).max().expect("an end");
        seen.push(Seen {
            bytes,
            seconds: (ended - begun) as f64 / 1e9,
            ended: ended as f64 / 1e9,
            dropped: arrived.dropped,
        });
    }
    seen
}

/// Packets of one host queue in front of its link: a few of them, 0.8 ms each.
const UNCERTAIN_S: f64 = 0.005;

fn check_times(said: &Value, seen: &[Seen]) {
    for (class, range) in [("short", 0..20_000), ("middle", 20_000..1_000_001), ("long", 1_000_001..u64::MAX)] {
        let said = &said[class];
        let of_class = || seen.iter().filter(|one| range.contains(&one.bytes));
        let mut seconds: Vec<f64> = of_class().map(|one| one.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        assert_eq!(said["done"], seconds.len() as u64, "{class}");
        assert_eq!(said["unfinished"], 0, "{class}");
        assert_eq!(said["dropped_packets"], of_class().map(|one| one.dropped).sum::<u64>(), "{class}");
        if seconds.is_empty() {
            assert!(["mean_s", "median_s", "p95_s"].iter().all(|key| said[key].is_null()), "{class}");
            continue;
        }
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let at = |share: f64| seconds[((share * seconds.len() as f64).ceil() as usize).max(1) - 1];
        for (key, want) in [("mean_s", mean), ("median_s", at(0.5)), ("p95_s", at(0.95))] {
            let got = said[key].as_f64().expect("a number");
            assert!((got - want).abs() < UNCERTAIN_S, "{class} {key}: printed {got}, from the capture {want}");
        }
    }
}

#[test]
fn every_number_of_transfers_follows_from_records_and_capture() {
    let folder = folder("network-transfers");
    let document = compare(&folder, &transfers_alone(), &[]);
    let mut short = 0;
    for policy in policies_of(&document) {
        let name = policy["policy"].as_str().expect("a name");
        let records = check_figures(policy, &["link"]);
        // The records do not contain the time when a queued packet was evicted, as by the other policies with a full buffer.
        if name == "fifo" {
            check_fairness(policy, &records);
        }
        let capture = read_capture(&folder.join(format!("{name}.pcap")));
        check_capture(&capture, &records);
        let arrivals = arrivals(&policy["records"]);
        let seen = transfers_seen(&capture, &arrivals, &["10.0.0.3", "10.0.0.4"]);
        assert_eq!(seen.len(), 40, "{name}");
        check_times(&policy["transfers"], &seen);
        assert_eq!(policy["streams"], Value::Array(Vec::new()), "{name}");
        assert_eq!(policy["evicted_flows"], 0, "{name}");
        let ended = policy["ended_s"].as_f64().expect("a time");
        let last = seen.iter().map(|one| one.ended).fold(0.0, f64::max);
        assert!((ended - last).abs() < 1e-6, "{name}: ended {ended}, the last byte came at {last}");
        assert!(policy["wall_s"].as_f64().expect("a time") > 0.0);
        short += policy["transfers"]["short"]["done"].as_u64().expect("a count");
    }
    assert!(short >= 60, "most transfers are short");
}

/// Bytes of a stream's packets that the receiver got in a span of seconds, from the capture: payload of TCP, each byte
/// once; whole packets of UDP.
fn received(capture: &[Captured], host: &str, from: u64, to: u64) -> u64 {
    let span = from * 1_000_000_000..to * 1_000_000_000;
    let mut known = std::collections::HashSet::new();
    let own = capture.iter().filter(|packet| packet.flow.starts_with(&format!("{host}:")));
    let news = own.filter(|packet| packet.protocol == 17 || packet.payload > 0 && known.insert(packet.sequence));
    news.filter(|packet| span.contains(&taken_at(packet)))
        .map(|packet| if packet.protocol == 17 { packet.bytes } else { packet.payload })
        .sum()
}

#[test]
fn every_number_of_streams_follows_from_records_and_capture() {
    let folder = folder("network-streams");
    let document = compare(&folder, SMALL_NETWORK, &[]);
    for policy in policies_of(&document) {
        let name = policy["policy"].as_str().expect("a name");
        let records = check_figures(policy, &["link"]);
        let capture = read_capture(&folder.join(format!("{name}.pcap")));
        check_capture(&capture, &records);
        assert_eq!(policy["ended_s"], 40.0);
        let arrivals = arrivals(&policy["records"]);
        let streams = policy["streams"].as_array().expect("streams");
        assert_eq!(streams.len(), 2);
        // Packets queued at the end have no line. Senders react to a policy, so packets are counted there for the first
        // policy only.
        if name == "fifo" {
            let [all, sent, dropped] = [&document["workload"]["packets"], &policy["sent"], &policy["dropped"]]
                .map(|count| count.as_u64().expect("a count"));
            assert!((sent + dropped..=sent + dropped + 15).contains(&all), "a buffer of 15: {all}, {sent}, {dropped}");
        }
        for (traffic, host) in [("ftp", "10.0.0.5"), ("voice", "10.0.0.6")] {
            let stream = streams.iter().find(|stream| stream["traffic"] == traffic).expect("the stream");
            let own: Vec<_> = arrivals.iter().filter(|(flow, _)| flow.starts_with(&format!("{host}:"))).collect();
            let [(_, arrived)] = own[..] else { panic!("{} flows from {host}", own.len()) };
            assert_eq!(stream["dropped"], arrived.dropped, "{name} {traffic}");
            let packets = stream["packets"].as_u64().expect("a count");
            assert!((arrived.packets..=arrived.packets + 16).contains(&packets), "{name} {traffic}: {packets}");
            let mut took: Vec<u64> = records
                .rows
                .iter()
                .filter(|row| records.flows[row.flow as usize].starts_with(&format!("{host}:")))
                .map(|row| row.end[0] - row.arrival)
                .collect();
            took.sort_unstable();
            for (key, hundredths) in [("p50", 50), ("p99", 99), ("max", 100)] {
                let exact_us = took[(took.len() * hundredths).div_ceil(100) - 1] as f64 / 1e3;
                let given = stream["latency_us"][key].as_f64().expect("a time");
                assert!(
                    (exact_us..exact_us * 1.001 + 1e-6).contains(&given),
                    "{name} {traffic} {key}: {given}, {exact_us}"
                );
            }
            // The first ten seconds are excluded.
            let mbps = |from, to| received(&capture, host, from, to) as f64 * 8.0 / 1e6 / (to - from) as f64;
            // A receiver reads what is beyond a gap only once the gap is filled, so TCP may differ at the ends of the span
            // by what is held back.
            let tolerance = if traffic == "voice" { 1e-9 } else { 0.02 };
            near(&stream["mean_mbps"], mbps(10, 40), tolerance, traffic);
            let least = [10, 20, 30].map(|from| mbps(from, from + 10)).into_iter().fold(f64::MAX, f64::min);
            near(&stream["least_window_mbps"], least, 2.0 * tolerance, traffic);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let run = |seed: &str| {
        let folder = folder("network-seed");
        let mut document = compare(&folder, SMALL_NETWORK, &["--seed", seed]);
        for policy in document["policies"].as_array_mut().expect("policies") {
            assert!(policy["wall_s"].take().is_number());
        }
        let files = ["fifo", "las", "drr-sff"].map(|name| {
            ["csv", "pcap"].map(|kind| fs::read(folder.join(format!("{name}.{kind}"))).expect("it is written"))
        });
        (document.to_string(), files)
    };
    let (said, files) = run("7");
    assert!((said.as_str(), &files) == (run("7").0.as_str(), &run("7").1), "the same seed gave another run");
    let (other, others) = run("8");
    assert!(said != other && files[0] != others[0]);
    // Sequential and parallel runs are the same.
    let network = written(&folder("network-jobs"), "network.toml", SMALL_NETWORK);
    assert_eq!(stdout(&["compare", &network, "--jobs", "1"]), stdout(&["compare", &network, "--jobs", "5"]));
}

/// When the first packets of the transfers reach the link, from the first to the last, in seconds.
fn beginnings(policy: &Value) -> f64 {
    let mut first: Vec<u64> = arrivals(&policy["records"]).values().filter_map(|flow| Some(flow.first?.0)).collect();
    first.sort_unstable();
    (first[first.len() - 1] - first[0]) as f64 / 1e9
}

#[test]
fn options_change_what_they_say() {
    let folder = folder("network-options");
    let text = transfers_alone();
    let plain = beginnings(&compare(&folder, &text, &[])["policies"][0]);
    let half = beginnings(&compare(&folder, &text, &["--load", "0.4"])["policies"][0]);
    assert!((half / plain - 2.0).abs() < 0.01, "at half the load transfers begin over {half} s, not over {plain}");
    let document = compare(&folder, &text, &["--link", "2Mbps"]);
    for policy in policies_of(&document) {
        for row in &check_figures(policy, &["link"]).rows {
            assert_eq!(row.end[0] - row.start[0], u64::from(row.bytes) * 4000, "8 bits at 2 Mbit/s");
        }
    }
    // The load is relative to the link, so the same load on a link of twice the rate arrives in half the time.
    let twice = beginnings(&document["policies"][0]);
    assert!((twice / plain - 0.5).abs() < 0.01, "on twice the link transfers begin over {twice} s, not over {plain}");
}

#[test]
fn the_page_and_the_table_have_all_parts() {
    let folder = folder("network-page");
    let text = SMALL_NETWORK.replace("name = \"ftp\"", "name = \"</script><b>\"");
    let network = written(&folder, "network.toml", &text);
    let page = folder.join("report.html");
    let args = ["compare", &network, "--report", page.to_str().expect("plain")];
    let said = stdout(&args);
    for words in [
        "small: web (40 transfers), </script><b> (an unlimited connection), voice (UDP) from r1 to r0 at 1.00 Mbit/s",
        "TCP cubic",
        "unfinished",
        "voice Mbit/s",
        "short transfers (under 20 kB)",
        "report.html",
    ] {
        assert!(said.contains(words), "no '{words}' in:\n{said}");
    }
    for policy in ["fifo", "drr", "las", "run2c", "drr-sff"] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(policy)), "no {policy} in:\n{said}");
    }
    let html = fs::read_to_string(&page).expect("the page is written");
    for title in ["Time by size", "Short transfers", "Rate of voice over time", "Time at the link", "Flows"] {
        assert!(html.contains(title), "no '{title}' on the page");
    }
    assert!(html.contains("Rate of &lt;/script&gt;&lt;b&gt; over time"), "names are text");
    assert!(!html.contains("</script><b>"), "names are not markup");
}

#[test]
fn marked_packets_are_counted_where_the_link_marks() {
    let folder = folder("network-marks");
    let plain = compare(&folder, SMALL_NETWORK, &[]);
    assert!(policies_of(&plain).iter().all(|policy| policy.get("marked").is_none()));
    let marking = SMALL_NETWORK
        .replace("watched = true", "watched = true\nmark_packets = 5")
        .replace("[network]", "[network]\ntransport = \"linux:ecn=on\"");
    let marking = compare(&folder, &marking, &[]);
    for policy in policies_of(&marking) {
        let marked = policy["marked"].as_u64().expect("a count");
        let packets = policy["sent"].as_u64().expect("a count");
        assert!(marked > 0 && marked <= packets, "{policy}");
    }
    let notes = marking["notes"].to_string();
    assert!(notes.contains("packets were marked"), "{notes}");
}

#[test]
fn what_a_network_has_no_use_for_is_refused() {
    let folder = folder("network-refused");
    let network = written(&folder, "network.toml", SMALL_NETWORK);
    let network = network.as_str();
    let table = support::small_table(&folder);
    let table = table.to_str().expect("plain");
    for (args, said) in [
        (&["compare", network, "--trace", "x.pcap"][..], "--trace: small is a network: its packets come from hosts"),
        (&["compare", network, "--pipeline", "no-wait"], "--pipeline: small is a network: each link is one resource"),
        (&["compare", network, "--queue-packets", "9"], "--queue-packets: small is a network: the file says how much"),
        (&["compare", network, "--programs", "p.toml"], "--programs: packets of a network run no programs"),
        (&["compare", network, "--policy", "drr", "--policy", "drr"], "twice"),
        (&["compare", "--workload", table, "--pcap", "out"], "--pcap: only a network's link"),
    ] {
        let output = dovetail(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(said) && output.stdout.is_empty(), "{args:?}: no '{said}' in: {errors}");
    }
}

#[test]
fn a_link_that_nothing_crosses_is_noted() {
    let folder = folder("network-idle");
    let one = "name = \"x\"\n[network]\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\nwatched = true\n\
        [[link]]\nbetween = [\"a\", \"c\"]\nrate = \"1Mbps\"\n\
        [[traffic]]\nname = \"t\"\nfrom = \"c\"\nto = \"b\"\ntransfers = { count = 1, size = 100 }\n";
    let idle = "note: no packet reached the watched link";
    let said = stdout(&["compare", &written(&folder, "one.toml", one), "--policy", "fifo"]);
    assert!(
        said.contains("t (1 transfer) from a to b") && said.contains("note: 1 short transfer (under 20 kB)"),
        "{said}"
    );
    assert!(!said.contains(idle), "{said}");
    let elsewhere = one.replace("to = \"b\"", "to = \"a\"");
    let never = one.replace("[network]", "[network]\nstop = \"0s\"");
    for text in [&elsewhere, &never] {
        let said = stdout(&["compare", &written(&folder, "idle.toml", text), "--policy", "fifo"]);
        assert!(said.contains(idle), "{said}");
    }
}

#[test]
fn a_link_of_a_bit_a_second_is_not_shown_as_none() {
    let folder = folder("network-slow");
    let text = "name = \"x\"\n[network]\nstop = \"9000s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1bps\"\nwatched = true\n\
        [[traffic]]\nname = \"t\"\nfrom = \"a\"\nto = \"b\"\nudp = { bytes = 40, rate = \"1bps\" }\n";
    let said = stdout(&["compare", &written(&folder, "slow.toml", text), "--policy", "fifo"]);
    assert!(said.contains("at 0.000001 Mbit/s") && !said.contains("0.000 "), "{said}");
}

#[test]
fn a_network_that_cannot_run_is_a_clear_error_with_status_1() {
    let folder = folder("network-wrong");
    let apart = SMALL_NETWORK.replace("between = [\"r0\", [", "between = [\"elsewhere\", [");
    let unknown = SMALL_NETWORK.replace("mtu = 1040", "mtu = 1040\nspeed = 3");
    for (text, said) in [
        (&apart, "network.toml, line 21: traffic 'web': there is no path from '"),
        (&unknown, "network.toml, line 7: unknown field `speed`"),
        (&SMALL_NETWORK.replace("watched = true\n", ""), "network.toml: one link is to have watched = true"),
    ] {
        let output = dovetail(&["compare", &written(&folder, "network.toml", text), "--policy", "fifo"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(said) && output.stdout.is_empty(), "no '{said}' in: {errors}");
    }
}
