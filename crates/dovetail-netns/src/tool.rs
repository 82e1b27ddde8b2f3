//! Runs the programs of iproute2.

use std::{io::ErrorKind, process::Command};

use crate::NetnsError;

/// Runs a program with these arguments, separated by blanks, and returns its output.
///
/// # Errors
/// Its error output, if it fails.
pub fn tool(program: &'static str, words: &str) -> Result<Vec<u8>, NetnsError> {
    run(program, &words.split(' ').collect::<Vec<_>>())
}

/// Same as [`tool`], for arguments that may contain blanks.
///
/// # Errors
/// Those of [`tool`].
pub fn run(program: &'static str, words: &[&str]) -> Result<Vec<u8>, NetnsError> {
    let ran = Command::new(program).args(words).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => NetnsError::NoProgram { program, package: "iproute2" },
        _ => NetnsError::System { what: program.into(), error },
    })?;
    if ran.status.success() {
        return Ok(ran.stdout);
    }
    let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
    Err(NetnsError::Refused { command: format!("{program} {}", words.join(" ")), said })
}
