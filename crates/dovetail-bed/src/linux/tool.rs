//! The programs of iproute2.

use std::{io::ErrorKind, process::Command};

use crate::BedError;

/// What a program prints that is run with these words.
///
/// # Errors
/// Its own words, when it fails.
pub(super) fn tool(program: &'static str, words: &str) -> Result<Vec<u8>, BedError> {
    run(program, &words.split(' ').collect::<Vec<_>>())
}

/// The same with words that may have blanks.
///
/// # Errors
/// As [`tool`].
pub(super) fn run(program: &'static str, words: &[&str]) -> Result<Vec<u8>, BedError> {
    let ran = Command::new(program).args(words).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => BedError::NoProgram { program, package: "iproute2" },
        _ => BedError::System { what: program.into(), error },
    })?;
    if ran.status.success() {
        return Ok(ran.stdout);
    }
    let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
    Err(BedError::Refused { command: format!("{program} {}", words.join(" ")), said })
}
