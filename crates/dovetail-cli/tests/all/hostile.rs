//! Hostile inputs: each is rejected with a reason, in bounded time and memory.
#![allow(clippy::unwrap_used)]

use std::{fs, io::Write, path::Path, process::Command};

use flate2::{Compression, write::GzEncoder};

use crate::support::{SMALL_NETWORK, folder, stdout, written};

/// Runs it with little memory; asserts that it fails with status 1 and this message.
fn refused(args: &[&str], said: &[&str]) {
    let script = "ulimit -v 2000000; exec \"$@\"";
    let output =
        Command::new("bash").args(["-c", script, "sh", env!("CARGO_BIN_EXE_dovetail")]).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
    for word in said {
        assert!(errors.contains(word), "{args:?}: no '{word}' in: {errors}");
    }
    assert!(!errors.contains("panicked") && !errors.contains("fault of the policy"), "{errors}");
}

/// A flow over a CPU.
fn scenario(head: &str, cost: &str, flow: &str) -> String {
    format!(
        "name = \"x\"\n{head}\n[[resource]]\nname = \"cpu\"\n[[class]]\nname = \"any\"\ncost = {{ cpu = \"{cost}\" }}\n\
         [[flow]]\nname = \"a\"\nsize = 100\n{flow}\n"
    )
}

#[test]
fn flows_without_cost_or_end() {
    let folder = folder("hostile-flows");
    let free = scenario("duration = \"1s\"", "0ns", "arrivals = \"backlogged\"");
    let free = written(&folder, "free.toml", &free);
    for pipeline in ["no-wait", "unbounded"] {
        refused(&["compare", &free, "--policy", "drr", "--pipeline", pipeline], &["flow 'a'", "cost nothing"]);
        // With a scheduler in front of every resource.
        refused(&["compare", &free, "--policy", "wfq-split", "--pipeline", pipeline], &["flow 'a'", "cost nothing"]);
    }
    let deep = "duration = \"1s\"\nbacklog = 1000000000";
    let deep = written(&folder, "deep.toml", &scenario(deep, "1us", "arrivals = \"backlogged\""));
    refused(&["compare", &deep], &["flow 'a'", "1000000000 packets", "lower backlog"]);
}

#[test]
fn the_end_of_the_clock() {
    let folder = folder("hostile-clock");
    let rows = |rows: &[&str]| format!("arrival_ns,flow,bytes,cpu_ns,link_ns\n{}\n", rows.join("\n"));
    let late = 1u64 << 62;
    let late_row = format!("{late},a,100,5,5");
    let never = written(&folder, "never.csv", &rows(&["0,a,100,5,5", "18446744073709551615,a,100,5,5"]));
    refused(&["compare", "--workload", &never], &["never.csv, line 3", "arrival_ns"]);
    let long = written(&folder, "long.csv", &rows(&[format!("0,a,100,{late},{late}").as_str(); 4]));
    for pipeline in ["no-wait", "unbounded", "buffer=1"] {
        for policy in ["fifo", "wfq-split"] {
            let args = ["compare", "--workload", &long, "--policy", policy, "--pipeline", pipeline];
            refused(&args, &["beyond the end of the clock"]);
        }
    }
    let off = written(&folder, "off.csv", &rows(&[&format!("{},a,100,5,5", late - 1000), &late_row]));
    refused(&["compare", "--workload", &off, "--load", "0.000001"], &["beyond the end of the clock"]);
    let slow = scenario("packets = 100000", "1s", "arrivals = { constant = \"1/s\" }");
    let slow = written(&folder, "slow.toml", &slow);
    refused(&["compare", &slow, "--load", "0.000001"], &["slow.toml", "raise the load"]);
}

#[test]
fn a_small_file_that_unpacks_to_gigabytes() {
    let folder = folder("hostile-gzip");
    let packed = |bytes: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    // A capture of packets without a byte, each of them 16 zeros.
    let mut head = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
    head.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0]);
    let zeros = packed(&vec![0; 4 << 20]);
    let bomb = [packed(&head), zeros.repeat(500)].concat();
    assert!(bomb.len() < 3_000_000, "{}", bomb.len());
    let path = folder.join("bomb.pcap.gz");
    fs::write(&path, &bomb).unwrap();
    refused(&["compare", "--trace", path.to_str().unwrap()], &["bomb.pcap.gz", "over 250 times its size", "gunzip"]);
    let table = [packed(b"arrival_ns,flow,bytes,cpu_ns\n"), packed("0,a,1,1\n".repeat(1 << 19).as_bytes()).repeat(500)];
    let path = folder.join("bomb.csv.gz");
    fs::write(&path, table.concat()).unwrap();
    refused(&["compare", "--workload", path.to_str().unwrap()], &["bomb.csv.gz", "over 250 times its size"]);
}

