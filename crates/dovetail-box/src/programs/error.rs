//! Errors of programs and their files.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use wasmtime::Trap;

use super::{
    answer::ABI,
    limits::{MAX_PROGRAMS, MODULE_BYTES, NAME_LENGTH},
};
use crate::functions::Reason;

/// How a call of a program failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A trap: a division by zero, an access outside its memory, an exhausted stack, an instruction that traps.
    Trapped,
    /// It ran out of fuel.
    OutOfFuel,
    /// Its answer is invalid.
    BadAnswer,
}

impl Failure {
    /// The reason for dropping its packet.
    pub(super) const fn reason(self) -> Reason {
        match self {
            Self::Trapped => Reason::Trapped,
            Self::OutOfFuel => Reason::OutOfFuel,
            Self::BadAnswer => Reason::BadAnswer,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trapped => "traps",
            Self::OutOfFuel => "runs out of fuel",
            Self::BadAnswer => "returns an invalid answer",
        })
    }
}

/// Why a call of a program failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It trapped, or ran out of fuel.
    Trap(Trap),
    /// It returned this.
    Answer(i64),
    /// It failed in a way that the compiler's runtime does not name.
    Unknown,
}

impl Why {
    /// The kind of failure.
    pub(super) const fn failure(self) -> Failure {
        match self {
            Self::Trap(Trap::OutOfFuel) => Failure::OutOfFuel,
            Self::Trap(_) | Self::Unknown => Failure::Trapped,
            Self::Answer(_) => Failure::BadAnswer,
        }
    }
}

/// The kind of failure, and in parentheses what it does not say.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failure = self.failure();
        match self {
            Self::Trap(Trap::OutOfFuel) | Self::Unknown => write!(f, "{failure}"),
            Self::Trap(trap) => write!(f, "{failure} ({trap})"),
            Self::Answer(answer) => write!(f, "{failure} ({answer:#018x})"),
        }
    }
}

/// A program that cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("{}: {flaw}{}", path.display(), if *.old_serves { "; the previous version stays in use" } else { "" })]
pub struct ProgramError {
    /// Its file, or only its name if it was not read from a file.
    pub path: PathBuf,
    /// What is wrong.
    pub flaw: Flaw,
    /// Whether an earlier version of the program is in the library and stays in use.
    pub old_serves: bool,
}

impl ProgramError {
    pub(super) fn new(path: &Path, flaw: Flaw) -> Self {
        Self { path: path.to_owned(), flaw, old_serves: false }
    }
}

/// What is wrong with a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// Its name could not be written in a configuration.
    #[error("a program's name is 1 to {NAME_LENGTH} letters, digits, '-' and '_'; rename the file")]
    Name,
    /// The library has none of this name.
    #[error("no such program is loaded")]
    Unknown,
    /// A folder, a device or similar.
    #[error("not a regular file")]
    NotAFile,
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The module exceeds the maximum length.
    #[error("longer than {} MiB, the most for a program", MODULE_BYTES >> 20)]
    TooLong,
    /// Not WebAssembly at all.
    #[error("not a WebAssembly file")]
    NotWebAssembly,
    /// Not a valid module.
    #[error("not a valid WebAssembly module: {0}")]
    Invalid(String),
    /// It imports something.
    #[error("imports {0}: a program may import nothing (build it without WASI and without a host's functions)")]
    Import(String),
    /// It has too many of something.
    #[error("has {count} {what}; the most is {most}")]
    TooMany {
        /// The kind of item.
        what: &'static str,
        /// How many.
        count: u64,
        /// The maximum.
        most: u64,
    },
    /// One of its functions would take too long to compile.
    #[error("function {index} has {count} {what}; the most is {most}, since compiling more takes too long")]
    LargeFunction {
        /// Index of the function, from 0.
        index: usize,
        /// The kind of item.
        what: &'static str,
        /// How many.
        count: u64,
        /// The maximum.
        most: u64,
    },
    /// Its initial memory exceeds the maximum.
    #[error("begins with {bytes} bytes of memory; the most is {most}")]
    Memory {
        /// Initial memory in bytes.
        bytes: u64,
        /// Maximum memory in bytes.
        most: u64,
    },
    /// An export is missing, or has another type.
    #[error("does not export {0}")]
    NoExport(&'static str),
    /// It failed before the first packet.
    #[error("{what} {why}")]
    Setup {
        /// The call that failed.
        what: &'static str,
        /// How it failed.
        failure: Failure,
        /// The same with the runtime's reason.
        why: String,
    },
    /// The machine had no memory for its instance.
    #[error("cannot be instantiated: {0}")]
    NoInstance(String),
    /// It was written for another version of the interface.
    #[error("is for version {0} of the interface (dv_abi); this box has version {ABI}")]
    Abi(i32),
    /// Its buffer cannot hold a frame.
    #[error("has no room for a frame: dv_buffer({bytes}) returns {address}, and its memory has {memory} bytes")]
    Buffer {
        /// Bytes requested.
        bytes: usize,
        /// The address that it returned.
        address: u32,
        /// Size of its memory in bytes.
        memory: usize,
    },
    /// It fails on the frames used to measure it.
    #[error("its cost cannot be measured: on a well-formed frame of {bytes} bytes it {why}")]
    Unmeasurable {
        /// The frame's length.
        bytes: usize,
        /// How it failed.
        failure: Failure,
        /// The same with the runtime's reason.
        why: String,
    },
    /// The compiler failed on it.
    #[error("the compiler failed on it: {0}")]
    Compiler(String),
}

/// An error that keeps all programs of a folder from being loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Programs cannot be compiled for this machine.
    #[error(transparent)]
    NoCompiler(Flaw),
    /// The folder has too many programs.
    #[error("{}: holds more than {MAX_PROGRAMS} programs", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
}

/// Makes text from a module safe to print on a terminal, on one line.
pub(super) fn printable(text: impl fmt::Display) -> String {
    const MAX_CHARS: usize = 200;
    let text = text.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let mut shown: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_a_module_says_cannot_steer_a_terminal_nor_fill_it() {
        assert_eq!(printable("a\u{1b}[2Jb\r\n"), "a\\u{1b}[2Jb");
        assert_eq!(printable("expected=[\n    0x0,\n]"), "expected=[ 0x0, ]");
        assert_eq!(printable("x".repeat(1_000_000)).chars().count(), 201);
    }
}
