//! What can be wrong with a gateway's configuration.

use std::io;

use thiserror::Error;

/// Why a file cannot be used. The message says where, which key, what is wrong, and what to do.
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

    pub(crate) fn toml(wrong: &toml::de::Error) -> Self {
        Self { at: wrong.span().map(|span| span.start), what: wrong.message().trim().replace('\n', "; ") }
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
