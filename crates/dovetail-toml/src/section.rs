//! Tables of a file, read key by key.
//!
//! A [`Section`] is queried for each key that it may have, with a reader for the value; any other key is an error that
//! lists the valid keys. So a key's name, place, kind and range are written once, where it is read, and every error has its
//! line and its key.

use dovetail_sched::units::clip;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    fault::Fault,
    heading::{several, single},
    values::shown,
};

/// Maximum number of values in a list.
const MAX_LIST_LEN: usize = 4096;

/// A table of the file, queried key by key.
#[derive(Debug)]
pub struct Section<'t> {
    name: String,
    at: Option<usize>,
    table: Option<&'t DeTable<'t>>,
    known: Vec<&'static str>,
}

impl<'t> Section<'t> {
    /// The root table of a file.
    pub fn root(table: &'t DeTable<'t>) -> Self {
        Self { name: String::new(), at: None, table: Some(table), known: Vec::new() }
    }

    fn named(name: String, value: &'t Spanned<DeValue<'t>>) -> Result<Self, Fault> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => Ok(Self { name, at: Some(at), table: Some(table), known: Vec::new() }),
            other => Err(Fault::at(at, format!("{name}: {} is not a table of keys", shown(other)))),
        }
    }

    fn get(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table?.iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value)
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Whether the table exists in the file.
    pub fn is_there(&self) -> bool {
        self.table.is_some()
    }

    /// An error about a key, at its value or at the table that lacks it.
    pub fn wrong(&self, key: &str, what: impl AsRef<str>) -> Fault {
        let found = self.table.and_then(|table| table.iter().find(|(known, _)| known.get_ref() == key));
        let at = found.map(|(_, value)| value.span().start).or(self.at);
        Fault { at, what: format!("{}: {}", self.path(key), what.as_ref()) }
    }

    /// The table under this key, empty if it does not exist.
    pub fn section(&mut self, key: &'static str) -> Result<Self, Fault> {
        let name = self.path(key);
        match self.get(key) {
            Some(value) => match value.get_ref() {
                DeValue::Array(tables) if are_tables(tables) => Err(Fault::at(value.span().start, single(&name))),
                _ => Self::named(name, value),
            },
            None => Ok(Self { name, at: self.at, table: None, known: Vec::new() }),
        }
    }

    /// The tables under this key.
    pub fn sections(&mut self, key: &'static str) -> Result<Vec<Self>, Fault> {
        let name = self.path(key);
        match self.get(key).map(|value| (value.span().start, value.get_ref())) {
            None => Ok(Vec::new()),
            Some((_, DeValue::Array(tables))) => tables.iter().map(|table| Self::named(name.clone(), table)).collect(),
            Some((at, _)) => Err(Fault::at(at, several(&name))),
        }
    }

    /// The value of a key, if it exists.
    pub fn one<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value.get_ref()).map(Some).map_err(|what| Fault::at(value.span().start, self.described(key, &what)))
    }

    /// The values of a key whose value is a list or a single value.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        each: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>, Fault> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let read = |value: &Spanned<DeValue<'_>>| {
            each(value.get_ref()).map_err(|what| Fault::at(value.span().start, self.described(key, &what)))
        };
        match value.get_ref() {
            DeValue::Array(values) if values.len() > MAX_LIST_LEN => {
                let what = format!("{} values, and at most {MAX_LIST_LEN} are allowed", values.len());
                Err(Fault::at(value.span().start, self.described(key, &what)))
            }
            DeValue::Array(values) => values.iter().map(read).collect::<Result<_, _>>().map(Some),
            _ => read(value).map(|value| Some(vec![value])),
        }
    }

    fn described(&self, key: &str, what: &str) -> String {
        format!("{}: {what}", self.path(key))
    }

    /// Call this after reading all keys and before reporting missing ones, which may be present under a misspelt name.
    ///
    /// # Errors
    /// The first key that was not read.
    pub fn end(&self) -> Result<(), Fault> {
        let keys = self.table.into_iter().flat_map(|table| table.keys());
        let unknown = keys.filter(|key| !self.known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let place = if self.name.is_empty() { "the file".to_owned() } else { format!("[{}]", self.name) };
        let near = self.known.iter().find(|known| is_near(known, key.get_ref()));
        let meant = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let (key, at) = (clip(key.get_ref()).escape_debug().to_string(), key.span().start);
        let colon = if meant.is_empty() { ":" } else { "" };
        Err(Fault::at(at, format!("there is no key '{key}' here{meant}{colon} {place} has {}", self.known.join(", "))))
    }
}

/// Whether this array is one of tables, as under a heading with two brackets.
fn are_tables(array: &[Spanned<DeValue<'_>>]) -> bool {
    !array.is_empty() && array.iter().all(|entry| matches!(entry.get_ref(), DeValue::Table(_)))
}

/// Whether the names differ by at most two letters added, omitted or replaced, and not by most of them. O(letters²).
fn is_near(known: &str, written: &str) -> bool {
    let (known, written) = (known.as_bytes(), written.as_bytes());
    let most = (known.len() / 3).clamp(1, 2);
    if known.len().abs_diff(written.len()) > most {
        return false;
    }
    // Edit distances from the letters of `written` so far to each prefix of `known`.
    let mut changes: Vec<_> = (0..=known.len()).collect();
    for (row, letter) in written.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut changes[0], row + 1);
        for (at, other) in known.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = changes[at + 1];
            changes[at + 1] = replaced.min(diagonal + 1).min(changes[at] + 1);
        }
    }
    changes[known.len()] <= most
}
