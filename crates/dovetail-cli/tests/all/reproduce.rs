//! Published experiments as seen by a script: the rows of `dovetail reproduce --json`, checked again here.

#[cfg(feature = "bed")]
use std::process::Command;
use std::{io::Write, path::PathBuf};

use crate::support::{dovetail, folder, stdout};
use serde_json::Value;

/// The rows of each experiment, in the order requested.
fn reproduce(args: &[&str]) -> Vec<Vec<Value>> {
    let text = stdout(&[&["reproduce"], args, &["--json"]].concat());
    let document: Value = serde_json::from_str(&text).expect("one JSON document");
    let documents = document.as_array().cloned().unwrap_or_else(|| vec![document]);
    for (document, name) in documents.iter().zip(args) {
        assert_eq!(document["experiment"], *name);
    }
    documents.into_iter().map(|document| document["rows"].as_array().expect("rows").clone()).collect()
}

fn measured(row: &Value) -> f64 {
    row["measured"].as_f64().expect("a number was measured")
}

fn what(row: &Value) -> &str {
    row["what"].as_str().expect("words")
}

/// The rows whose text begins like this; asserts that there are `count`.
fn rows<'a>(rows: &'a [Value], begin: &str, count: usize) -> Vec<&'a Value> {
    let found: Vec<_> = rows.iter().filter(|row| what(row).starts_with(begin)).collect();
    assert_eq!(found.len(), count, "rows '{begin}…'");
    found
}

fn assert_at_least(rows: &[&Value], least: f64) {
    for row in rows {
        assert!(measured(row) >= least, "{}: {} is under {least}", what(row), measured(row));
    }
}

/// A verdict must follow from the numbers beside it.
fn assert_judged(row: &Value) {
    let [expected, tolerance] = ["expected", "tolerance"].map(|key| row[key].as_f64().expect("a number"));
    assert!(row["unit"].is_string() && (row["paper"].is_null() || row["paper"].is_number()), "{row}");
    let holds = match row["judged"].as_str().expect("a word") {
        "within" => (measured(row) - expected).abs() <= tolerance,
        "at-least" => measured(row) >= expected,
        "at-most" => measured(row) <= expected,
        other => panic!("judged '{other}'"),
    };
    assert_eq!(row["holds"], holds, "{row}");
    // Rows that do not hold are known not to, with a reason; and vice versa, except for costs measured here.
    let expectation = &row["expectation"];
    let known = expectation["known-not"].as_str().is_some_and(|why| why.len() > 20);
    assert!(known || expectation == "holds" || expectation == "open", "{row}");
    assert!(holds || known || expectation == "open", "{row}");
}

#[test]
fn the_tradeoff_paper_s_testbed_comes_out() {
    let names = ["fig1", "table2", "fig3", "fig4", "fig5", "fig6"].map(|name| format!("tradeoff-{name}"));
    let experiments = reproduce(&names.each_ref().map(String::as_str));
    for row in experiments.iter().flatten() {
        assert_judged(row);
        assert!(row["holds"] == true, "{row}");
    }
    let [fig1, table2, fig3, fig4, fig5, fig6] = &experiments[..] else { panic!("six experiments") };

    let idle: Vec<f64> = rows(fig1, "link idle", 3).into_iter().map(measured).collect();
    assert!((idle[0] - 100.0 / 3.0).abs() < 0.5 && idle[1] < 0.5 && idle[2] < 0.5, "{idle:?}");

    let paper = [100.0, 94.28, 87.95, 84.72, 84.64, 84.54, 84.54];
    for (row, paper) in rows(table2, "makespan over that of alpha=1, alpha=", 7).into_iter().zip(paper) {
        assert_eq!(row["paper"], paper);
        assert!((measured(row) - paper).abs() <= 2.5, "{row}");
    }
    let plateau: Vec<f64> = rows(fig3, "CPU utilisation at the beginning", 4).into_iter().map(measured).collect();
    assert!((plateau[0] - 70.0).abs() < 1.5 && plateau.is_sorted() && plateau[3] > 98.0, "{plateau:?}");

    for experiment in [fig4, fig5] {
        assert_at_least(&rows(experiment, "least share over alpha · fair share", 7), 0.99);
    }
    let cpu = rows(fig5, "mean CPU utilisation, alpha=", 5);
    assert!((measured(cpu[0]) - 71.0).abs() <= 3.0);
    assert_at_least(&cpu[1..], 98.0);
    assert_at_least(&rows(fig5, "Jain's index", 7), 0.99);
    assert_at_least(&rows(fig6, "quickest elephant's", 7), 50.0);
    assert_at_least(&rows(fig6, "elephant's mean latency over mouse's", 3), 50.0);
}

