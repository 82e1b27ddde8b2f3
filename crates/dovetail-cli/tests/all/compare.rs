//! `dovetail compare` from outside: its output follows from the records it writes, and usage errors are reported.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{
    SMALL_NETWORK, dovetail,
    figures::{check_fairness, check_figures},
    folder, small_table, stdout, trace, written,
};
use serde_json::Value;

/// Recomputes every number of every policy of a `compare --json` from the records it names.
fn check(document: &Value, policies: usize) {
    let listed = document["policies"].as_array().expect("policies");
    assert_eq!(listed.len(), policies);
    for policy in listed {
        let records = check_figures(policy, &["cpu", "link"]);
        let mut numbers = records.numbers.clone();
        numbers.sort_unstable();
        assert!(numbers.iter().enumerate().all(|(at, &number)| at as u64 == number), "{policy}: every packet once");
        assert_eq!(document["workload"]["packets"], numbers.len() as u64);
        check_fairness(policy, &records);
    }
}

const FOUR: [&str; 8] = ["--policy", "fifo", "--policy", "drfq", "--policy", "mr3", "--policy", "atfq:batch=20"];

fn compare(input: &[&str], records: &Path) -> Value {
    let records = records.to_str().expect("a plain path");
    let args = [&["compare"], input, &FOUR, &["--records", records, "--json"]].concat();
    serde_json::from_str(&stdout(&args)).expect("one JSON document and nothing else")
}

#[test]
fn every_number_follows_from_the_records() {
    let folder = folder("compare-table");
    let table = small_table(&folder);
    let table = table.to_str().expect("a plain path");
    check(&compare(&["--workload", table], &folder), 4);
    check(&compare(&["--workload", table, "--queue-packets", "5", "--pipeline", "buffer=2"], &folder), 4);
    check(&compare(&["--workload", table, "--load", "0.5", "--pipeline", "unbounded"], &folder), 4);
}

#[test]
fn every_number_follows_from_the_records_of_a_real_capture() {
    let Some(trace) = trace("mix-dev.pcap") else { return };
    let folder = folder("compare-trace");
    let document = compare(&["--trace", trace.to_str().expect("a plain path"), "--load", "1.2"], &folder);
    assert_eq!(document["workload"]["packets"], 94_100);
    check(&document, 4);
}

#[test]
fn no_argument_runs_the_built_in_scenario() {
    let text = stdout(&["compare"]);
    assert!(text.contains("policy") && text.contains("makespan s") && text.contains("atfq:batch=20"), "{text}");
    assert!(text.contains("Most carried:"), "{text}");
}

#[test]
fn an_idle_box_needs_no_scheduler_and_a_busy_one_does() {
    let text = stdout(&["compare", "--load", "0.3", "--policy", "fifo", "--policy", "drfq"]);
    assert!(
        text.contains("No scheduler is needed at this load: the busiest resource, cpu, has a load of 30 %"),
        "{text}"
    );
    let from = text.find("It starts to matter at a load of ").expect("from where on it matters");
    let said: f64 = text[from + 33..].split(' ').next().expect("a number").parse().expect("a number");
    // By the report's own criterion: just below that load packets wait less than they are processed, just above longer.
    let waits = |load: f64| {
        let load = format!("{}", load / 100.0);
        let text = stdout(&["compare", "--load", &load, "--policy", "fifo", "--json"]);
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let policy = &document["policies"][0];
        let makespan = policy["makespan_s"].as_f64().expect("a time");
        let busy: f64 = ["cpu", "link"].map(|name| policy["utilisation"][name].as_f64().expect("a share")).iter().sum();
        let processed = busy * makespan / policy["sent"].as_f64().expect("a count") * 1e6;
        policy["latency_us"]["mean"].as_f64().expect("a time") > 2.0 * processed
    };
    assert!(waits(said + 1.0) && !waits(said - 4.0), "{said}");
    let text = stdout(&["compare", "--load", "0.9", "--policy", "fifo", "--policy", "drfq"]);
    assert!(!text.contains("No scheduler is needed"), "{text}");
}

/// At full load this scenario has 190 million packets; the search is over a part of them.
#[test]
fn the_load_at_which_scheduling_matters_is_found_in_a_scenario_of_rare_packets() {
    let folder = folder("rare");
    let text = "name = \"rare\"\nduration = \"300s\"\npipeline = \"buffer=8\"\n\
        [[resource]]\nname = \"cpu\"\n[[resource]]\nname = \"link\"\nrate = \"1Gbps\"\n\
        [[class]]\nname = \"a\"\ncost = { cpu = \"2us\" }\n\
        [[flow]]\nname = \"f\"\ncount = 20\nsize = 200\narrivals = { poisson = \"10/s\" }\n";
    let file = written(&folder, "rare.toml", text);
    let said = stdout(&["compare", &file, "--policy", "fifo", "--policy", "drfq"]);
    assert!(said.contains("No scheduler is needed at this load"), "{said}");
    assert!(said.contains("It starts to matter at a load of "), "{said}");
}

