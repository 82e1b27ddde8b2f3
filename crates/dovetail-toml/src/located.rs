//! An error with its file and line.

use std::fmt;

use thiserror::Error;

/// What is wrong with a file: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Located {
    /// The file's name as given.
    pub file: String,
    /// The line, counted from 1, if there is a single one.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}
