//! Help, the version and usage errors.

use std::{
    fs::File,
    io,
    process::{Command, Output, Stdio},
};

use crate::support::dovetail;

/// What only prints a text, or a script.
const PRINTING: [&[&str]; 5] =
    [&["--version"], &["--help"], &["compare", "--help"], &["help", "tune"], &["completions", "bash"]];

fn printing_to(stdout: impl Into<Stdio>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command
        .args(args)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|run| run.wait_with_output())
        .expect("a run")
}

/// A file that takes nothing.
fn full_disk() -> Option<File> {
    let full = File::options().write(true).open("/dev/full").ok();
    if full.is_none() {
        dovetail_skip::skipped("there is no /dev/full");
    }
    full
}

#[test]
fn a_full_disk_is_an_error() {
    let Some(full) = full_disk() else { return };
    for args in PRINTING {
        let output = printing_to(full.try_clone().expect("another handle"), args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.starts_with("dovetail: cannot write to standard output: "), "{args:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{args:?}: {errors}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for args in PRINTING {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let output = printing_to(writer, args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{args:?}: {errors}");
    }
}

/// Where a log is on a full disk, for example.
#[test]
fn an_error_that_cannot_be_told_keeps_its_status() {
    let Some(full) = full_disk() else { return };
    for (args, status) in [
        (&["compare", "--nope"][..], 2),
        (&["compare", "--seeds", "1,1"], 2),
        (&["compare", "no-such.toml"], 1),
        (&["gateway", "--config", "no-such.toml"], 1),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let output = command.args(args).stderr(full.try_clone().expect("another handle")).output().expect("a run");
        assert_eq!(output.status.code(), Some(status), "{args:?}");
    }
}

#[test]
fn usage_errors_name_the_help_of_the_subcommand() {
    for (args, command) in [
        // While parsing, and after it.
        (&["compare", "--nope"][..], "dovetail compare"),
        (&["compare", "--policy", "none", "--policy", "none"], "dovetail compare"),
        (&["tune", "--load", "none"], "dovetail tune"),
        (&["reproduce", "nonesuch"], "dovetail reproduce"),
        (&["completions"], "dovetail completions"),
        (&["comprae"], "dovetail"),
        (&["--nope"], "dovetail"),
        #[cfg(feature = "gateway")]
        (&["gateway", "doctor", "--nope"], "dovetail gateway doctor"),
        #[cfg(feature = "gateway")]
        (&["gateway"], "dovetail gateway"),
        #[cfg(feature = "middlebox")]
        (&["lab", "up", "--duration", "long"], "dovetail lab up"),
    ] {
        let output = dovetail(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        let hint = format!("\nFor more information, try '{command} --help'.\n");
        assert!(errors.ends_with(&hint), "{args:?}: {errors}");
    }
}
