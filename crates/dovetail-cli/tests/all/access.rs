//! `dovetail compare` over users behind a gateway, from outside: its output follows from the records that it writes, and
//! usage errors are reported.

use crate::support;

use std::{fs, path::Path};

use crate::support::{dovetail, figures::check_figures, folder, near, recompute::Row, records::Records, stdout};
use serde_json::Value;

fn scenario(name: &str) -> String {
    format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// `scenarios/access.toml`: latency counts from second 30, users stop sending requests at second 150.
const FROM_S: u64 = 30;
const TO_S: u64 = 150;
const LINK_BPS: f64 = 2e6;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Rows of packets whose first bit left while users sent requests.
fn while_asking(records: &Records) -> impl Iterator<Item = &Row> {
    let span = FROM_S * 1_000_000_000..TO_S * 1_000_000_000;
    records.rows.iter().filter(move |row| span.contains(&row.start[0]))
}

fn over_span(bytes: f64) -> f64 {
    bytes * 8.0 / (TO_S - FROM_S) as f64
}

const TIMES: [&str; 5] = ["mean_s", "median_s", "p99_s", "max_s", "queued_s"];

/// Requests that were answered in time to count in their mean.
fn answered(said: &Value) -> f64 {
    (whole(&said["requests"]) - whole(&said["unfinished"]) - whole(&said["cancelled"])) as f64
}

/// The figures over all classes follow from those of the classes.
fn check_classes(access: &Value) {
    let classes = access["classes"].as_array().expect("classes");
    let named: Vec<_> = classes.iter().map(|class| class["class"].as_str().expect("a name")).collect();
    assert_eq!(named, ["gold", "silver", "bronze"]);
    for (class, weight) in classes.iter().zip([4.0, 2.0, 1.0]) {
        assert_eq!((number(&class["weight"]), whole(&class["users"])), (weight, 4));
    }
    for count in ["requests", "unfinished", "cancelled"] {
        assert_eq!(whole(&access[count]), classes.iter().map(|class| whole(&class[count])).sum::<u64>(), "{count}");
    }
    for said in classes.iter().chain([access]) {
        let [mean, median, p99, max, queued] = TIMES.map(|key| number(&said[key]));
        assert!(median <= p99 && p99 <= max && mean <= max && (0.0..=mean).contains(&queued), "{said}");
        assert_eq!(whole(&said["cancelled"]), 0, "nobody here is impatient");
    }
    // An unanswered request counts towards the mean, but has no time at the gateway.
    let asked = |said: &Value| whole(&said["requests"]) as f64;
    for (key, of) in [("mean_s", &asked as &dyn Fn(&Value) -> f64), ("queued_s", &answered)] {
        let sum: f64 = classes.iter().map(|class| of(class) * number(&class[key])).sum();
        near(&access[key], sum / of(access), 1e-9, key);
    }
    near(&access["max_s"], classes.iter().map(|class| number(&class["max_s"])).fold(0.0, f64::max), 1e-9, "max_s");
}

#[test]
fn every_number_of_the_link_follows_from_the_records() {
    let folder = folder("access-records");
    let records = folder.to_str().expect("a plain path");
    let scenario = scenario("access");
    let policies = ["--policy", "none", "--policy", "grants"];
    let args = [&["compare", &scenario, "--load", "0.9", "--json", "--records", records], &policies[..]].concat();
    let document: Value = serde_json::from_str(&stdout(&args)).expect("one JSON document and nothing else");
    let runs = document["policies"].as_array().expect("policies");
    assert_eq!(runs.len(), 2);
    for run in runs {
        let name = run["policy"].as_str().expect("a name");
        let records = check_figures(run, &["link"]);
        let access = &run["access"];
        let bytes: u64 = while_asking(&records).map(|row| u64::from(row.bytes)).sum();
        near(&access["utilisation"], over_span(bytes as f64) / LINK_BPS, 1e-9, name);
        // Packets queued at the end have no line: 25 packets at most.
        let part = records.dropped as f64 / (records.rows.len() as u64 + records.dropped) as f64;
        near(&access["dropped"], part, 1e-3, name);
        // Response packets have 40 bytes of headers and come from port 80; a connection begins with an empty one.
        let of_responses = |row: &&Row| records.flows[row.flow as usize].contains(":80>");
        let payload: f64 = while_asking(&records).filter(of_responses).map(|row| f64::from(row.bytes) - 40.0).sum();
        let classes = access["classes"].as_array().expect("classes");
        let kbps: f64 = classes.iter().map(|class| number(&class["kbps"])).sum();
        // Retransmitted segments and handshakes are in the records only; so is what a gap holds back at the ends of the span.
        let again = number(&access["dropped"]) + 0.01;
        let sent = over_span(payload) / 1e3;
        assert!((sent * (1.0 - 1.5 * again)..=sent * 1.01).contains(&kbps), "{name}: {kbps} of {sent}");
        let connections = records.flows.iter().filter(|flow| flow.contains(":80>")).count() as u64;
        assert_eq!(whole(&access["connections"]), connections, "{name}");
        let ended = number(&run["ended_s"]);
        let last = records.rows.iter().map(|row| row.end[0]).max().expect("rows") as f64 / 1e9;
        // The last packet is in flight for a millisecond and two.
        assert!((TO_S as f64..=250.0).contains(&ended) && last < ended + 0.1, "{name}: {ended}, {last}");
        assert!(whole(&access["lost_probes"]) <= 10 * ended as u64, "{name}: ten a second are sent");
        assert!(number(&access["long_mean_s"]) > number(&access["median_s"]), "{name}");
        check_classes(access);
    }
    let [none, grants] = [0, 1].map(|at| &runs[at]["access"]);
    assert_eq!(none["requests"], grants["requests"], "open arrivals do not depend on the gateway");
    assert!(number(&grants["dropped"]) < number(&none["dropped"]));
}

#[test]
fn the_table_and_the_page_have_all_parts() {
    let folder = folder("access-page");
    let (page, half) = (folder.join("report.html"), folder.join("access.toml"));
    let text = fs::read_to_string(scenario("access")).expect("the scenario");
    fs::write(&half, text.replace("weight = 1\n", "weight = 0.5\n")).expect("a folder to write in");
    let scenario = half.to_str().expect("plain").to_owned();
    let gateways = ["none", "msf-rs", "grants", "ingress:rate=0.9"];
    let policies: Vec<&str> = gateways.iter().flat_map(|gateway| ["--policy", gateway]).collect();
    let args = [&["compare", &scenario, "--seed", "2", "--report", page.to_str().expect("plain")], &policies[..]];
    let said = stdout(&args.concat());
    for words in [
        "access: 4 users of gold (weight 4, 4 requests each), 4 users of silver (weight 2, 4 requests each), ",
        "a downlink of 2.00 Mbit/s",
        "gold kbit/s",
        "per user",
        "unfinished",
        "latency of requests made from second 30 on; rates and link from there to second 150",
        "msf-rs at the end: window ",
        "grants at the end: pace ",
        "report.html",
    ] {
        assert!(said.contains(words), "no '{words}' in:\n{said}");
    }
    for gateway in gateways {
        let lines = said.lines().filter(|line| line.split_whitespace().next() == Some(gateway)).count();
        // One line for all, and one for each class.
        assert!(lines >= 4, "{lines} lines of {gateway} in:\n{said}");
    }
    // Weights as they are written, right-aligned.
    for row in [
        "gateway           class   weight ",
        "none              gold         4 ",
        "none              silver       2 ",
        "none              bronze     0.5 ",
    ] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(row)), "no '{row}' in:\n{said}");
    }
    let html = fs::read_to_string(&page).expect("the page is written");
    for title in
        ["Latency by size", "Rates by class", "The far queue", "msf-rs: window over time", "grants: pace over time"]
    {
        assert!(html.contains(title), "no '{title}' on the page");
    }
}

