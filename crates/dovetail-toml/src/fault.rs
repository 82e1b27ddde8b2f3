//! An error at a position in a text.

use serde::de::DeserializeOwned;

use super::{
    heading::{Heading, several, single},
    located::Located,
    once::MEANT_ONCE,
    wording::in_terms_of_toml,
};

/// An error at a byte of a text, or about all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The byte, if there is a single position.
    pub at: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

/// Deserialises a text.
///
/// # Errors
/// When the text is not TOML, or does not deserialise to `T`.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|wrong| Fault::of_toml(&wrong, text))
}

impl Fault {
    /// An error at a byte of the text.
    #[must_use]
    pub fn at(at: usize, what: impl Into<String>) -> Self {
        Self { at: Some(at), what: what.into() }
    }

    /// An error about the text as a whole.
    #[must_use]
    pub fn whole(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    /// Adds what the error is about, and a position if there is none yet.
    #[must_use]
    pub fn about(self, at: usize, about: &str) -> Self {
        Self { at: self.at.or(Some(at)), what: format!("{about}: {}", self.what) }
    }

    /// Converts an error of the TOML parser.
    #[must_use]
    pub fn of_toml(wrong: &toml::de::Error, text: &str) -> Self {
        let at = wrong.span().map(|span| span.start);
        let message = wrong.message().trim();
        if let Some(what) = at.and_then(|at| brackets(text, at, message)) {
            return Self { at, what };
        }
        // The parser's messages for an unquoted value that looks like a number, a date or `true`.
        let is_bare = message.starts_with("string values must be quoted")
            || ["float", "integer", "boolean", "time", "date"]
                .iter()
                .any(|kind| message.contains(&format!("invalid {kind}")));
        let bare = at.filter(|_| is_bare).map(|at| bare_value(text, at)).filter(|bare| !bare.is_empty());
        let what = match bare {
            Some(bare) => {
                let bare = clip(bare).escape_debug().to_string();
                format!("{bare} is not a value: addresses, rates, times and words go in quotes, such as \"{bare}\"")
            }
            None => in_terms_of_toml(message).replace('\n', "; "),
        };
        Self { at, what }
    }

    /// Its line in the text, counted from 1. O(bytes before it).
    #[must_use]
    pub fn line(&self, text: &str) -> Option<usize> {
        let before = &text.as_bytes()[..self.at?.min(text.len())];
        Some(before.iter().filter(|&&byte| byte == b'\n').count() + 1)
    }

    /// Adds the line and the file's name.
    #[must_use]
    pub fn located(self, text: &str, file: &str) -> Located {
        Located { file: file.into(), line: self.line(text), what: self.what }
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::whole(what)
    }
}

/// What to write for a heading whose brackets this message is about.
fn brackets(text: &str, at: usize, message: &str) -> Option<String> {
    let Heading { name, is_double } = Heading::at(text, at)?;
    let is_about = |found: &str, expected: &str| message.starts_with(found) && message.contains(expected);
    if message == "duplicate key" {
        return Some(format!("there is a [{name}] before: for several, write [[{name}]] for each, with two brackets"));
    }
    if is_double {
        let is_once = message == MEANT_ONCE || is_about("invalid type: sequence", ", expected a map");
        return is_once.then(|| single(name));
    }
    is_about("invalid type: map", ", expected a sequence").then(|| several(name))
}

/// Truncates text of a file to what a message repeats.
fn clip(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut clipped: String = text.chars().take(MAX_CHARS).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// The text around a byte, up to delimiters of values. O(bytes of the line).
fn bare_value(text: &str, at: usize) -> &str {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"=,[]{}#\"'".contains(byte);
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let begin = bytes[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |after| at + after);
    // Delimiters are ASCII, so these positions are character boundaries.
    text.get(begin..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one_and_end_with_the_text() {
        let text = "a\nb\n";
        for (at, line) in [(0, 1), (1, 1), (2, 2), (4, 3), (99, 3)] {
            assert_eq!(Fault::at(at, "").line(text), Some(line), "byte {at}");
        }
        assert_eq!(Fault::whole("").line(text), None);
    }

    #[test]
    fn the_more_precise_place_is_kept() {
        assert_eq!(Fault::at(3, "no").about(1, "link"), Fault::at(3, "link: no"));
        assert_eq!(Fault::whole("no").about(1, "link"), Fault::at(1, "link: no"));
    }
}
