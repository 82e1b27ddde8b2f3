//! The switch's error for a process without permission, and that it needs no more than it says.

use std::{
    env,
    process::{Command, Stdio},
};

use dovetail_box::live::switch::Switch;

use crate::is_possible;

const ASKED: &str = "DOVETAIL_SWITCH_PRIVILEGES";

/// Not a test in itself: what [`opened_with`] runs.
#[test]
fn switch_as_a_program() {
    if env::var_os(ASKED).is_none() {
        return;
    }
    match Switch::open().and_then(|mut switch| switch.silence(&[1])) {
        Ok(()) => println!("opened"),
        Err(error) => println!("refused: {error}"),
    }
}

/// The error of opening a switch in a process with these capabilities, as `setpriv` takes them; `None` if it cannot be tried.
fn opened_with(capabilities: &str) -> Option<String> {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", capabilities, "--"]).arg(env::current_exe().unwrap());
    command.args(["--exact", "privileges::switch_as_a_program", "--nocapture"]).env(ASKED, "1");
    match command.stdin(Stdio::null()).output() {
        Ok(ran) if ran.status.success() => Some(String::from_utf8_lossy(&ran.stdout).into_owned()),
        Ok(ran) => {
            dovetail_skip::skipped(format_args!("setpriv: {}", String::from_utf8_lossy(&ran.stderr).trim()));
            None
        }
        Err(error) => {
            dovetail_skip::skipped(format_args!("setpriv (util-linux): {error}"));
            None
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    if !is_possible() {
        return;
    }
    for (capabilities, missing) in [
        ("-bpf,-sys_admin", "this process lacks CAP_BPF;"),
        ("-net_admin,-sys_admin", "this process lacks CAP_NET_ADMIN;"),
        ("-all", "this process lacks CAP_BPF and CAP_NET_ADMIN;"),
    ] {
        let Some(said) = opened_with(capabilities) else { return };
        assert!(said.contains("refused: ") && said.contains(missing), "{capabilities}: {said}");
        assert!(said.contains("run as root, or give the program CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW"), "{said}");
    }
}

#[test]
fn no_more_is_needed_than_is_said() {
    if !is_possible() {
        return;
    }
    let Some(said) = opened_with("-all,+bpf,+net_admin") else { return };
    assert!(said.contains("opened"), "{said}");
}
