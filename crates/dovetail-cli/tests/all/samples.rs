//! `dovetail compare`, `explain` and `tune` over several samples: every capture with every seed.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{dovetail, folder, small_table, stdout, trace, written};

const BOX: &str = "name = 'box'\nseed = 3\nduration = '50ms'\nqueue_packets = 20\n[[resource]]\nname = 'cpu'\n[[resource]]\n\
    name = 'link'\nrate = '100Mbps'\n[[class]]\nname = 'one'\ncost = { cpu = '60us' }\n[[class]]\nname = 'two'\n\
    cost = { cpu = '5us' }\n[[flow]]\nname = 'a'\nclass = 'one'\nsize = 200\narrivals = { poisson = '12000/s' }\n\
    [[flow]]\nname = 'b'\nclass = 'two'\nsize = 1000\narrivals = { poisson = '12000/s' }\n";

const POLICIES: [&str; 4] = ["--policy", "fifo", "--policy", "drfq"];

fn document(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &POLICIES, &["--json"]].concat())).expect("JSON")
}

fn number(document: &Value, at: &str) -> f64 {
    document.pointer(at).and_then(Value::as_f64).unwrap_or_else(|| panic!("{at} in {document}"))
}

fn a_box(name: &str) -> String {
    written(&folder(name), "box.toml", BOX)
}

#[test]
fn medians_and_intervals_are_those_of_the_runs_with_each_seed() {
    let path = a_box("samples-seeds");
    let together = document(&["compare", &path, "--seeds", "1..5"]);
    assert_eq!(together["seeds"], serde_json::json!([1, 2, 3, 4, 5]));
    let each: Vec<Value> = (1..=5).map(|seed| document(&["compare", &path, "--seed", &seed.to_string()])).collect();
    for figure in [
        "throughput_mbps",
        "makespan_s",
        "utilisation/link",
        "fairness/max_active_time_gap_us",
        "latency_us/p99",
        "dropped",
    ] {
        for policy in 0..2 {
            let at = format!("/policies/{policy}/{figure}");
            let mut figures: Vec<f64> = each.iter().map(|document| number(document, &at)).collect();
            figures.sort_by(f64::total_cmp);
            let shown = ["p5", "median", "p95"].map(|part| number(&together, &format!("{at}/{part}")));
            assert_eq!(shown, [figures[0], figures[2], figures[4]], "{at}");
        }
    }
    let samples = together["samples"].as_array().expect("samples");
    for (sample, alone) in samples.iter().zip(&each) {
        assert_eq!((&sample["provenance"], &sample["workload"]), (&alone["provenance"], &alone["workload"]));
    }
    let list = document(&["compare", &path, "--seeds", "5,2"]);
    assert_eq!(number(&list, "/policies/0/sent/samples"), 2.0);
}

#[test]
fn a_winner_has_to_win_with_nearly_every_seed() {
    let path = a_box("samples-verdict");
    let text = stdout(&[&["compare", &path, "--seeds", "1..20"], &POLICIES[..]].concat());
    assert!(text.contains("20 samples, 20 seeds") && text.contains("5–95 %"), "{text}");
    // Whatever the seed, the fair policy's gap is the smaller one.
    assert!(text.contains("smallest gap: drfq"), "{text}");
    // The same policy under two names differs by nothing.
    let alike = ["compare", &path, "--seeds", "1..20", "--policy", "drfq", "--policy", "drfq:window=65"];
    let text = stdout(&alike);
    assert!(text.contains("do not differ by more than whole packets explain"), "{text}");
}

#[test]
fn each_capture_is_a_sample_with_each_seed() {
    let Some(capture) = trace("small-browse.pcap") else { return };
    let folder = folder("samples-captures");
    let copy = folder.join("copy.pcap");
    fs::copy(&capture, &copy).expect("copied");
    let plain = |path: &Path| path.to_str().expect("plain").to_owned();
    let (one, two) = (plain(&capture), plain(&copy));
    let document = document(&["compare", "--trace", &one, "--trace", &two, "--seeds", "1,2"]);
    let of = |sample: &Value| (sample["trace"].as_str().expect("a name").to_owned(), sample["seed"].as_u64());
    let samples: Vec<_> = document["samples"].as_array().expect("samples").iter().map(of).collect();
    let named = |name: &str, seed| (name.to_owned(), Some(seed));
    assert_eq!(
        samples,
        [named("small-browse.pcap", 1), named("small-browse.pcap", 2), named("copy.pcap", 1), named("copy.pcap", 2)]
    );
    // Both captures have the same contents, so a sample and its twin have the same figures.
    assert_eq!(document["samples"][0]["workload"], document["samples"][2]["workload"]);
    assert_eq!(number(&document, "/policies/1/sent/samples"), 4.0);
}

