//! Built-in scenarios, found by name from any folder; and suggestions for unknown names.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support::{dovetail, folder, stdout};

fn run_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dovetail")).current_dir(folder).args(args).output().unwrap()
}

/// The workload that a comparison ran.
fn workload(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["workload"].clone()
}

#[test]
fn every_scenario_is_listed_with_a_line() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = files.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
    let text = stdout(&["scenarios"]);
    let document: Value = serde_json::from_str(&stdout(&["scenarios", "--json"])).unwrap();
    assert!(names.len() > 15 && document.as_array().unwrap().len() == names.len());
    for name in &names {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}\n{text}");
        let listed = document.as_array().unwrap().iter().find(|listed| listed["scenario"] == name[..]).unwrap();
        assert!(!listed["description"].as_str().unwrap().is_empty());
    }
    for (name, over) in [("websearch", "pipeline"), ("drr-sff", "network"), ("access", "network with a gateway")] {
        assert!(
            document.as_array().unwrap().iter().any(|one| one["scenario"] == name && one["over"] == over),
            "{name}"
        );
    }
}

#[test]
fn a_name_is_found_from_any_folder_and_a_file_of_that_name_wins() {
    let folder = folder("scenarios-anywhere");
    let args = ["compare", "atfq-fig1", "--policy", "drr", "--json"];
    let by_path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/atfq-fig1.toml");
    let by_path = workload(&dovetail(&["compare", by_path, "--policy", "drr", "--json"]));
    assert_eq!(workload(&run_in(&folder, &args)), by_path);
    // A folder is not a scenario.
    fs::create_dir(folder.join("atfq-fig1")).unwrap();
    assert_eq!(workload(&run_in(&folder, &args)), by_path);
    fs::remove_dir(folder.join("atfq-fig1")).unwrap();
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tradeoff-fig1.toml");
    fs::copy(other, folder.join("atfq-fig1")).unwrap();
    assert_eq!(
        workload(&run_in(&folder, &args)),
        workload(&dovetail(&["compare", other, "--policy", "drr", "--json"]))
    );
    let tuned = run_in(&folder, &["tune", "tradeoff-fig1", "--policy", "atfq", "--points", "2"]);
    assert!(String::from_utf8_lossy(&tuned.stdout).starts_with("tradeoff-fig1:"), "{tuned:?}");
    let network = run_in(&folder, &["compare", "drr-sff", "--trace", "x"]);
    assert!(String::from_utf8_lossy(&network.stderr).contains("drr-sff is a network"), "{network:?}");
}

#[test]
fn what_was_meant_is_said() {
    let folder = folder("scenarios-meant");
    let said = |args: &[&str], status: i32, words: &[&str]| {
        let output = run_in(&folder, args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {errors}");
        for word in words {
            assert!(errors.contains(word), "{args:?}: no '{word}' in: {errors}");
        }
    };
    said(&["compare", "websaerch"], 2, &["no file or scenario 'websaerch' (did you mean websearch?)", "middlebox"]);
    said(&["compare", "nonesuch"], 2, &["'nonesuch': the scenarios that come with the command are", "middlebox"]);
    said(&["compare", "scenarios/websearch.toml"], 1, &["no file scenarios/websearch.toml", "is called websearch"]);
    said(&["compare", "nonesuch.toml"], 1, &["cannot read nonesuch.toml"]);
    said(&["compare", "--policy", "drqf"], 2, &["did you mean drfq?", "Available are fifo"]);
    said(&["compare", "--policy", "atfq:btach=20"], 2, &["did you mean batch?"]);
    said(&["tune", "--policy", "tradeof"], 2, &["tradeof"]);
    said(&["reproduce", "atfq-fg9"], 2, &["did you mean atfq-fig9?"]);
    #[cfg(feature = "profile")]
    said(&["profile", "forwardign"], 2, &["did you mean forwarding?"]);
}
