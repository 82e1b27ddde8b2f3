//! Errors of workloads.

use std::io;

use dovetail_toml::{Fault, Located};
use thiserror::Error;

/// Why a workload cannot be read. The message says what is wrong, where, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The operating system, or the decompressor, could not deliver the bytes.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file's name as given.
        file: String,
        /// The reader's error.
        source: io::Error,
    },
    /// Something is wrong with the file as a whole.
    #[error("{file}: {what}")]
    File {
        /// The file's name as given.
        file: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// Something is wrong with a packet of a capture.
    #[error("{file}, packet {packet}: {what}")]
    Packet {
        /// The file's name as given.
        file: String,
        /// Number of the packet, counted from 1.
        packet: u64,
        /// What is wrong, and what to do.
        what: String,
    },
    /// Something is wrong with a line of a text file.
    #[error("{file}, line {line}: {what}")]
    Line {
        /// The file's name as given.
        file: String,
        /// Number of the line, counted from 1.
        line: u64,
        /// What is wrong, and what to do.
        what: String,
    },
}

impl WorkloadError {
    /// An error at byte `at` of `text`.
    pub(crate) fn at(text: &str, file: &str, at: usize, what: String) -> Self {
        Self::of(Fault::at(at, what), text, file)
    }

    /// An error in `text`, the contents of `file`.
    pub(crate) fn of(fault: Fault, text: &str, file: &str) -> Self {
        let Located { file, line, what } = fault.located(text, file);
        match line {
            Some(line) => Self::Line { file, line: line as u64, what },
            None => Self::File { file, what },
        }
    }
}