#[test]
fn what_speaks_of_one_run_is_refused() {
    let path = a_box("samples-refused");
    let folder = folder("samples-refused-files");
    let table = small_table(&folder);
    let (table, records) = (table.to_str().expect("plain"), folder.to_str().expect("plain"));
    let roundabout = format!("{records}/../samples-refused-files/table.csv");
    for (args, said) in [
        (vec!["compare", &path, "--seeds", "1..3", "--records", records], "--records"),
        (vec!["compare", &path, "--seeds", "1..3", "--seed", "1"], "--seed"),
        (vec!["compare", &path, "--seeds", "3..1"], "1..20"),
        (vec!["compare", &path, "--seeds", "1,1"], "twice"),
        (vec!["compare", &path, "--seeds", "1..2000"], "1..20"),
        (vec!["compare", "--workload", table, "--seeds", "1..3"], "nothing random"),
        (vec!["compare", "drr-sff", "--seeds", "1..3"], "network"),
        (vec!["compare", "--trace", table, "--trace", table], "twice"),
        (vec!["compare", "--trace", table, "--trace", &roundabout], "twice"),
        (vec!["tune", "--trace", table, "--trace", table], "twice"),
        (vec!["tune", &path, "--seeds", "1..3", "--records", records], "--records"),
        (vec!["tune", "drr-sff", "--seeds", "1..3"], "--seed names the first"),
        (vec!["tune", "--policy", "grants", "--seeds", "1..3"], "--seed names the first"),
        (
            vec!["explain", &path, "--policy", "fifo", "--seeds", "1..3", "--packet", "7"],
            "--packet: a packet is another",
        ),
        (vec!["explain", &path, "--policy", "fifo", "--seeds", "1..3", "--records", records], "--records"),
        (vec!["explain", "--workload", table, "--policy", "fifo", "--seeds", "1..3"], "nothing random"),
        (vec!["explain", "drr-sff", "--policy", "fifo", "--seeds", "1..3"], "give --seed"),
        (vec!["explain", &path, "--policy", "fifo", "--seeds", "1..3", "--class", "none"], "no class 'none'"),
    ] {
        let output = dovetail(&args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(said), "{args:?}: no '{said}' in: {errors}");
    }
}

/// The lines that begin like this.
fn lines<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(begin)).collect()
}