#[test]
fn packets_that_arrive_at_once_have_no_load_to_change() {
    let folder = folder("at-once");
    let table = written(&folder, "table.csv", "arrival_ns,flow,bytes,cpu_ns\n5,a,100,1000\n5,b,100,1000\n");
    let output = dovetail(&["compare", "--workload", &table, "--load", "0.5", "--policy", "fifo"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--load") && said.contains("arrive at the same time"), "{said}");
    stdout(&["compare", "--workload", &table, "--policy", "fifo"]);
}

#[test]
fn a_scenario_in_which_nothing_arrives_is_refused() {
    let output = dovetail(&["compare", "--load", "0.000001", "--policy", "fifo"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("scenario 'middlebox': no packet arrives"), "{said}");
}

#[test]
fn a_pipeline_that_is_assumed_is_named_and_others_are_tried() {
    let assumed = stdout(&["compare"]);
    assert!(assumed.contains("assumed to be no-wait"), "{assumed}");
    for mode in ["unbounded", "buffer=16"] {
        assert!(assumed.contains(mode), "{assumed}");
        // The figures for another pipeline are those of that pipeline's own run.
        let own = stdout(&["compare", "--pipeline", mode, "--json"]);
        let document: Value = serde_json::from_str(&own).expect("JSON");
        let verdict = document["verdict"][0].as_str().expect("a verdict").trim_end_matches('.');
        let goes_on = verdict.replacen("Most carried", "most carried", 1);
        assert!(assumed.contains(&format!("With unbounded and buffer=16: {goes_on}")), "{assumed}");
        assert!(!own.contains("assumed"), "{own}");
    }
    let two = stdout(&["compare", "--policy", "fifo", "--policy", "drfq"]);
    assert!(two.contains("With unbounded and buffer=16 the verdict is the same."), "{two}");
}

#[test]
fn a_capture_s_costs_are_said_to_be_assumed() {
    let Some(trace) = trace("mix-dev.pcap") else { return };
    let trace = trace.to_str().expect("a plain path");
    let notes = |args: &[&str]| {
        let args = [&["compare", "--trace", trace, "--policy", "fifo", "--policy", "drr", "--json"], args].concat();
        let document: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
        document["notes"].to_string()
    };
    assert!(notes(&[]).contains("no box is described"));
    let folder = folder("compare-dealt");
    let class = |name: &str, ports: &str| format!("[[class]]\nname = '{name}'\n{ports}\ncost = {{ cpu = '10us' }}\n");
    let resources = "name = 'b'\n[[resource]]\nname = 'cpu'\n[[resource]]\nname = 'link'\nrate = '1Gbps'\n";
    let known =
        written(&folder, "known.toml", &(resources.to_owned() + &class("web", "ports = [80]") + &class("rest", "")));
    assert!(!notes(&[&known]).contains("assumed"));
    let dealt = written(&folder, "dealt.toml", &(resources.to_owned() + &class("one", "") + &class("two", "")));
    assert!(notes(&[&dealt]).contains("assigned to one at random"));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed: &str| {
        let text = stdout(&["compare", "--policy", "drfq", "--seed", seed, "--json"]);
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        document["policies"][0]["wall_s"] = Value::Null;
        document
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn parquet_records_hold_what_csv_records_hold() {
    use parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::Field,
    };
    let folder = folder("compare-parquet");
    let table = small_table(&folder);
    let args = ["compare", "--workload", table.to_str().expect("plain"), "--policy", "drr", "--queue-packets", "9"];
    let records = folder.to_str().expect("plain");
    stdout(&[&args[..], &["--records", records]].concat());
    stdout(&[&args[..], &["--records", records, "--format", "parquet"]].concat());
    let text = fs::read_to_string(folder.join("drr.csv")).expect("records");
    let file = fs::File::open(folder.join("drr.parquet")).expect("records");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let mut lines = text.lines().skip(1);
    let mut rows = 0;
    for row in reader.get_row_iter(None).expect("rows") {
        let row = row.expect("a row");
        let fields = row.get_column_iter().map(|(_, field)| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            other => other.to_string(),
        });
        assert_eq!(Some(fields.collect::<Vec<_>>().join(",").as_str()), lines.next());
        rows += 1;
    }
    assert_eq!(rows, 6000);
    assert_eq!(lines.next(), None);
    assert!(text.contains("dropped"));
}

#[test]
fn wrong_use_is_answered_with_status_2_and_what_there_is() {
    let asked = |args: &[&str], said: &[&str]| {
        let output = dovetail(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(output.stdout.is_empty());
        for word in said {
            assert!(errors.contains(word), "{args:?}: no '{word}' in: {errors}");
        }
    };
    asked(&["compare", "--policy", "fastest"], &["fastest", "drfq", "atfq"]);
    asked(&["compare", "--policy", "atfq:batches=20"], &["batches", "batch", "domain"]);
    asked(&["compare", "--policy", "atfq:batch=0"], &["batch=0"]);
    asked(&["compare", "--policy", "drr", "--policy", "drr"], &["twice"]);
    asked(&["compare", "--link", "0Mbps"], &["--link"]);
    asked(&["compare", "--load", "-1"], &["load"]);
    asked(&["compare", "--load", "nan"], &["load"]);
    asked(&["compare", "--queue-packets", "0"], &["queue-packets"]);
    asked(&["compare", "--pipeline", "buffer=x"], &["no-wait", "unbounded", "buffer=K"]);
    asked(&["reproduce", "atfq-fig99"], &["atfq-fig9"]);
    asked(&["frobnicate"], &["frobnicate"]);
    let folder = folder("compare-elsewhere");
    let table = small_table(&folder);
    asked(&["compare", table.to_str().expect("plain")], &["--workload: ", "table.csv is a table of packets"]);
    let capture = folder.join("small.pcap");
    fs::write(&capture, [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]).expect("written");
    asked(&["compare", capture.to_str().expect("plain")], &["--trace: ", "small.pcap is not text"]);
}

#[test]
fn bad_input_is_a_clear_error_with_status_1() {
    let folder = folder("compare-bad");
    let refused = |flag: &str, name: &str, content: &[u8], said: &[&str]| {
        let path = folder.join(name);
        fs::write(&path, content).expect("written");
        let path = path.to_str().expect("plain");
        let args = if flag.is_empty() { vec!["compare", path] } else { vec!["compare", flag, path] };
        let output = dovetail(&args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        assert!(errors.contains(name), "{name} is not named in: {errors}");
        for word in said {
            assert!(errors.contains(word), "{name}: no '{word}' in: {errors}");
        }
        assert!(!errors.contains("panicked"), "{errors}");
    };
    refused("--trace", "empty.pcap", b"", &[]);
    refused("--trace", "picture.pcap", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01", &[]);
    refused("--workload", "empty.csv", b"", &[]);
    let pcap = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0";
    refused("--workload", "capture.pcap", pcap, &["is not text", "a capture is given as a trace"]);
    refused("--workload", "none.csv", b"arrival_ns,flow,bytes,cpu_ns\n", &["no packets"]);
    let header = "arrival_ns,flow,bytes,cpu_ns,link_ns\n0,a,100,5,5\n";
    for (name, row) in [
        ("negative.csv", "1,a,100,-5,5\n"),
        ("missing.csv", "1,a,100,,5\n"),
        ("short.csv", "1,a,100,5\n"),
        ("overflow.csv", "1,a,100,99999999999999999999999,5\n"),
        ("words.csv", "soon,a,100,5,5\n"),
    ] {
        refused("--workload", name, format!("{header}{row}").as_bytes(), &["line 3"]);
    }
    refused("", "rate.toml", b"name = \"x\"\n[[resource]]\nname = \"link\"\nrate = \"0Mbps\"\n", &[]);
    refused("", "not.toml", b"this is [not toml", &[]);
    let output = dovetail(&["compare", "--trace", "/there/is/no/such.pcap"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn one_packet_is_not_several() {
    let table = written(&folder("compare-one"), "one.csv", "arrival_ns,flow,bytes,cpu_ns\n0,a,100,5\n");
    let text = stdout(&["compare", "--workload", &table, "--policy", "fifo", "--queue-packets", "1"]);
    assert!(text.starts_with("one.csv: 1 packet of 1 flow, ") && text.contains("1 packet a queue"), "{text}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .arg("policies")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_note_is_in_the_document_too() {
    let folder = folder("compare-notes");
    let file = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).expect("written");
        path.to_str().expect("plain").to_owned()
    };
    // Forty packets, the last one truncated.
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 101] {
        capture.extend(word.to_le_bytes());
    }
    for at in 0..40u32 {
        for word in [0, at, 20, 20] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend([[0x45, 0, 0, 20], [0; 4], [64, 17, 0, 0], [10, 0, 0, 1], [10, 0, 0, 2]].concat());
    }
    capture.truncate(capture.len() - 4);
    let cut = file("cut.pcap", &capture);
    let network = file("network.toml", SMALL_NETWORK.as_bytes());
    let access = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/access.toml");
    for (args, said) in [
        (vec!["compare", "--trace", &cut, "--policy", "drr"], "ends within a record"),
        (vec!["tune", "--trace", &cut, "--policy", "atfq", "--points", "2"], "ends within a record"),
        (vec!["compare", &network, "--policy", "drr"], "short transfers"),
        (vec!["compare", access, "--policy", "none"], "latency of requests made from second"),
    ] {
        let text = stdout(&args);
        let document: Value = serde_json::from_str(&stdout(&[&args[..], &["--json"]].concat())).expect("JSON");
        let notes: Vec<_> = document["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
        let shown: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("note: ")).collect();
        assert_eq!(notes, shown, "{args:?}");
        assert!(notes.iter().any(|note| note.contains(said)), "{args:?}: {notes:?}");
    }
}
