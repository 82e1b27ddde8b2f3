//! Where what was found out goes: a writer, and a page.

use std::{io::Write, path::Path};

use crate::{error::Error, files::NewFile, report::Page};

/// Writes a text and ends the line.
///
/// # Errors
/// Where `out` takes it not.
pub fn print(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Error::Output)
}

/// Writes one JSON document.
///
/// # Errors
/// Where `out` takes it not, or it is no JSON.
pub fn print_json(out: &mut dyn Write, document: &impl serde::Serialize) -> Result<(), Error> {
    print(out, &serde_json::to_string_pretty(document)?)
}

/// What was found out, in the forms that were asked for: a page into `report`, and to `out` one JSON document or a text,
/// which is told where the page is. A page that cannot be written costs nothing but itself.
///
/// # Errors
/// Where the page cannot be written, or `out` takes the rest not.
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