#[test]
fn an_idle_box_is_idle_with_every_seed() {
    let path = a_box("samples-idle");
    let text = stdout(&[&["compare", &path, "--load", "0.3", "--seeds", "1..5"], &POLICIES[..]].concat());
    let [said] = lines(&text, "No scheduler is needed")[..] else { panic!("{text}") };
    assert!(said.contains("has a load of 30 %") && said.contains("5 of the 5 samples are idle"), "{said}");
    assert!(lines(&text, "Done first").is_empty() && lines(&text, "The pipeline").is_empty(), "{text}");
    // The load from which on the policy matters is the median over the single runs.
    let from = |text: &str| -> f64 {
        let (_, rest) = text.split_once("matter at a load of ").unwrap_or_else(|| panic!("{text}"));
        rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let alone = |seed: u32| {
        from(&stdout(&[&["compare", &path, "--load", "0.3", "--seed", &seed.to_string()], &POLICIES[..]].concat()))
    };
    let mut each: Vec<f64> = (1..=5).map(alone).collect();
    each.sort_by(f64::total_cmp);
    assert_eq!(from(said), each[2]);
    assert!(said.contains(&format!("{} % to {} %", each[0], each[4])), "{said} and {each:?}");
    let busy = stdout(&[&["compare", &path, "--seeds", "1..5"], &POLICIES[..]].concat());
    assert!(lines(&busy, "No scheduler").is_empty(), "{busy}");
}

#[test]
fn other_pipelines_are_looked_at_with_every_seed_too() {
    let path = a_box("samples-pipelines");
    let other = |args: &[&str]| {
        let text = stdout(&[&["compare", path.as_str()], args, &POLICIES[..]].concat());
        lines(&text, "The pipeline is not given").concat()
    };
    let one = other(&["--seed", "4"]);
    assert!(one.contains("unbounded") && one.contains("buffer=16"), "{one}");
    assert_eq!(other(&["--seeds", "4"]), one);
    let several = other(&["--seeds", "1..20"]);
    assert!(several.contains("unbounded") && several.contains("buffer=16"), "{several}");
    assert_eq!(other(&["--seeds", "1..2", "--pipeline", "no-wait"]), "");
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn is_close(one: f64, other: f64) {
    assert!((one - other).abs() <= 1e-9 * other.abs(), "{one} is not {other}");
}

#[test]
fn an_explanation_of_several_samples_has_the_medians_of_theirs() {
    let path = a_box("samples-explain");
    let explain = |args: &[&str]| -> Value {
        let args = [&["explain", &path, "--policy", "fifo", "--against", "drfq", "--json"], args].concat();
        serde_json::from_str(&stdout(&args)).expect("JSON")
    };
    let together = explain(&["--seeds", "1..5"]);
    let each: Vec<Value> = (1..=5).map(|seed| explain(&["--seed", &seed.to_string()])).collect();
    let of = |document: &Value, list: &str, name: &str| -> Value {
        let entries = document.pointer(list).and_then(Value::as_array).expect("a list").iter();
        entries.clone().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    for class in ["one", "two"] {
        // No packet of the only flow of class two waits behind another of its class.
        let keys =
            [("mean_latency_ms", "/latency_ns"), ("own_ms/cpu", "/own_ns/cpu"), ("behind_ms/two", "/behind_ns/two")];
        for (key, nanos) in keys.into_iter().take(if class == "one" { 3 } else { 2 }) {
            let mean = |document: &Value| {
                let class = of(document, "/classes", class);
                number(&class, nanos) / number(&class, "/packets") / 1e6
            };
            let shown = number(&together, &format!("/policies/0/groups/{class}/{key}/median"));
            is_close(shown, middle(each.iter().map(mean).collect()));
        }
        let quicker = |document: &Value| {
            let change = of(document, "/against/classes", class);
            number(&change, "/quicker") / number(&change, "/packets") * 100.0
        };
        let shown = number(&together, &format!("/changes/{class}/quicker_percent/median"));
        is_close(shown, middle(each.iter().map(quicker).collect()));
    }
    assert_eq!(together["samples"].as_array().map(Vec::len), Some(5));
    assert_eq!(together["samples"][3]["provenance"], each[3]["provenance"]);
    let text = stdout(&["explain", &path, "--policy", "fifo", "--seeds", "1..5", "--class", "one"]);
    assert!(text.contains("5 samples, 5 seeds") && text.contains("\n class one "), "{text}");
}

#[test]
fn a_knob_is_tuned_with_each_seed_and_the_median_recommended() {
    let path = a_box("samples-tune");
    let tune = |args: &[&str]| -> Value {
        let fixed = ["tune", &path, "--policy", "atfq", "--window", "10ms", "--load", "1.2", "--points", "3", "--json"];
        serde_json::from_str(&stdout(&[&fixed, args].concat())).expect("JSON")
    };
    let together = tune(&["--seeds", "1..5"]);
    let each: Vec<Value> = (1..=5).map(|seed| tune(&["--seed", &seed.to_string()])).collect();
    let sweep = &together["sweeps"][0];
    let points = each[0]["sweeps"][0]["points"].as_array().expect("points").len();
    assert!(points >= 2);
    let place = |recommended: &Value, document: &Value| -> f64 {
        let points = document["sweeps"][0]["points"].as_array().expect("points");
        points.iter().position(|point| point["policy"] == *recommended).expect("one of the points") as f64
    };
    for point in 0..points {
        for figure in ["work_per_s", "makespan_s", "utilisation/cpu", "max_active_time_gap_us"] {
            let at = format!("/sweeps/0/points/{point}/{figure}");
            is_close(
                number(&together, &format!("{at}/median")),
                middle(each.iter().map(|document| number(document, &at)).collect()),
            );
        }
        let recommended = |document: &&Value| place(&document["sweeps"][0]["recommended"], document) == point as f64;
        assert_eq!(sweep["recommended_in"][point], each.iter().filter(recommended).count());
    }
    let recommended = each.iter().map(|document| place(&document["sweeps"][0]["recommended"], document));
    assert_eq!(place(&sweep["recommended"], &each[0]), middle(recommended.collect()));
    for (sample, alone) in together["samples"].as_array().expect("samples").iter().zip(&each) {
        assert_eq!(sample["recommended"][0], alone["sweeps"][0]["recommended"]);
        assert_eq!(sample["provenance"], alone["provenance"]);
    }
}
