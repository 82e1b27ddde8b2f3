//! `dovetail middlebox` and `dovetail lab`, from outside.

use std::path::Path;

use crate::support::{dovetail, folder};

fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = dovetail(arguments);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_lacks_for_a_box_is_said() {
    let file = folder("middlebox").join("box.toml");
    let file = file.to_str().unwrap();
    let (status, errors) = said(&["middlebox", "--config", file]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("box.toml: cannot be read"), "{errors}");

    let text = "[box]\ninside = \"no-such-one\"\noutside = \"lo\"\npolicy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";
    std::fs::write(file, text).unwrap();
    for check in [&["--check"][..], &[]] {
        let (status, errors) = said(&[&["middlebox", "--config", file], check].concat());
        assert_eq!(status, Some(1));
        assert!(errors.contains("no-such-one"), "{errors}");
    }

    std::fs::write(file, text.replace("[link]", "[lonk]")).unwrap();
    let (status, errors) = said(&["middlebox", "--config", file, "--check"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("line 5: there is no key 'lonk' here; did you mean 'link'?"), "{errors}");
}

#[test]
fn what_a_firewall_should_say_needs_no_interfaces() {
    let file = folder("firewall").join("box.toml");
    let file = file.to_str().unwrap();
    let text = "[box]\ninside = \"no-such-one\"\noutside = \"nor-this\"\npolicy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";
    std::fs::write(file, text).unwrap();
    let output = dovetail(&["middlebox", "--config", file, "--nftables"]);
    let tables = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && tables.contains("hook egress device \"nor-this\""), "{tables}");

    std::fs::write(file, text.replace("nor-this", "eth*")).unwrap();
    let (status, errors) = said(&["middlebox", "--config", file, "--nftables"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("nftables cannot name eth*: give the interface another name"), "{errors}");
}

#[test]
fn only_some_experiments_have_trials() {
    let (status, errors) = said(&["reproduce", "atfq-fig5", "--live"]);
    assert_eq!(status, Some(2));
    let why = "--live: atfq-fig5 has no field trial; those that have are tradeoff-table2, tradeoff-fig3";
    assert!(errors.contains(why), "{errors}");
}

#[test]
fn a_lab_shows_a_box_at_work_and_leaves_nothing_behind() {
    let arguments = ["lab", "up", "--duration", "3s", "--policy", "drr"];
    let output = dovetail(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && (errors.contains("root") || errors.contains("there is a lab")) {
        dovetail_skip::skipped(errors.trim());
        return;
    }
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let head = text.lines().position(|line| line.trim_start().starts_with("CPU %")).expect("there is a table");
    let rows: Vec<_> = text.lines().skip(head + 1).collect();
    if rows.is_empty() {
        dovetail_skip::skipped("the machine is too busy: the box did not tell of itself for two seconds");
        return;
    }
    // CPU and link, and three figures of each class.
    assert!(rows.iter().all(|row| row.replace('|', " ").split_whitespace().count() == 11), "{text}");
    let passed: f64 = rows.iter().filter_map(|row| row.split_whitespace().nth(1)?.parse::<f64>().ok()).sum();
    assert!(passed > 0.0, "{text}");
    for namespace in ["dovetail-inside", "dovetail-box", "dovetail-outside"] {
        assert!(!Path::new("/run/netns").join(namespace).exists());
    }
}

#[test]
fn a_policy_that_cannot_be_is_refused_before_anything_is_built() {
    let (status, errors) = said(&["lab", "up", "--policy", "drfqq"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("unknown policy 'drfqq': did you mean drfq?"), "{errors}");
}
