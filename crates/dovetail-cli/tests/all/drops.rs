//! Which flow loses a packet when there is no room, and what happens to packets at the end.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;

use crate::support::{SMALL_NETWORK, dovetail, folder, records::read_records, small_table, stdout, written};

fn compare(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[&["compare"], args, &["--json"]].concat())).unwrap()
}

#[test]
fn a_limit_over_all_flows_takes_from_whom_it_is_asked_to() {
    let folder = folder("drops");
    let table = small_table(&folder);
    let records = folder.to_str().unwrap();
    let run = |more: &[&str]| {
        let args = ["--workload", table.to_str().unwrap(), "--policy", "drfq", "--records", records];
        let document = compare(&[&args[..], more].concat());
        let policy = &document["policies"][0];
        assert_eq!(policy["sent"].as_u64().unwrap() + policy["dropped"].as_u64().unwrap(), 6000, "{more:?}");
        let rows = read_records(Path::new(policy["records"].as_str().unwrap()));
        let mut sent = [0; 3];
        for row in &rows.rows {
            sent[rows.flows[row.flow as usize].parse::<usize>().unwrap()] += 1;
        }
        (sent, policy["latency_us"]["mean"].as_f64().unwrap())
    };
    let (all, _) = run(&[]);
    let (tail, tail_us) = run(&["--buffer-packets", "12"]);
    let (head, head_us) = run(&["--buffer-packets", "12", "--drop", "head"]);
    let (longest, _) = run(&["--buffer-packets", "12", "--drop", "longest"]);
    // Flow 0 has the highest CPU demand and the longest queue: if it makes room, the others lose nothing.
    let lost = |sent: [i32; 3]| [all[0] - sent[0], all[1] - sent[1], all[2] - sent[2]];
    assert!(lost(tail)[1..].iter().sum::<i32>() > 0, "{:?}", lost(tail));
    assert!(lost(longest)[0] > 0 && lost(longest)[1..] == [0, 0], "{:?}", lost(longest));
    assert!(head_us < tail_us && head != [0; 3], "{head_us} {tail_us}");
    let text =
        stdout(&["compare", "--workload", table.to_str().unwrap(), "--buffer-packets", "12", "--drop", "longest"]);
    assert!(text.lines().next().unwrap().ends_with("12 packets in all, drop longest"), "{text}");
}

#[test]
fn a_rule_without_effect_is_refused() {
    let folder = folder("drops-refused");
    let table = small_table(&folder);
    let network = written(&folder, "network.toml", SMALL_NETWORK);
    let access = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/access.toml");
    let table = ["--workload", table.to_str().unwrap()];
    for (input, more, said) in [
        (&table[..], &["--drop", "head"][..], "--drop: without a limit"),
        (&table[..], &["--queue-packets", "9", "--drop", "longest"], "--drop: the longest queue"),
        (&table[..], &["--drop", "random"], "tail, head or longest"),
        (&[&network], &["--buffer-packets", "9"], "--buffer-packets: small is a network"),
        (&[access], &["--drop", "head"], "--drop: access is a network"),
    ] {
        let output = dovetail(&[&["compare"], input, more].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(said), "{more:?}: {errors}");
    }
}

#[test]
fn every_packet_of_a_network_has_a_record_also_when_it_still_waits() {
    let folder = folder("drops-left");
    let network = written(&folder, "network.toml", SMALL_NETWORK);
    let run =
        |drop: &str| compare(&[&network, "--policy", "fifo", "--drop", drop, "--records", folder.to_str().unwrap()]);
    let document = run("tail");
    let policy = &document["policies"][0];
    let records = read_records(Path::new(policy["records"].as_str().unwrap()));
    assert!(records.left > 0 && policy["left"] == records.left, "{policy}");
    let mut numbers = records.numbers.clone();
    numbers.sort_unstable();
    assert!(numbers.iter().enumerate().all(|(at, &number)| at as u64 == number));
    assert_eq!(document["workload"]["packets"], numbers.len() as u64);
    // At the watched link, too, another flow loses packets.
    assert_ne!(run("head")["policies"][0]["latency_us"], policy["latency_us"]);
}
