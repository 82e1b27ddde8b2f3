//! The programs of iproute2.

use std::{io::ErrorKind, process::Command};

use crate::NetnsError;

/// What a program prints that is run with these words.
///
/// # Errors
/// Its own words, when it fails.
pub fn tool(program: &'static str, words: &str) -> Result<Vec<u8>, NetnsError> {
    run(program, &words.split(' ').collect::<Vec<_>>())
}

/// The same with words that may have blanks.
///
/// # Errors
/// As [`tool`].
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
