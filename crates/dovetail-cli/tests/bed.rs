//! `dovetail bed`: proxies at a downlink between network namespaces, and what it says where that cannot be.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use dovetail_bed::check;
use dovetail_skip::skipped;
use serde_json::Value;

fn bed(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dovetail")).arg("bed").args(args).output().expect("the command runs")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SHORT: [&str; 4] = ["--duration", "6s", "--warm-up", "2s"];

#[test]
fn what_cannot_be_measured_is_a_usage_error() {
    for (args, why) in [
        (&[][..], "--proxy <NAME=COMMAND>|--policy <POLICY>|--squid|--direct"),
        (&["--policy", "drr"], "'drr' orders packets, not requests"),
        (&["--proxy", "exec ./proxy"], "give a name and a command"),
        (&["--proxy", "a b=exec ./proxy"], "the name before '='"),
        (&["--policy", "none", "--proxy", "none=./proxy"], "none is given twice"),
        (&["--squid", "--load", "20"], "the load is over 0 and at most 10"),
        (&["--squid", "--load", "0.5", "--outstanding", "4"], "cannot be used with"),
        (&["--squid", "--rate", "1kbps"], "the downlink has 10 kbit/s to 10 Gbit/s"),
        (&["--squid", "--warm-up", "150s"], "the warm-up is shorter than the duration"),
    ] {
        let output = bed(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && errors(&output).contains(why), "{args:?}: {}", errors(&output));
    }
}

#[test]
fn a_machine_without_a_testbed_is_told_what_it_lacks() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    // Where root runs it, iproute2 is not found there.
    let output = command.args(["bed", "--squid"]).env("PATH", "/nonexistent").output().expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    let why = ["needs root", "install iproute2", "only Linux"];
    assert!(output.stdout.is_empty() && why.iter().any(|why| errors(&output).contains(why)), "{}", errors(&output));
}

#[test]
fn proxies_are_measured_with_the_same_requests() {
    if let Err(why) = check() {
        return skipped(why);
    }
    let program = env!("CARGO_BIN_EXE_dovetail");
    let own = format!(
        "own=printf '[proxy]\\nlisten = \"%s\"\\n[downlink]\\nrate = \"%sbps\"\\n[access]\\nclients = \"10.0.0.0/16\"\\n\
         destinations.allow = \"10.200.0.0/16\"\\n' $LISTEN $RATE_BPS > $FOLDER/own.toml && \
         exec {program} gateway --config $FOLDER/own.toml"
    );
    let whom = ["--proxy", &own, "--policy", "none", "--direct", "--seeds", "1,2", "--jobs", "6", "--rate", "4Mbps"];
    let output = bed(&[&whom[..], &SHORT, &["--json"]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!((&document["rate_bps"], &document["buffer_packets"]), (&4_000_000.into(), &25.into()));
    let runs = document["runs"].as_array().expect("runs");
    let whose: Vec<_> =
        runs.iter().map(|run| (run["proxy"].as_str().unwrap(), run["seed"].as_u64().unwrap())).collect();
    assert_eq!(whose, [("own", 1), ("own", 2), ("none", 1), ("none", 2), ("direct", 1), ("direct", 2)]);
    for (at, run) in runs.iter().enumerate() {
        assert_eq!(run["failed"], 0, "{run}");
        let [mean, link] = ["mean_s", "utilisation"].map(|name| run[name].as_f64().unwrap());
        // A request and its response take a round trip at least, and a link carries no more than it can.
        assert!(mean > 0.01 && link > 0.0 && link < 1.01, "{run}");
        assert_eq!(run["received_kbps"].as_array().unwrap().len(), 3);
        assert_eq!(run["cpu_ms_per_request"].is_null(), at >= 4, "only processes use it: {run}");
        assert_eq!(run["requests"], runs[at % 2]["requests"], "{run}");
    }
    assert_ne!(runs[0]["offered"], runs[1]["offered"], "seeds give other requests");
}

#[test]
fn a_table_has_a_line_for_each_and_a_proxy_that_ends_is_quoted() {
    if let Err(why) = check() {
        return skipped(why);
    }
    let output = bed(&[&["--policy", "none", "--outstanding", "1"][..], &SHORT].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(text.starts_with(" proxy") && text.lines().nth(1).is_some_and(|row| row.starts_with(" none")), "{text}");
    let output = bed(&[&["--proxy", "mine=echo no such key; exit 3"][..], &SHORT].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("mine ended with exit status: 3:\nno such key"), "{}", errors(&output));
}
