//! `dovetail explain` from outside: its output follows from the records it writes, and usage errors are reported.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{
    SMALL_NETWORK, dovetail, folder,
    recompute::Row,
    records::{Records, read_records},
    small_table, stdout, written,
};

fn explain(args: &[&str]) -> Value {
    let args = [&["explain"], args, &["--json"]].concat();
    serde_json::from_str(&stdout(&args)).expect("one JSON document and nothing else")
}

/// The value of a part: a number, or the sum of an object's numbers.
fn nanos(part: &Value) -> u64 {
    match part {
        Value::Object(parts) => parts.values().map(nanos).sum(),
        Value::Null => 0,
        part => part.as_u64().unwrap_or_else(|| panic!("{part} is no time")),
    }
}

/// Asserts that the parts of an explanation sum to its latency.
fn sums(explained: &Value) {
    let parts = ["own_ns", "same_flow_ns", "behind_ns", "stalled_ns", "held_ns", "recovering_ns", "on_its_way_ns"];
    let sum: u64 = parts.iter().map(|part| nanos(&explained[part])).sum();
    assert_eq!(sum, nanos(&explained["latency_ns"]), "{explained}");
}

fn listed<'a>(document: &'a Value, what: &str) -> &'a [Value] {
    document[what].as_array().unwrap_or_else(|| panic!("{what} in {document}"))
}

/// How long a packet waited while packets of each flow were processed, computed over all pairs of packets.
fn behind(of: &Row, all: &[Row]) -> BTreeMap<u32, u64> {
    let mut behind = BTreeMap::new();
    for j in 0..of.start.len() {
        let came = if j == 0 { of.arrival } else { of.end[j - 1] };
        for other in all {
            let overlap = of.start[j].min(other.end[j]).saturating_sub(came.max(other.start[j]));
            *behind.entry(other.flow).or_default() += overlap;
        }
    }
    behind
}

#[test]
fn every_part_follows_from_the_records() {
    let folder = folder("explain-table");
    let table = small_table(&folder);
    let table = table.to_str().expect("a plain path");
    let to = folder.to_str().expect("a plain path");
    for (policy, mode) in [("fifo", "no-wait"), ("drfq", "buffer=2"), ("cbcs", "unbounded"), ("mr3", "no-wait")] {
        let document = explain(&["--workload", table, "--policy", policy, "--pipeline", mode, "--records", to]);
        let Records { rows, numbers, flows, .. } = read_records(&folder.join(format!("{policy}.csv")));
        assert_eq!(document["selected"]["packets"], rows.len() as u64);
        let latency: u64 = rows.iter().map(|row| row.end[1] - row.arrival).sum();
        assert_eq!(document["selected"]["latency_ns"], latency, "{policy}");
        sums(&document["selected"]);
        listed(&document, "flows").iter().for_each(sums);
        let of_flows: u64 = listed(&document, "flows").iter().map(|flow| nanos(&flow["latency_ns"])).sum();
        assert_eq!(of_flows, latency);
        let slowest = listed(&document, "slowest");
        assert_eq!(slowest.len(), 5);
        for packet in slowest {
            sums(packet);
            let at = numbers.iter().position(|&number| packet["packet"] == number).expect("in the records");
            assert_eq!(packet["latency_ns"], rows[at].end[1] - rows[at].arrival);
            assert_eq!(packet["flow"], flows[rows[at].flow as usize].as_str());
            for (flow, waited) in behind(&rows[at], &rows) {
                let told = match flow == rows[at].flow {
                    true => &packet["same_flow_ns"],
                    false => &packet["behind_ns"][&flows[flow as usize]],
                };
                assert_eq!(nanos(told), waited, "{policy}: {packet} behind {}", flows[flow as usize]);
            }
        }
        let longest = rows.iter().map(|row| row.end[1] - row.arrival).max();
        assert_eq!(Some(nanos(&slowest[0]["latency_ns"])), longest);
    }
}