/// The rows that do not hold.
fn failed(rows: &[Value]) -> Vec<&str> {
    rows.iter().filter(|row| row["holds"] == false).map(what).collect()
}

#[test]
fn the_cbcs_report_comes_out_where_it_does() {
    let names = ["table2", "table4", "fig6", "fig10"].map(|name| format!("cbcs-{name}"));
    let experiments = reproduce(&names.each_ref().map(String::as_str));
    experiments.iter().flatten().for_each(assert_judged);
    let [table2, table4, fig6, fig10] = &experiments[..] else { panic!("four experiments") };

    assert_eq!(failed(table2), [""; 0]);
    for (begin, exact) in [("guarantee of flow 1", [140.0, 120.0]), ("guarantee of flow 2", [140.0, 120.0])] {
        let guarantees: Vec<f64> = rows(table2, begin, 2).into_iter().map(measured).collect();
        assert_eq!(guarantees, exact);
    }
    // Both flows need the CPU for 40 ms of every 40, so one of them has to wait.
    assert_at_least(&rows(table2, "worst delay of flow", 4), 40.0 + 1.0);

    // The rates are derived from the CPU shares; Table 3's expansion factors give MPEG flows more of the link than Table 4.
    rows(table4, "share of the CPU", 20);
    assert!(failed(table4).iter().all(|what| what.starts_with("share of the link")), "{:?}", failed(table4));
    for flow in [1, 3, 5] {
        for row in rows(table4, &format!("share of the link, flow {flow},"), 2) {
            assert!(row["holds"] == false && measured(row) > 2.0, "{row}");
        }
    }

    // The headline is not reproduced, and nothing was done to force it.
    for row in rows(fig6, "worst delay of MPEG flow 1, WFQ over CBCS", 2) {
        assert!(row["holds"] == false && (0.8..1.2).contains(&measured(row)), "{row}");
    }
    assert_eq!(failed(fig10), [""; 0]);
    // One packet more or less of each flow at both ends of five seconds: under three points, and more than nothing.
    let [difference] = rows(fig10, "largest difference of link utilisation in five seconds", 1)[..] else {
        unreachable!()
    };
    assert!((1.0..3.2).contains(&measured(difference)), "{difference}");
    assert_at_least(&rows(fig10, "CPU utilisation", 4), 96.0);
}

/// Over 16 seeds, which takes minutes in a debug build: only if `DOVETAIL_LONG` is set.
#[test]
fn short_flows_first_keeps_its_promises() {
    if std::env::var_os("DOVETAIL_LONG").is_none() {
        return dovetail_skip::skipped("set DOVETAIL_LONG for the figures of the DRR-SFF paper");
    }
    let names = ["drrsff-fig5", "drrsff-fig6", "drrsff-fig7", "drrsff-fig8", "drrsff-fig9", "drrsff-fig11"];
    let text = stdout(&[&["reproduce"], &names[..], &["--json"]].concat());
    let documents: Vec<Value> = serde_json::from_str(&text).expect("one JSON document");
    let mut missed = Vec::new();
    for (document, name) in documents.iter().zip(names) {
        let found = document["rows"].as_array().expect("rows");
        found.iter().for_each(assert_judged);
        assert_eq!(document["experiment"], name);
        let promised: Vec<Value> =
            found.iter().filter(|row| !row["what"].as_str().expect("words").contains("ns-3")).cloned().collect();
        missed.extend(failed(&promised).into_iter().map(str::to_owned));
    }
    assert_eq!(missed, [""; 0]);
}

