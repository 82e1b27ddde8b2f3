//! Output files: rejected before the run if they cannot be written or are an input, and written completely or not at all.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use crate::support::{SMALL_NETWORK, dovetail, folder, small_table, written};

/// An unlimited stream of packets: a command that runs it before it rejects a path does not return.
const ENDLESS: &str = r#"
name = "endless"
packets = 1000000000000
[[resource]]
name = "cpu"
[[class]]
name = "any"
cost = { cpu = "1us" }
[[flow]]
name = "a"
size = 100
arrivals = "backlogged"
"#;

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Asserts that the arguments are rejected with this status and message, and nothing is printed.
fn refused(args: &[&str], status: i32, said: &[&str]) {
    let output = dovetail(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {errors}");
    assert!(output.stdout.is_empty(), "{args:?}");
    for word in said {
        assert!(errors.contains(word), "{args:?}: no '{word}' in: {errors}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_the_run() {
    let folder = folder("files-refused");
    let endless = written(&folder, "endless.toml", ENDLESS);
    let network = written(&folder, "network.toml", SMALL_NETWORK);
    let (here, none) = (folder.to_str().unwrap(), folder.join("none/x"));
    let none = none.to_str().unwrap();
    let below_a_file = format!("{endless}/records");
    for path in [none, here] {
        refused(&["compare", &endless, "--report", path], 1, &["cannot write", path]);
        refused(&["tune", &endless, "--report", path], 1, &["cannot write", path]);
        refused(&["tune", &network, "--policy", "drr-sff", "--report", path], 1, &["cannot write", path]);
        refused(&["compare", &endless, "--policy", "cbcs", "--programs", path], 1, &[path]);
        refused(&["reproduce", "all", "--report", path], 1, &["cannot write", path]);
        #[cfg(feature = "profile")]
        for option in ["--output", "--samples", "--report"] {
            refused(&["profile", "all", "--packets", "30000", option, path], 1, &["cannot write", path]);
        }
    }
    refused(&["compare", &endless, "--report", none], 1, &["there is no folder", "files-refused/none: create it"]);
    refused(&["compare", &endless, "--records", &below_a_file], 1, &["endless.toml/records"]);
    refused(&["compare", &network, "--pcap", &below_a_file], 1, &["endless.toml/records"]);
    refused(&["tune", &endless, "--records", &below_a_file], 1, &["endless.toml/records"]);
    // A folder where a file of records should be.
    fs::create_dir_all(folder.join("records/drr.csv")).unwrap();
    let records = folder.join("records");
    refused(&["compare", &endless, "--records", records.to_str().unwrap()], 1, &["drr.csv", "folder"]);
}

#[test]
fn nothing_is_written_over_an_input() {
    let folder = folder("files-inputs");
    let endless = written(&folder, "fifo.csv", ENDLESS);
    let other_name = folder.join("hard.toml");
    fs::hard_link(&endless, &other_name).unwrap();
    let other_name = other_name.to_str().unwrap();
    let here = folder.to_str().unwrap();
    let roundabout = format!("{here}/../files-inputs/fifo.csv");
    for path in [&endless[..], &roundabout, other_name] {
        refused(&["compare", &endless, "--report", path], 2, &["--report", "the scenario, which is an input"]);
        refused(&["tune", &endless, "--report", path], 2, &["the scenario, which is an input"]);
        refused(&["reproduce", "tradeoff-fig7", "--trace", &endless, "--report", path], 2, &["the trace"]);
        // Not in the format of programs, and must not be lost.
        let programs = ["compare", &endless, "--policy", "cbcs", "--programs", path];
        refused(&programs, 1, &["not a file of programs", "written over"]);
    }
    refused(
        &["compare", &endless, "--policy", "fifo", "--records", here],
        2,
        &["--records", "fifo.csv", "the scenario"],
    );
    let table = small_table(&folder);
    let table = table.to_str().unwrap();
    refused(&["compare", "--workload", table, "--report", table], 2, &["the workload, which is an input"]);
    let programs = folder.join("programs.toml");
    let both = programs.to_str().unwrap();
    let twice = ["compare", &endless, "--policy", "cbcs", "--programs", both, "--report", both];
    refused(&twice, 2, &["programs.toml is written as report already"]);
    assert_eq!(fs::read_to_string(&endless).unwrap(), ENDLESS);
}

#[test]
fn policies_whose_records_would_have_one_name_are_refused() {
    let folder = folder("files-names");
    let endless = written(&folder, "endless.toml", ENDLESS);
    let records = folder.join("records");
    // Two letters that look alike and both mean micro.
    let policies = ["--policy", "drfq:dovetail=1\u{b5}s", "--policy", "drfq:dovetail=1\u{3bc}s"];
    let args = [&["compare", &endless], &policies[..], &["--records", records.to_str().unwrap()]].concat();
    refused(&args, 2, &["would both be written to", "drfq_dovetail_1_s.csv"]);
}

/// Runs it with files limited to `kilobytes`.
fn on_a_full_disk(kilobytes: u32, args: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", kilobytes * 2);
    let mut command = Command::new("bash");
    command.args(["-c", &script.replace(" -f ", " -S -f "), "sh", env!("CARGO_BIN_EXE_dovetail")]);
    command.args(args).output().unwrap()
}

#[test]
fn a_full_disk_costs_what_was_to_be_written_and_nothing_else() {
    let folder = folder("files-full");
    let table = small_table(&folder);
    let report = folder.join("report.html");
    fs::write(&report, "old").unwrap();
    let records = folder.join("records");
    let [table, report, records] = [&table, &report, &records].map(|path| path.to_str().unwrap());
    let args = ["compare", "--workload", table, "--policy", "drr", "--report", report, "--records", records];
    let output = on_a_full_disk(8, &args);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(text.contains("makespan s") && text.contains("\n drr "), "{text}");
    assert!(!text.contains("report:"), "{text}");
    assert!(errors.contains("drr.csv") && errors.contains("report.html"), "{errors}");
    assert_eq!(fs::read_to_string(report).unwrap(), "old");
    assert_eq!(entries(Path::new(records)), [""; 0]);
    let json = on_a_full_disk(8, &[&args[..], &["--json"]].concat());
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(document["policies"][0]["records"].is_null() && document["policies"][0]["sent"] == 6000);
    let network = written(&folder, "network.toml", SMALL_NETWORK);
    let output = on_a_full_disk(64, &["compare", &network, "--policy", "drr", "--pcap", records]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("drr.pcap") && !output.stdout.is_empty(), "{errors}");
    assert_eq!(entries(Path::new(records)), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let folder = folder("files-interrupted");
    let endless = written(&folder, "endless.toml", ENDLESS);
    let records = folder.join("records");
    // A shell's background jobs ignore interrupts, and so would their children.
    let mut child = Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_dovetail")])
        .args(["compare", &endless, "--policy", "drr", "--records", records.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It has started when it has a file in that folder open.
    let open = Path::new("/proc").join(child.id().to_string()).join("fd");
    let is_open = || {
        let mut files = fs::read_dir(&open).into_iter().flatten().flatten();
        files.any(|file| fs::read_link(file.path()).is_ok_and(|file| file.starts_with(&records)))
    };
    while !is_open() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success() && !child.wait().unwrap().success());
    assert_eq!(entries(&records), [""; 0]);
}

#[test]
fn what_is_no_file_is_written_to_as_it_is() {
    let folder = folder("files-devices");
    let table = small_table(&folder);
    let table = table.to_str().unwrap();
    let output = dovetail(&["compare", "--workload", table, "--policy", "drr", "--report", "/dev/stdout"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("</html>") && text.contains("makespan s"));
    // The same if standard output is a file: nothing is overwritten.
    let path = folder.join("both.txt");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command.args(["compare", "--workload", table, "--policy", "drr", "--report", "/dev/stdout"]);
    assert!(command.stdout(fs::File::create(&path).unwrap()).status().unwrap().success());
    let both = fs::read_to_string(&path).unwrap();
    assert!(both.contains("</html>") && both.contains("makespan s") && both.len() == text.len());
    let null = ["compare", "--workload", table, "--policy", "cbcs", "--report", "/dev/null"];
    assert!(dovetail(&null).status.success());
}
