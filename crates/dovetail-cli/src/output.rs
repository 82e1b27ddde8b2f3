//! Standard output.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::Path,
};

use crate::failure::Failure;

/// Prints a text and ends the line. A closed pipe means that the reader has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON document.
pub(crate) fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document);
    print(&text.map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?)
}

/// Writes a file in one go.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::file("write", path, error))
}