/// Standard error of a command with a usage error.
fn refused(args: &[&str]) -> String {
    let output = dovetail(args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
    assert!(output.stdout.is_empty(), "{args:?}");
    errors
}

#[test]
fn what_is_not_for_it_is_refused() {
    let (access, packets, transfers) = (scenario("access"), scenario("middlebox"), scenario("drr-sff"));
    let give_it = "give it a network with [access], such as scenarios/access.toml";
    for (args, said) in [
        (&["compare", &packets, "--policy", "grants"][..], &["--policy grants: ", give_it][..]),
        (&["compare", &transfers, "--policy", "msf-rs"], &["--policy msf-rs: ", give_it]),
        (&["compare", "--policy", "drr", "--policy", "ingress:rate=0.9"], &["--policy ingress:rate=0.9: ", give_it]),
        (&["compare", &access, "--policy", "ingress:rate=x"], &["'ingress:rate=x': a shaper is 'ingress' or"]),
        (&["compare", &access, "--policy", "ingress:rate=0"], &["that part of the link's rate"]),
        (&["compare", &access, "--policy", "grants:delays=3"], &["delays", "delay"]),
        (&["compare", &access, "--policy", "none", "--policy", "none"], &["--policy none is given twice"]),
        (
            &["compare", &access, "--policy", "fastest"],
            &["unknown policy 'fastest'", "fifo", "drr-sff", "none", "msf-rs", "grants", "delay-pools", "ingress"],
        ),
        (&["compare", &access, "--trace", "x.pcap"], &["--trace: access is a network"]),
        (&["compare", &access, "--queue-packets", "9"], &["--queue-packets: access is a network"]),
        (&["compare", &access, "--window", "5ms"], &["--window: "]),
    ] {
        let errors = refused(args);
        for words in said {
            assert!(errors.contains(words), "{args:?}: no '{words}' in: {errors}");
        }
    }
}

#[test]
fn what_cannot_run_is_a_clear_error_with_status_1() {
    let folder = folder("access-wrong");
    let text = fs::read_to_string(scenario("access")).expect("the scenario");
    let wrong = |text: &str, said: &str| {
        let network = support::written(Path::new(&folder), "network.toml", text);
        let output = dovetail(&["compare", &network, "--policy", "none"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(said) && output.stdout.is_empty(), "no '{said}' in: {errors}");
    };
    wrong(
        &text.replace("gateway = \"gateway\"", "gateway = \"lan\""),
        "network.toml, line 16: access: the watched link",
    );
    wrong(&text.replace("each = 4, ", ""), "requests: one of each, rate and load");
    wrong(
        &text.replace("between = [\"gateway\", \"lan\"]", "between = [\"elsewhere\", \"lan\"]"),
        "network.toml, line 66: traffic 'gold': there is no path from 'gateway' to 'g1': add a link",
    );
}
