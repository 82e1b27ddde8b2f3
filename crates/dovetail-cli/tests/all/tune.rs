//! `dovetail tune` from outside: its output follows from the records it writes, the published traffic has its knee where
//! the paper says, and for traffic without a trade-off it recommends the fair setting and gives the reason.

use std::{fs, path::Path};

use crate::support::{
    dovetail,
    figures::check_carried,
    folder, near,
    recompute::{self, Wait},
    records::read_records,
    small_table, stdout, trace,
};
use serde_json::Value;

fn tune(args: &[&str]) -> Value {
    let args = [&["tune", "--json"], args].concat();
    serde_json::from_str(&stdout(&args)).expect("one JSON document and nothing else")
}

fn sweep<'a>(document: &'a Value, policy: &str) -> &'a Value {
    let sweeps = document["sweeps"].as_array().expect("sweeps");
    sweeps.iter().find(|sweep| sweep["policy"] == policy).unwrap_or_else(|| panic!("no sweep of {policy}"))
}

fn points(sweep: &Value) -> &[Value] {
    sweep["points"].as_array().expect("points")
}

fn point<'a>(sweep: &'a Value, policy: &str) -> &'a Value {
    let found = points(sweep).iter().find(|point| point["policy"] == policy);
    found.unwrap_or_else(|| panic!("no point {policy} in {sweep}"))
}

