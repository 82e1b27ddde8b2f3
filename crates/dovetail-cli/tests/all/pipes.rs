//! Inputs that can be read only once: the result is the same as from a file.
#![allow(clippy::unwrap_used)]

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;

use crate::support::{folder, small_table, stdout, written};

const ARGS: [&str; 6] = ["--policy", "fifo", "--policy", "drr", "--jobs", "2"];

/// The part that depends on neither the machine nor the input's name.
fn same_of_any_name(text: &[u8]) -> Value {
    let mut document: Value = serde_json::from_slice(text).unwrap();
    for policy in document["policies"].as_array_mut().unwrap() {
        policy["wall_s"] = Value::Null;
    }
    for input in document["provenance"]["inputs"].as_array_mut().unwrap() {
        assert!(input["name"].take().is_string());
    }
    document
}

/// Runs it with `bytes` on standard input.
fn piped(args: &[&str], bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writing = thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success(), "{args:?}");
    output.stdout
}

#[test]
fn a_table_comes_through_any_pipe() {
    let folder = folder("pipes-table");
    let table = small_table(&folder);
    let table = table.to_str().unwrap();
    let bytes = fs::read(table).unwrap();
    fn run(path: &str) -> Vec<&str> {
        [&["compare", "--workload", path], &ARGS[..], &["--load", "0.7", "--json"]].concat()
    }
    let want = same_of_any_name(stdout(&run(table)).as_bytes());
    for path in ["-", "/dev/stdin"] {
        assert_eq!(same_of_any_name(&piped(&run(path), &bytes)), want, "{path}");
    }
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let place = fifo.clone();
    let writing = thread::spawn(move || File::options().write(true).open(place)?.write_all(&bytes));
    assert_eq!(same_of_any_name(stdout(&run(fifo.to_str().unwrap())).as_bytes()), want);
    writing.join().unwrap().unwrap();
    let script = format!("exec '{}' {}", env!("CARGO_BIN_EXE_dovetail"), run(&format!("<(cat '{table}')")).join(" "));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(same_of_any_name(&output.stdout), want);
}

#[test]
fn a_scenario_and_a_packed_capture_come_through_pipes() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/atfq-fig1.toml");
    let run = |path: &'static str| [&["compare", path], &ARGS[..], &["--json"]].concat();
    let of_pipe = piped(&run("-"), &fs::read(scenario).unwrap());
    assert_eq!(same_of_any_name(&of_pipe), same_of_any_name(stdout(&run(scenario)).as_bytes()));

    let folder = folder("pipes-capture");
    let network = written(&folder, "network.toml", crate::support::SMALL_NETWORK);
    stdout(&["compare", &network, "--policy", "drr", "--pcap", folder.to_str().unwrap()]);
    let capture = folder.join("drr.pcap");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&fs::read(&capture).unwrap()).unwrap();
    let run = |path: &'static str| [&["compare", "--trace", path], &ARGS[..], &["--json"]].concat();
    let capture: &Path = &capture;
    let of_file = [&["compare", "--trace", capture.to_str().unwrap()], &ARGS[..], &["--json"]].concat();
    let mut want = same_of_any_name(stdout(&of_file).as_bytes());
    assert!(want["workload"]["packets"].as_u64().unwrap() > 1000);
    let mut of_packed = same_of_any_name(&piped(&run("-"), &packed.finish().unwrap()));
    // The hash covers the bytes as received.
    let hash = |document: &mut Value| document["provenance"]["inputs"][0]["sha256"].take();
    let (of_packed_bytes, of_bytes) = (hash(&mut of_packed), hash(&mut want));
    assert!(of_packed_bytes.is_string() && of_bytes.is_string() && of_packed_bytes != of_bytes);
    assert_eq!(of_packed, want);
}
