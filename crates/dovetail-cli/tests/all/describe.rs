//! Completions and man pages name every command.

use std::fs;

use crate::support::{dovetail, folder, stdout};

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = stdout(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Long descriptions continue in lines with deeper indentation.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.iter().any(|name| name == "compare") && names.len() > 5, "{names:?}");
    names
}

#[test]
fn shells_learn_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
    }
    assert_eq!(dovetail(&["completions", "nonesuch"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_man_page() {
    let folder = folder("man").join("man1");
    stdout(&["man", folder.to_str().expect("plain")]);
    for command in commands().iter().filter(|command| *command != "help") {
        let page = fs::read_to_string(folder.join(format!("dovetail-{command}.1"))).expect("a page");
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(folder.join("dovetail.1").exists());
    let output = dovetail(&["man", "/proc/nowhere"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_sweep_says_what_to_install() {
    for args in [&["sweep"][..], &["sweep", "grid.toml", "--out", "results", "--jobs", "2"], &["sweep", "--help"]] {
        let output = dovetail(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("pip install 'dovetail-sched[sweep]'"), "{args:?}");
    }
}
