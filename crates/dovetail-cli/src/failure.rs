//! Why the command could not do what it was asked, and the exit status that says so.

use std::{
    fmt::{self, Display},
    path::Path,
    process::ExitCode,
};

/// A message for a person, and who has to act.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    usage: bool,
}

impl Failure {
    /// Exit status 1: it could not be done.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), usage: false }
    }

    /// Exit status 2: it was asked wrongly.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), usage: true }
    }

    /// A file or folder could not be read or written.
    pub(crate) fn file(action: &str, path: &Path, error: impl Display) -> Self {
        Self::new(format!("cannot {action} {}: {error}", path.display()))
    }

    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("dovetail: {}", self.message);
        if self.usage {
            eprintln!("For what can be asked, try 'dovetail --help'.");
        }
        ExitCode::from(if self.usage { 2 } else { 1 })
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