fn recommended(sweep: &Value) -> &Value {
    point(sweep, sweep["recommended"].as_str().expect("a recommendation"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Recomputes every number of a point from the records that it names.
fn check(point: &Value, document: &Value, resources: &[&str], weight: impl Fn(&str) -> f64) {
    let name = point["policy"].as_str().expect("a name");
    let window = (number(&document["window_s"]) * 1e9).round() as u64;
    let records = read_records(Path::new(point["records"].as_str().expect("a path")));
    let rows = &records.rows;
    assert_eq!((&point["sent"], &point["dropped"]), (&rows.len().into(), &records.dropped.into()), "{name}");
    assert_eq!(document["workload"]["packets"], records.numbers.len(), "{name}");
    let makespan = check_carried(point, rows, resources);
    let late = recompute::latencies(rows);
    near(&point["p99_latency_us"], recompute::quantile(&late, 0.99) as f64 / 1e3, 0.001, "p99");

    // Refused packets never waited; no others are dropped here.
    let waits: Vec<Wait> = rows.iter().map(Wait::of).collect();
    let dominant: u64 = waits.iter().filter_map(|wait| wait.dominant).map(|(start, end)| end - start).sum();
    near(&point["work_per_s"], dominant as f64 / makespan, 1e-9, "work");
    let weights: Vec<f64> = records.flows.iter().map(|flow| weight(flow)).collect();
    let promise = point["guaranteed_share"].as_f64();
    let shares = recompute::shares(&waits, |flow| weights[flow as usize], window, promise.unwrap_or(0.0));
    assert_eq!(point["flow_windows"], shares.windows.len(), "{name}");
    match shares.windows.first() {
        None => assert!(point["worst_share"].is_null(), "{name}"),
        Some(&(worst, ..)) => {
            near(&point["worst_share"], worst, 1e-6, "worst share");
            let from = (number(&point["worst_window_s"]) * 1e9).round() as u64;
            let there = shares.windows.iter().any(|&(share, flow, at)| {
                at == from && point["worst_flow"] == records.flows[flow as usize] && (share - worst).abs() < 1e-6
            });
            assert!(there, "{name}: {} did not have it from {from} on", point["worst_flow"]);
            let median = shares.windows[(shares.windows.len() - 1) / 2].0;
            near(&point["median_share"], median, 0.002, "median");
        }
    }
    if promise.is_some() {
        let resources = point["utilisation"].as_object().expect("a figure for each").len() as u64;
        let slack = shares.longest * resources * shares.flows_at_once as u64;
        near(&point["slack_ms"], slack as f64 / 1e6, 1e-9, "slack");
        // Printed in whole nanoseconds.
        let shortfall = number(&point["shortfall_ms"]) * 1e6;
        assert!((shortfall - shares.shortfall).abs() < 1.0, "{name}: {shortfall} behind, want {}", shares.shortfall);
    } else {
        assert!(point["slack_ms"].is_null() && point["shortfall_ms"].is_null());
    }
}

/// Asserts that the recommended setting finishes sooner than the fair one, and that the records confirm its promise.
fn check_promise(document: &Value, sweep: &Value) {
    let best = recommended(sweep);
    let fair = point(sweep, "tradeoff:alpha=1");
    assert!(number(&best["makespan_s"]) < number(&fair["makespan_s"]), "{best} is not done before {fair}");
    assert_eq!(number(&best["guaranteed_share"]), number(&best["value"]));
    assert!(number(&best["shortfall_ms"]) <= number(&best["slack_ms"]), "{best}");
    for point in [best, fair] {
        check(point, document, &["cpu", "link"], |_| 1.0);
    }
}

/// The traffic of the paper's table 2 with a tenth of its flows and a thirtieth of their packets: times in microseconds as
/// they follow from its printed makespans, all packets there from the beginning.
fn table_2(folder: &Path) -> String {
    let mut text = String::from("arrival_ns,flow,bytes,cpu_ns,link_ns\n");
    for packet in 0..600 {
        for flow in 0..6 {
            let cpu = [6_000, 14_140, 97_600][flow / 2];
            text += &format!("{},flow {flow},800,{cpu},32000\n", packet * 6 + flow);
        }
    }
    let path = folder.join("table-2.csv");
    fs::write(&path, text).expect("the table is written");
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn the_published_traffic_bends_where_the_paper_says() {
    let folder = folder("tune-table-2");
    let table = table_2(&folder);
    let records = folder.join("records");
    let document = tune(&["--workload", &table, "--records", records.to_str().expect("plain")]);
    assert_eq!(number(&document["window_s"]), 0.02, "a fifth of the makespan, rounded down");
    let tradeoff = sweep(&document, "tradeoff");
    assert_eq!((&tradeoff["knob"], &tradeoff["pipeline"]), (&"alpha".into(), &"unbounded".into()));
    // Table 2: makespans in percent of that of alpha=1.
    let fair = number(&point(tradeoff, "tradeoff:alpha=1")["makespan_s"]);
    for (alpha, percent) in
        [("0.95", 94.28), ("0.9", 87.95), ("0.85", 84.72), ("0.7", 84.64), ("0.6", 84.54), ("0.5", 84.54)]
    {
        let point = point(tradeoff, &format!("tradeoff:alpha={alpha}"));
        let measured = number(&point["makespan_s"]) / fair * 100.0;
        assert!((measured - percent).abs() < 1.0, "alpha={alpha}: {measured} %, the paper has {percent} %");
    }
    assert_eq!(tradeoff["recommended"], "tradeoff:alpha=0.85");
    assert!(tradeoff["gains_most"].is_null(), "none gains more: {}", tradeoff["gains_most"]);
    check_promise(&document, tradeoff);
    for sweep in [tradeoff, sweep(&document, "atfq")] {
        for point in points(sweep) {
            check(point, &document, &["cpu", "link"], |_| 1.0);
        }
    }
    // Flows that are always backlogged: the promised shares are those observed, up to a packet at the windows' ends.
    for point in points(tradeoff) {
        let (worst, value) = (number(&point["worst_share"]), number(&point["value"]));
        assert!(worst > value - 0.02 && worst < value + 0.01, "{point}");
    }
}

#[test]
fn every_number_follows_from_the_records_with_drops_and_windows_of_choice() {
    let folder = folder("tune-drops");
    let table = table_2(&folder);
    let records = folder.join("records");
    let args = ["--workload", &table, "--queue-packets", "50", "--window", "7ms", "--points", "3"];
    let document = tune(&[&args[..], &["--records", records.to_str().expect("plain")]].concat());
    assert_eq!(number(&document["window_s"]), 0.007);
    assert!(document["notes"].to_string().contains("packets were dropped"), "{}", document["notes"]);
    for name in ["tradeoff", "atfq"] {
        let sweep = sweep(&document, name);
        assert_eq!(points(sweep).len(), 3);
        for point in points(sweep) {
            assert!(number(&point["dropped"]) > 0.0);
            check(point, &document, &["cpu", "link"], |_| 1.0);
        }
    }
    assert!(sweep(&document, "tradeoff")["why"].as_str().expect("a reason").contains("the work done per second rises"));
}

#[test]
fn weights_count() {
    let folder = folder("tune-weights");
    let scenario = folder.join("weighted.toml");
    let text = "name = \"weighted\"\nduration = \"200ms\"\npipeline = \"unbounded\"\n\
        [[resource]]\nname = \"cpu\"\n[[resource]]\nname = \"disk\"\n[[resource]]\nname = \"link\"\nrate = \"100Mbps\"\n\
        [[class]]\nname = \"a\"\ncost = { cpu = \"40us\", disk = \"10us\" }\n\
        [[class]]\nname = \"b\"\ncost = { cpu = \"5us\", disk = \"50us\" }\n\
        [[flow]]\nname = \"double\"\nclass = \"a\"\nweight = 2\nsize = 500\narrivals = \"backlogged\"\n\
        [[flow]]\nname = \"half\"\nclass = \"b\"\nweight = 0.5\nsize = 300\narrivals = \"backlogged\"\n\
        [[flow]]\nname = \"plain\"\nclass = \"b\"\nsize = 900\narrivals = \"backlogged\"\n";
    fs::write(&scenario, text).expect("written");
    let records = folder.join("records");
    let scenario = scenario.to_str().expect("plain");
    let args = [scenario, "--points", "2", "--window", "20ms", "--records", records.to_str().expect("plain")];
    let document = tune(&args);
    let weight = |flow: &str| match flow {
        "double" => 2.0,
        "half" => 0.5,
        _ => 1.0,
    };
    for sweep in ["tradeoff", "atfq"].map(|name| sweep(&document, name)) {
        assert_eq!(sweep["pipeline"], "unbounded", "the scenario says so");
        for point in points(sweep) {
            check_workload_free(point, &document, weight);
        }
    }
    let fair = &points(sweep(&document, "tradeoff"))[0];
    assert!(number(&fair["worst_share"]) > 0.9, "{fair}");
}

/// A scenario's unlimited flows supply as much as a run takes: the workload is the first run's.
fn check_workload_free(point: &Value, document: &Value, weight: impl Fn(&str) -> f64) {
    let mut document = document.clone();
    document["workload"]["packets"] = (number(&point["sent"]) as u64 + number(&point["dropped"]) as u64).into();
    check(point, &document, &["cpu", "disk", "link"], weight);
}

#[test]
fn a_real_capture_is_tuned_and_the_promise_is_in_its_records() {
    let Some(trace) = trace("mix-dev.pcap") else { return };
    let folder = folder("tune-trace");
    let trace = trace.to_str().expect("a plain path");
    let document = tune(&["--trace", trace, "--records", folder.to_str().expect("plain")]);
    assert_eq!(document["workload"]["packets"], 94_100);
    check_promise(&document, sweep(&document, "tradeoff"));
    let atfq = sweep(&document, "atfq");
    assert!(number(&recommended(atfq)["makespan_s"]) < number(&points(atfq)[0]["makespan_s"]));
    check(recommended(atfq), &document, &["cpu", "link"], |_| 1.0);
    let notes = document["notes"].to_string();
    assert!(notes.contains("no box is described"), "{notes}");
}

/// The verdict on a table with these rows.
fn why(name: &str, rows: &str, args: &[&str]) -> String {
    let path = folder(name).join("table.csv");
    fs::write(&path, format!("arrival_ns,flow,bytes,cpu_ns,link_ns\n{rows}")).expect("written");
    let document = tune(&[&["--workload", path.to_str().expect("plain")], args].concat());
    for name in ["tradeoff", "atfq"] {
        let sweep = sweep(&document, name);
        assert_eq!(sweep["recommended"], points(sweep)[0]["policy"], "nothing to trade: {sweep}");
    }
    sweep(&document, "tradeoff")["why"].as_str().expect("a reason").to_owned()
}

#[test]
fn without_a_trade_the_fair_setting_is_recommended_and_it_is_said_why() {
    let why_of = |name: &str, rows: String| why(name, &rows, &[]);
    let one = why_of("tune-one", (0..200).map(|at| format!("{at},a,100,5000,3000\n")).collect());
    assert!(one.contains("No two flows ever waited at once"), "{one}");
    let idle = (0..200).map(|at| format!("{},f{},100,5000,3000\n", at * 20_000 + at / 2 * 7, at % 3)).collect();
    let idle = why_of("tune-idle", idle);
    assert!(idle.contains("No two flows") || idle.contains("keeps up"), "{idle}");
    let bursts = (0..400).map(|at| format!("{},f{},100,5000,3000\n", at / 4 * 100_000, at % 4)).collect();
    let bursts = why_of("tune-bursts", bursts);
    assert!(bursts.contains("the first resource keeps up"), "{bursts}");
    let alike = (0..900).map(|at| format!("0,f{},100,5000,3000\n", at % 3)).collect();
    let alike = why_of("tune-alike", alike);
    assert!(alike.contains("no other alpha gains as much as 0.5 %"), "{alike}");
    // One packet, and packets that cost nothing.
    why_of("tune-single", "0,a,100,5000,3000\n".to_owned());
    why_of("tune-nothing", "0,a,100,0,0\n0,b,100,0,0\n".to_owned());
    why("tune-absurd", &format!("0,a,1,{0},{0}\n1,b,1,{0},1\n2,a,1,1,{0}\n", u64::MAX / 4), &["--points", "2"]);
}

#[test]
fn text_page_and_records_are_written_and_the_runs_do_not_depend_on_the_cores() {
    let folder = folder("tune-text");
    let table = small_table(&folder);
    let table = table.to_str().expect("plain");
    let page = folder.join("page.html");
    let output = dovetail(&["tune", "--workload", table, "--report", page.to_str().expect("plain")]);
    assert!(output.status.success() && output.stderr.is_empty(), "no progress in a pipe");
    let text = String::from_utf8(output.stdout).expect("text");
    for word in
        ["tradeoff by alpha", "atfq by batch", "worst share", "Run tradeoff:alpha=", "Run atfq:batch=", "page.html"]
    {
        assert!(text.contains(word), "no '{word}' in:\n{text}");
    }
    assert_eq!(text.lines().filter(|line| line.contains(" * ")).count(), 2, "a mark a table:\n{text}");
    assert!(fs::read_to_string(&page).expect("a page").contains("Utilisation against fairness"));
    let run = |jobs: &str| {
        let mut document =
            tune(&["--workload", table, "--jobs", jobs, "--policy", "tradeoff", "--policy", "atfq:effort=10"]);
        for sweep in document["sweeps"].as_array_mut().expect("sweeps") {
            sweep["points"].as_array_mut().expect("points").iter_mut().for_each(|point| point["wall_s"] = Value::Null);
        }
        document
    };
    let document = run("1");
    assert_eq!(document, run("2"));
    assert_eq!(points(sweep(&document, "atfq"))[2]["policy"], "atfq:effort=10,batch=5");
}

#[test]
fn a_policy_out_of_its_pipeline_is_said_so_and_promises_nothing() {
    let folder = folder("tune-pipeline");
    let table = small_table(&folder);
    let table = table.to_str().expect("plain");
    for (mode, promised) in [("no-wait", false), ("buffer=3", false), ("unbounded", true)] {
        let document = tune(&["--workload", table, "--pipeline", mode, "--policy", "tradeoff", "--points", "2"]);
        let sweep = sweep(&document, "tradeoff");
        assert_eq!(sweep["pipeline"], mode);
        assert!(points(sweep).iter().all(|point| point["guaranteed_share"].is_number() == promised));
        let notes = document["notes"].to_string();
        assert_eq!(notes.contains("nothing is guaranteed"), !promised, "{mode}: {notes}");
    }
}

#[test]
fn wrong_use_is_answered_with_what_can_be_tuned() {
    let asked = |args: &[&str], said: &[&str]| {
        let output = dovetail(&[&["tune"], args].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(output.stdout.is_empty());
        for word in said {
            assert!(errors.contains(word), "{args:?}: no '{word}' in: {errors}");
        }
    };
    asked(&["--policy", "drr"], &["drr", "tradeoff", "alpha", "atfq", "batch"]);
    asked(&["--policy", "fastest"], &["fastest", "drfq"]);
    asked(&["--policy", "atfq:batch=5"], &["'batch'", "tune sets"]);
    asked(&["--policy", "tradeoff:alpha=0.9"], &["'alpha'", "tune sets"]);
    asked(&["--policy", "atfq:domain=1ms"], &["atfq:domain=1ms", "tune sets"]);
    asked(&["--policy", "tradeoff", "--policy", "tradeoff"], &["twice"]);
    asked(&["--points", "1"], &["points"]);
    asked(&["--points", "101"], &["points"]);
    asked(&["--window", "0"], &["window"]);
    asked(&["--format", "csv"], &["records"]);
}