#[test]
fn a_flood_starves_long_flows_by_the_printed_rule_and_not_by_shares() {
    let text = stdout(&["reproduce", "drrsff-flood", "--json"]);
    let document: Value = serde_json::from_str(&text).expect("one JSON document");
    let found = document["rows"].as_array().expect("rows");
    found.iter().for_each(assert_judged);
    assert_eq!(failed(found), [""; 0]);
    // At a ratio of 2 the long group gets a third of the link, 1 Mbit/s.
    let table = document["tables"][0]["rows"].as_array().expect("a table");
    let number = |policy: &str, column: usize| -> f64 {
        let row = table.iter().find(|row| row[0] == policy).unwrap_or_else(|| panic!("no {policy}"));
        row[column].as_str().expect("words").parse().expect("a number")
    };
    let [while_waiting, stream, ftp, of_link] = [1, 2, 3, 4].map(|column| number("drr-sff", column));
    assert!((while_waiting - 100.0 / 3.0).abs() < 0.1 && (stream - 1.0).abs() < 0.01, "{while_waiting} {stream}");
    assert!((ftp / 3.0 * 100.0 - of_link).abs() < 0.1 && (0.5..=1.0).contains(&ftp), "{ftp} {of_link}");
    // Under any other rule, flows that slow down when packets are lost get nothing.
    for policy in ["fifo", "drr", "las", "run2c", "drr-sff:steal=long-first"] {
        assert!(number(policy, 4) < 5.0, "{policy} gives the FTP something");
    }
    for policy in ["las", "run2c"] {
        assert!(number(policy, 1) < 5.0, "{policy} gives the stream something");
    }
}

#[test]
fn msf_rs_s_equations_hold_in_an_ideal_link() {
    let [fig5] = &reproduce(&["msfrs-fig5"])[..] else { panic!("one experiment") };
    fig5.iter().for_each(assert_judged);
    assert_eq!((fig5.len(), failed(fig5)), (14, vec![]));
    // The paper's example: 12 requests, four at a time a second each.
    let means: Vec<f64> = rows(fig5, "12 requests", 2).into_iter().map(measured).collect();
    assert!((means[0] - 2.0).abs() < 1e-6 && (means[1] - 3.0).abs() < 1e-6, "{means:?}");
    assert!(rows(fig5, "W+ = ", 12).iter().all(|row| measured(row) <= 1.0 + 1e-9));
}

/// Dozens of runs over hundreds of virtual seconds: only if `DOVETAIL_LONG` is set.
#[test]
fn msf_rs_shares_as_it_says_and_does_not_shorten_the_mean() {
    if std::env::var_os("DOVETAIL_LONG").is_none() {
        return dovetail_skip::skipped("set DOVETAIL_LONG for the figures of the MSF-RS paper");
    }
    let names = ["fig8", "fig9", "fig10", "fig11", "fig12", "table1"].map(|name| format!("msfrs-{name}"));
    let experiments = reproduce(&names.each_ref().map(String::as_str));
    experiments.iter().flatten().for_each(assert_judged);
    let [fig8, fig9, fig10, fig11, fig12, table1] = &experiments[..] else { panic!("six experiments") };
    for rows in [fig8, fig10, fig11, fig12, table1] {
        assert_eq!(failed(rows), [""; 0]);
    }
    let lengths: Vec<usize> = experiments.iter().map(Vec::len).collect();
    assert_eq!(lengths, [14, 18, 29, 5, 2, 17]);
    // Whatever the loop and the sizes, the paper's decrease is not reproduced; docs/reproduce.md says why.
    let latency = |row: &&Value| what(row).ends_with("mean latency, MSF-RS against ordinary");
    // And a run of 200 s is short for the large responses that grants delays.
    let little = "closed, grants: mean latency by Little's law";
    let expected: Vec<&str> = fig9.iter().filter(latency).map(what).chain([little]).collect();
    assert_eq!((expected.len(), failed(fig9)), (7, expected));
    // Not a near miss: with lognormal sizes in open loop the mean grows.
    for load in ["0.9", "1.2"] {
        let [row] = rows(fig9, &format!("open {load}, lognormal: mean latency"), 1)[..] else { panic!("a row") };
        assert!(measured(row) > 50.0, "{row}");
    }
}

