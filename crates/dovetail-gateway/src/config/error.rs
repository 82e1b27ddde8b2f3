//! What can be wrong with a gateway's configuration.

use std::io;

use dovetail_sched::units::clip;
use thiserror::Error;

/// Why a file cannot be used. The message names the line, the key, what is wrong, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The operating system could not deliver the bytes.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file's name as it was given.
        file: String,
        /// What the reader said.
        source: io::Error,
    },
    /// Something is wrong with the file as a whole.
    #[error("{file}: {what}")]
    File {
        /// The file's name as it was given.
        file: String,
        /// What, and what to do.
        what: String,
    },
    /// Something is wrong with a line.
    #[error("{file}, line {line}: {what}")]
    Line {
        /// The file's name as it was given.
        file: String,
        /// Which line, counted from 1.
        line: usize,
        /// What, and what to do.
        what: String,
    },
}

/// Something wrong at a byte of a text, or with all of it.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) at: Option<usize>,
    pub(crate) what: String,
}

impl Wrong {
    pub(crate) fn at(at: usize, what: impl Into<String>) -> Self {
        Self { at: Some(at), what: what.into() }
    }

    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    /// What is wrong with a text as TOML.
    pub(crate) fn toml(wrong: &toml::de::Error, text: &str) -> Self {
        let at = wrong.span().map(|span| span.start);
        let message = wrong.message().trim();
        // Words of the parser's for something that is not in quotes, and looks like a number, a date or `true`.
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
            None => message.replace('\n', "; "),
        };
        Self { at, what }
    }

    /// With the line, and the file's name.
    pub(crate) fn of(self, text: &str, file: &str) -> ConfigError {
        let Self { at, what } = self;
        match at {
            Some(at) => {
                let before = &text.as_bytes()[..at.min(text.len())];
                let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
                ConfigError::Line { file: file.into(), line, what }
            }
            None => ConfigError::File { file: file.into(), what },
        }
    }
}

/// What is around a byte of a text up to what ends a value. O(bytes of the line).
fn bare_value(text: &str, at: usize) -> &str {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"=,[]{}#\"'".contains(byte);
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let begin = bytes[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |after| at + after);
    // What ends a value is ASCII, so these are between characters.
    text.get(begin..end).unwrap_or_default()
}