#[test]
fn devices_without_an_end() {
    let folder = folder("hostile-devices");
    let zero = "/dev/zero";
    for args in [
        vec!["compare", zero],
        vec!["tune", zero],
        vec!["compare", "--trace", zero],
        vec!["compare", "--workload", zero],
        vec!["tune", "--workload", zero],
        vec!["compare", "--policy", "cbcs", "--programs", zero],
        vec!["reproduce", "tradeoff-fig7", "--trace", zero],
        vec!["admit", zero],
    ] {
        refused(&args, &["cannot read /dev/zero", "a device"]);
    }
    let cdf = "duration = \"1s\"\n[[resource]]\nname = \"cpu\"\n[[class]]\nname = \"any\"\ncost = { cpu = \"1us\" }\n\
               [[flow]]\nname = \"a\"\nsize = { cdf = { file = \"/dev/zero\" } }\narrivals = \"backlogged\"\n";
    let cdf = written(&folder, "cdf.toml", &format!("name = \"x\"\n{cdf}"));
    refused(&["compare", &cdf], &["/dev/zero"]);
    // Through a pipe the type is unknown until the contents turn out to be wrong.
    for (option, said) in [("--trace", "is not a capture"), ("--workload", "longer than"), ("", "longer than 24 MiB")] {
        let script = format!(
            "ulimit -v 2000000; exec '{}' compare {option} - < <(cat /dev/zero)",
            env!("CARGO_BIN_EXE_dovetail")
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && errors.contains(said), "{option}: {errors}");
    }
}

/// A capture of eighty packets with the headers of the modified format, or its first bytes on a big-endian machine.
fn modified(folder: &Path, little_endian: bool) -> String {
    let word = |word: u32| if little_endian { word.to_le_bytes() } else { word.to_be_bytes() };
    let mut bytes = word(0xa1b2_cd34).to_vec();
    bytes.extend([2, 0, 4, 0]);
    bytes.extend([word(0), word(0), word(65535), word(101)].concat());
    for at in 0..80 {
        let frame = [[0x45, 0, 0, 20], [0; 4], [64, 17, 0, 0], [10, 0, 0, 1 + (at % 2) as u8], [10, 0, 0, 9]].concat();
        // After the usual four words: interface, protocol and packet type.
        bytes.extend([word(at / 10), word(at % 10 * 1000), word(20), word(1000), word(3), word(0x0800_0400)].concat());
        bytes.extend(frame);
    }
    let path = folder.join(if little_endian { "little.pcap" } else { "big.pcap" });
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_modified_capture_is_read_or_named() {
    let folder = folder("hostile-modified");
    let little = modified(&folder, true);
    let text = stdout(&["compare", "--trace", &little, "--policy", "drr", "--link", "1Gbps"]);
    assert!(text.starts_with("little.pcap: 80 packets of 2 flows, 0.080 MB over 7.01 s"), "{text}");
    refused(&["compare", "--trace", &modified(&folder, false)], &["big.pcap", "modified pcap", "editcap"]);
}

#[test]
fn a_capture_without_a_usable_record_says_what_was_left_out() {
    let folder = folder("hostile-unusable");
    let whole = fs::read(modified(&folder, true)).unwrap();
    let cut = folder.join("cut.pcap");
    // The file's header, and the first record without its last byte.
    fs::write(&cut, &whole[..24 + 24 + 19]).unwrap();
    let why = "cut.pcap holds no packets: 1 capture ends within a record, which was ignored";
    refused(&["compare", "--trace", cut.to_str().unwrap()], &[why]);
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let folder = folder("hostile-terminal");
    let table = written(&folder, "escape.csv", "arrival_ns,flow,bytes,cpu_ns\n0,a\u{1b}[31m,100,5\n");
    refused(&["compare", "--workload", &table], &["escape.csv, line 2: column 2 (flow)", "\\u{1b}"]);
    let box_ = scenario("duration = \"1s\"", "1us", "arrivals = \"backlogged\"");
    let box_ = written(&folder, "escape.toml", &box_.replace("\"x\"", "\"\\u001b[31m\""));
    refused(&["compare", &box_], &["escape.toml, line 1: name: there is a control character"]);
    let network = SMALL_NETWORK.replace("\"small\"", "\"\\u0000\"");
    refused(&["compare", &written(&folder, "net.toml", &network)], &["net.toml, line 2: name: there is a control"]);
}