/// Costs measured here and now, so only checks that noise cannot reverse.
#[cfg(feature = "profile")]
#[test]
fn least_squares_predicts_measured_costs_better_than_smoothing() {
    let text = stdout(&["reproduce", "cbcs-fig2", "--json"]);
    let document: Value = serde_json::from_str(&text).expect("one JSON document");
    let found = document["rows"].as_array().expect("rows");
    found.iter().for_each(assert_judged);
    for row in &found[..2] {
        assert!(row["holds"] == true && measured(row) < 1.0, "{row}");
    }
    let table = document["tables"][0]["rows"].as_array().expect("a table");
    let by: Vec<&str> = table.iter().map(|row| row[0].as_str().expect("words")).collect();
    assert!(by.contains(&"always the mean") && by.contains(&"perfect"), "{by:?}");
    let perfect = table.last().expect("a line").as_array().expect("cells");
    assert_eq!(perfect[1..], ["0", "0.0", "0", "0.0"]);
}

#[cfg(not(feature = "bed"))]
#[test]
fn a_build_without_a_test_bed_says_how_to_get_one() {
    for name in ["msfrs-table2", "msfrs-table3"] {
        let output = dovetail(&["reproduce", name]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(output.stdout.is_empty() && errors.contains("--features bed"), "{errors}");
    }
}

#[cfg(not(feature = "bed"))]
#[test]
fn what_came_out_before_an_experiment_failed_is_shown() {
    let output = dovetail(&["reproduce", "msfrs-fig5", "msfrs-table2", "atfq-fig1"]);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(said.starts_with("msfrs-fig5: ") && !said.contains("atfq-fig1: "), "{said}");
    assert!(
        !said.contains("rows hold") && errors.starts_with("dovetail: msfrs-table2: it is measured on a real link"),
        "{said}{errors}"
    );
    let output = dovetail(&["reproduce", "msfrs-fig5", "msfrs-table2", "--json"]);
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "a document is whole or not there");
}

#[cfg(feature = "bed")]
#[test]
fn a_real_link_that_cannot_be_made_is_a_clear_error() {
    for name in ["msfrs-table2", "msfrs-table3"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        // Neither iproute2 nor Squid is found there, and without root it gets no further than that.
        let output = command.args(["reproduce", name]).env("PATH", "/nonexistent").output().expect("the command runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(output.stdout.is_empty() && errors.contains("measured on a real link, not simulated"), "{errors}");
        let why = ["needs root", "install iproute2", "only Linux"];
        assert!(why.iter().any(|why| errors.contains(why)), "{errors}");
    }
}

#[test]
fn every_experiment_is_listed() {
    let text = stdout(&["reproduce"]);
    for name in [
        "atfq-fig1",
        "tradeoff-fig9",
        "cbcs-fig2",
        "cbcs-table2",
        "cbcs-table4",
        "cbcs-fig6",
        "cbcs-grid",
        "costs-wrong",
        "drrsff-fig5",
        "drrsff-fig6",
        "drrsff-fig7",
        "drrsff-fig8",
        "drrsff-fig9",
        "drrsff-fig10",
        "drrsff-fig11",
        "drrsff-flood",
        "msfrs-fig5",
        "msfrs-fig8",
        "msfrs-fig9",
        "msfrs-fig10",
        "msfrs-fig11",
        "msfrs-fig12",
        "msfrs-table1",
        "msfrs-table2",
        "msfrs-table3",
    ] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "no {name} in:\n{text}");
    }
}

/// A capture of 40 flows of Ethernet frames with UDP within a second, where a few flows send most.
fn capture(name: &str) -> PathBuf {
    let path = folder(name).join("small.pcap");
    let mut file = std::fs::File::create(&path).expect("the capture is created");
    let mut write = |bytes: &[u8]| file.write_all(bytes).expect("the capture is written");
    for word in [0xa1b2_c3d4u32, 2 | 4 << 16, 0, 0, 65535, 1] {
        write(&word.to_le_bytes());
    }
    let mut state = 1u64;
    for number in 0..6000u32 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let flow = if number < 40 { number as u8 } else { ((state >> 33) % 6) as u8 };
        let length = 100 + (state >> 50) as u32 % 1300;
        for word in [1_500_000_000, number * 166, 42, length] {
            write(&word.to_le_bytes());
        }
        let mut frame = [0u8; 42];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, flow, 10, 0, 1, 1]);
        frame[34..38].copy_from_slice(&[0x10, flow, 0, 53]);
        frame[38..40].copy_from_slice(&(length as u16 - 34).to_be_bytes());
        write(&frame);
    }
    path
}