#[test]
fn the_same_packets_under_two_policies_are_paired() {
    let folder = folder("explain-against");
    let table = small_table(&folder);
    let table = table.to_str().expect("a plain path");
    let to = folder.to_str().expect("a plain path");
    let args = ["--workload", table, "--policy", "fifo", "--against", "drfq", "--queue-packets", "20", "--records", to];
    let document = explain(&args);
    // Flow and latency of each packet sent; rows are in the order of the file.
    let sent = |policy: &str| -> BTreeMap<u64, (u32, u64)> {
        let path = folder.join(format!("{policy}.csv"));
        let Records { rows, flows, .. } = read_records(&path);
        let text = std::fs::read_to_string(path).expect("records");
        let numbers = text.lines().filter(|line| line.ends_with(",sent")).map(|line| line.split(',').next());
        let flow = |row: &Row| flows[row.flow as usize].parse().expect("flows are numbers");
        let rows = rows.iter().map(|row| (flow(row), row.end[1] - row.arrival));
        numbers.map(|number| number.expect("a number").parse().expect("a number")).zip(rows).collect()
    };
    let (first, second) = (sent("fifo"), sent("drfq"));
    for change in listed(&document["against"], "flows") {
        let flow: u32 = change["name"].as_str().expect("a name").parse().expect("flows are numbers");
        let pairs: Vec<(u64, u64, u64)> = first
            .iter()
            .filter(|(_, (of, _))| *of == flow)
            .filter_map(|(number, (_, before))| Some((*number, *before, second.get(number)?.1)))
            .collect();
        assert_eq!(change["packets"], pairs.len() as u64);
        let count =
            |is: fn(u64, u64) -> bool| pairs.iter().filter(|(_, before, after)| is(*before, *after)).count() as u64;
        assert_eq!(change["quicker"], count(|before, after| after < before));
        assert_eq!(change["slower"], count(|before, after| after > before));
        let worst = pairs.iter().map(|(_, before, after)| after.saturating_sub(*before)).max().unwrap_or(0);
        assert_eq!(nanos(&change["worst_loss_ns"]), worst);
        let only = |one: &BTreeMap<u64, (u32, u64)>, other: &BTreeMap<u64, (u32, u64)>| {
            one.iter().filter(|(number, (of, _))| *of == flow && !other.contains_key(number)).count() as u64
        };
        assert_eq!(change["sent_by_one_only"], serde_json::json!([only(&first, &second), only(&second, &first)]));
    }
    sums(&document["against"]["selected"]);
    assert!(!listed(&document["against"], "sentences").is_empty());
}

#[test]
fn one_packet_is_explained_to_the_nanosecond() {
    let text = stdout(&["explain", "--policy", "drfq", "--packet", "200"]);
    assert!(text.contains("Packet 200 of ") && text.contains("processed by cpu") && text.contains("in all"), "{text}");
    let document = explain(&["--policy", "drfq", "--packet", "200"]);
    let slowest = listed(&document, "slowest");
    assert_eq!((slowest.len(), &slowest[0]["packet"]), (1, &Value::from(200)));
    sums(&slowest[0]);
}

#[test]
fn a_class_and_a_flow_are_selected() {
    let all = explain(&["--policy", "mr3"]);
    listed(&all, "classes").iter().for_each(sums);
    let ipsec = listed(&all, "classes").iter().find(|class| class["name"] == "ipsec").expect("a class");
    let class = explain(&["--policy", "mr3", "--class", "ipsec", "--slowest", "1"]);
    assert_eq!(class["selected"]["latency_ns"], ipsec["latency_ns"]);
    let heavy = listed(&all, "flows").iter().find(|flow| flow["name"] == "heavy-cpu").expect("a flow");
    let flow = explain(&["--policy", "mr3", "--flow", "heavy-cpu", "--slowest", "1"]);
    assert_eq!(flow["selected"]["latency_ns"], heavy["latency_ns"]);
    assert_eq!(listed(&flow, "slowest")[0]["flow"], "heavy-cpu");
}

#[test]
fn transfers_are_explained_and_held_against_another_policy() {
    let folder = folder("explain-network");
    let network = written(&folder, "small.toml", SMALL_NETWORK);
    let document = explain(&[&network, "--policy", "fifo", "--against", "drr-sff"]);
    let classes = listed(&document, "classes");
    assert_eq!(
        classes.iter().map(|class| class["name"].as_str()).collect::<Vec<_>>(),
        [Some("web"), Some("ftp"), Some("voice")]
    );
    sums(&document["selected"]);
    listed(&document, "slowest").iter().for_each(sums);
    let behind = &document["selected"]["behind_ns"];
    assert!(nanos(&behind["ftp"]) > 0 && nanos(&behind["voice"]) > 0, "{behind}");
    let change = &listed(&document["against"], "classes")[0];
    let ended = nanos(&document["selected"]["packets"]);
    assert_eq!(nanos(&change["packets"]) + nanos(&change["sent_by_one_only"][0]), ended);
    let text = stdout(&["explain", &network, "--policy", "fifo"]);
    assert!(text.contains("on its way") && text.contains("The slowest transfers under fifo"), "{text}");
}

#[test]
fn what_is_not_in_the_traffic_is_an_error() {
    let refused = |args: &[&str]| {
        let output = dovetail(&[&["explain"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(refused(&["--policy", "fifo", "--class", "x"]).contains("there are forwarding, ipsec"));
    assert!(refused(&["--policy", "fifo", "--flow", "x"]).contains("there is no flow 'x'"));
    assert!(refused(&["--policy", "fifo", "--packet", "999999999"]).contains("numbered from 0 to"));
    assert!(refused(&["--policy", "fifo", "--against", "fifo"]).contains("given twice"));
    assert!(refused(&[]).contains("--policy"));
    let folder = folder("explain-errors");
    let table = small_table(&folder);
    let table = table.to_str().expect("a plain path");
    assert!(refused(&["--workload", table, "--policy", "fifo", "--class", "x"]).contains("no classes; use --flow"));
}
