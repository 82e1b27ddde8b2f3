//! What is wrong with a program, and with which file.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use super::{
    answer::ABI,
    limits::{MODULE_BYTES, MOST_PROGRAMS, NAME_LENGTH},
};
use crate::functions::Reason;

/// How a call of a program failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A trap: a division by zero, an access outside its memory, an exhausted stack, an instruction that traps.
    Trapped,
    /// The fuel did not suffice.
    OutOfFuel,
    /// The answer is none.
    BadAnswer,
}

impl Failure {
    /// Why its packet is dropped.
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
            Self::BadAnswer => "gives an answer that is none",
        })
    }
}

/// A program that cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("{}: {flaw}{}", path.display(), if *.old_serves { "; the version from before stays in use" } else { "" })]
pub struct ProgramError {
    /// Its file, or only its name where it was not read from one.
    pub path: PathBuf,
    /// What is wrong.
    pub flaw: Flaw,
    /// An earlier version of the program is in the library, and is used on.
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
    /// A folder, a device or the like.
    #[error("not a regular file")]
    NotAFile,
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The module is longer than what is read.
    #[error("longer than {} MiB, which is the most for a program", MODULE_BYTES >> 20)]
    TooLong,
    /// Not a module of WebAssembly, or not a valid one.
    #[error("not a valid WebAssembly module: {0}")]
    Invalid(String),
    /// It asks for something from outside.
    #[error("imports {0}: a program may import nothing (build it without WASI and without a host's functions)")]
    Import(String),
    /// It has too many of something.
    #[error("has {count} {what}, and {most} is the most")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// How many there may be.
        most: u64,
    },
    /// One of its functions would take the compiler too long.
    #[error("function {index} has {count} {what}, and {most} is the most: compiling it would take too long")]
    LargeFunction {
        /// Which of its functions, from 0.
        index: usize,
        /// Of what it has too much.
        what: &'static str,
        /// How many.
        count: u64,
        /// How many there may be.
        most: u64,
    },
    /// Its memory begins larger than it may become.
    #[error("begins with {bytes} bytes of memory, and {most} is the most")]
    Memory {
        /// Bytes that it begins with.
        bytes: u64,
        /// Bytes that it may have.
        most: u64,
    },
    /// It lacks an export, or has another type there.
    #[error("does not export {0}")]
    NoExport(&'static str),
    /// It failed before the first packet.
    #[error("{failure} in {what}")]
    Setup {
        /// Where.
        what: &'static str,
        /// How.
        failure: Failure,
    },
    /// The machine had no room for its instance.
    #[error("cannot be instantiated: {0}")]
    NoInstance(String),
    /// It was written for another version of the box.
    #[error("speaks version {0} of the interface (dv_abi); this box speaks version {ABI}")]
    Abi(i32),
    /// It has no room for a frame.
    #[error("has no room for a frame: dv_buffer({bytes}) answers {address}, and its memory has {memory} bytes")]
    Buffer {
        /// Bytes that were asked for.
        bytes: usize,
        /// What it answered.
        address: u32,
        /// Bytes that it has.
        memory: usize,
    },
    /// It fails on the frames that it is measured by.
    #[error("{failure} on a well-formed frame of {bytes} bytes, by which it was to be measured")]
    Unmeasurable {
        /// The frame's length.
        bytes: usize,
        /// How it failed.
        failure: Failure,
    },
    /// The compiler broke on it.
    #[error("the compiler failed on it: {0}")]
    Compiler(String),
}

/// A folder whose programs cannot be loaded at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Programs cannot be compiled for this machine.
    #[error(transparent)]
    NoCompiler(Flaw),
    /// The folder holds more than the box takes.
    #[error("{}: holds more than {MOST_PROGRAMS} programs, which is the most", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
}

/// Text that a module brought along, fit for a terminal.
pub(super) fn printable(text: impl fmt::Display) -> String {
    const MOST: usize = 200;
    let text = text.to_string();
    let mut shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_a_module_says_cannot_steer_a_terminal_nor_fill_it() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("x".repeat(1_000_000)).chars().count(), 201);
    }
}