#[test]
fn trace_driven_experiments_take_captures_and_always_come_out_the_same() {
    let path = capture("reproduce-trace");
    let path = path.to_str().expect("a plain path");
    let names = ["tradeoff-fig7", "tradeoff-fig8", "tradeoff-fig9"];
    let args = [&names[..], &["--trace", path]].concat();
    let experiments = reproduce(&args);
    for row in experiments.iter().flatten() {
        assert_judged(row);
    }
    assert_eq!(experiments, reproduce(&args), "the same captures gave other rows");
    let [fig7, fig8, _] = &experiments[..] else { panic!("three experiments") };
    for pattern in ["CPU-bound", "bandwidth-bound", "balanced"] {
        rows(fig7, &format!("{pattern}: CPU utilisation, alpha=0.8"), 1);
        rows(fig8, &format!("{pattern}: decrease of the drop rate"), 1);
    }

    let text = stdout(&["reproduce", "tradeoff-fig7", "--trace", path]);
    let flows = format!("Traffic: {path}; 6000 packets of 40 flows");
    assert!(text.contains(&flows), "no '{flows}' in:\n{text}");
    // The same capture twice: two sets of flows.
    let text = stdout(&["reproduce", "tradeoff-fig7", "--trace", path, "--trace", path]);
    assert!(
        text.contains("merged from their first packets on") && text.contains("12000 packets of 80 flows"),
        "{text}"
    );
    assert!(text.contains("the link's 150 %"), "{text}");
}

#[test]
fn a_capture_that_is_none_is_a_clear_error() {
    let folder = folder("reproduce-bad-trace");
    let text = folder.join("words.pcap");
    std::fs::write(&text, "these are words, not packets").expect("a file is written");
    let gone = folder.join("gone.pcap");
    for path in [&text, &gone] {
        let output = dovetail(&["reproduce", "tradeoff-fig7", "--trace", path.to_str().expect("plain")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(path.to_str().expect("plain")) && output.stdout.is_empty(), "{errors}");
    }
}

#[test]
fn what_would_be_ignored_is_refused() {
    for (args, said) in [
        (&["reproduce", "--json"][..], "--json: name an experiment"),
        (&["reproduce", "--report", "r.html"], "--report: name an experiment"),
        (&["reproduce", "--trace", "nowhere.pcap"], "--trace: name an experiment"),
        (&["reproduce", "--live"], "--live: name an experiment"),
        (&["reproduce", "all", "nope"], "there is no experiment 'nope'"),
        (&["reproduce", "ALL"], "there is no experiment 'ALL' (did you mean all?)"),
        (&["reproduce", "msfrs-fig5", "atfq-fig1", "msfrs-fig5"], "msfrs-fig5 is named twice"),
        (&["reproduce", "tradeoff-fig1", "--trace", "nowhere.pcap"], "tradeoff-fig7, tradeoff-fig8, tradeoff-fig9 do"),
        (&["compare", "--load", "1e-12"], "from 0.000001 to 1000"),
        (&["compare", "--link", "-1Mbps"], "'-1Mbps' for '--link <RATE>': out of range: over 0 and at most 1000Tbps"),
        (&["compare", "--window", "-5ms"], "'-5ms' for '--window <TIME>': out of range: from 0"),
        (&["compare", "--seed", "-1"], "invalid value '-1' for '--seed"),
        (&["compare", "--jobs", "-1"], "invalid value '-1' for '--jobs"),
        (&["explain", "--policy", "fifo", "--packet", "-1"], "invalid value '-1' for '--packet"),
    ] {
        let output = dovetail(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(said) && output.stdout.is_empty(), "{args:?}: {errors}");
    }
}
