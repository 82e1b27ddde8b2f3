//! Errors in a text that was written for the caller: of a dict, or with overrides.
//!
//! Scenarios are read as TOML, and errors name a line. The caller never saw that text, so the line's key is named instead.

use pyo3::{exceptions::PyValueError, prelude::*};
use toml::de::{DeArray, DeTable, DeValue};

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
    let begin = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum::<usize>();
    let mut places = Vec::new();
    add_table(DeTable::parse(text).ok()?.get_ref(), "", &mut places);
    // Of an array and its first entry, which begin together, the entry.
    places.into_iter().filter(|(at, _)| *at <= begin).max_by_key(|(at, _)| *at).map(|(_, path)| path)
}

/// Adds where each value of a table begins, and its path.
fn add_table(table: &DeTable<'_>, path: &str, places: &mut Vec<(usize, String)>) {
    for (key, value) in table {
        let path = joined(path, key.get_ref());
        // The value of a table is its header.
        places.push((key.span().start.min(value.span().start), path.clone()));
        match value.get_ref() {
            DeValue::Table(table) => add_table(table, &path, places),
            DeValue::Array(list) => add_entries(list, &path, places),
            _ => {}
        }
    }
}

/// Adds where each table of a list begins, and the path of its name or, if it has none, of its index.
fn add_entries(list: &DeArray<'_>, path: &str, places: &mut Vec<(usize, String)>) {
    for (index, entry) in list.iter().enumerate() {
        let DeValue::Table(table) = entry.get_ref() else { continue };
        let name =
            table.get("name").and_then(|name| name.get_ref().as_str()).filter(|name| !name.contains(['"', '\n']));
        let path = joined(path, name.unwrap_or(&index.to_string()));
        places.push((entry.span().start, path.clone()));
        add_table(table, &path, places);
    }
}

fn joined(path: &str, step: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    let quote = if step.contains('.') { "\"" } else { "" };
    format!("{path}{dot}{quote}{step}{quote}")
}
