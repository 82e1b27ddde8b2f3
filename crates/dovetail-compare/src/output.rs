//! Output of results: to a writer, and as a page.

use std::{io::Write, path::Path};

use crate::{error::Error, files::NewFile, report::Page};

/// Writes a text and ends the line.
///
/// # Errors
/// If writing to `out` fails.
pub fn print(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Error::Output)
}

/// Writes one JSON document.
///
/// # Errors
/// If writing to `out` fails, or the document cannot be represented in JSON.
pub fn print_json(out: &mut dyn Write, document: &impl serde::Serialize) -> Result<(), Error> {
    print(out, &serde_json::to_string_pretty(document)?)
}

/// Outputs results in the requested forms: a page to `report`, and to `out` one JSON document or a text, which receives the
/// page's path. If the page cannot be written, the other output is unaffected.
///
/// # Errors
/// If the page cannot be written, or writing to `out` fails.
pub fn deliver<D: serde::Serialize>(
    out: &mut dyn Write,
    report: Option<NewFile>,
    json: bool,
    page: impl FnOnce() -> Page,
    document: impl FnOnce() -> D,
    text: impl FnOnce(Option<&Path>) -> String,
) -> Result<(), Error> {
    let mut failures = Vec::new();
    let written = report.and_then(|report| {
        let path = report.path().to_owned();
        report.keep_text(&page().to_html()).map(|()| path).map_err(|error| failures.push(error)).ok()
    });
    let printed = if json { print_json(out, &document()) } else { print(out, &text(written.as_deref())) };
    failures.extend(printed.err());
    Error::unless_none(failures)
}
