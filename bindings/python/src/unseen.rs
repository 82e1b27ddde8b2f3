//! Errors in a text that was written for the caller: of a dict, or with overrides.
//!
//! Scenarios are read as TOML, and errors name a line. The caller never saw that text, so the line's key is named instead.

use pyo3::{exceptions::PyValueError, prelude::*};
use toml::Table;

use crate::run::raised;

/// A text, and the name by which errors refer to it; empty if the caller has seen the text.
#[derive(Default)]
pub(crate) struct Unseen {
    name: String,
    text: String,
}

impl Unseen {
    pub(crate) fn new(name: String, text: String) -> Self {
        Self { name, text }
    }

    /// The error, with the key in the place of the line.
    pub(crate) fn told(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if self.name.is_empty() || !error.get_type(py).is(py.get_type::<PyValueError>()) {
            return error;
        }
        self.keyed(&error.value(py).to_string()).map_or(error, raised)
    }

    /// The message with the key, if it names a line of the text.
    fn keyed(&self, message: &str) -> Option<String> {
        let (before, rest) = message.split_once(&format!("{}, line ", self.name))?;
        let (line, what) = rest.split_once(": ")?;
        let key = key_at(&self.text, line.parse().ok()?)?;
        Some(format!("{before}{}, {key}: {what}", self.name))
    }
}

/// The dotted path of what is in this line, counted from 1: a path as overrides have it.
fn key_at(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let wanted = *lines.get(line.checked_sub(1)?)?;
    // The current entry of each list, and the table that the line is in.
    let (mut entries, mut table): (Vec<(&str, String)>, &str) = (Vec::new(), "");
    for (at, &line) in lines[..line].iter().enumerate() {
        if let Some(list) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) {
            let before = lines[..at].iter().rev().take_while(|before| !begins_holder(before, list));
            let place = before.filter(|before| **before == line).count();
            entries.retain(|(known, _)| *known != list && !is_within(known, list));
            entries.push((list, name_of(&lines[at + 1..]).unwrap_or_else(|| place.to_string())));
            table = list;
        } else if let Some(inner) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = inner;
        }
    }
    let mut path = table.to_owned();
    // The innermost first, so that what is before it stays in its place.
    for (list, entry) in entries.iter().rev().filter(|(list, _)| *list == table || is_within(table, list)) {
        path.insert_str(list.len(), &format!(".{entry}"));
    }
    match wanted.split_once(" = ") {
        Some((key, _)) if !wanted.starts_with('[') && path.is_empty() => Some(key.to_owned()),
        Some((key, _)) if !wanted.starts_with('[') => Some(format!("{path}.{key}")),
        _ => Some(path).filter(|path| !path.is_empty()),
    }
}

/// Whether the line begins the entry that holds this list.
fn begins_holder(line: &str, list: &str) -> bool {
    line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")).is_some_and(|holder| is_within(list, holder))
}

/// Whether the table of this path is in that of the other.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}

/// The name of the entry that these lines begin with.
fn name_of(lines: &[&str]) -> Option<String> {
    let line = lines.iter().take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("name = "))?;
    let name = line.parse::<Table>().ok()?.get("name")?.as_str()?.to_owned();
    Some(if name.contains('.') { format!("\"{name}\"") } else { name })
}
