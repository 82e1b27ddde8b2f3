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
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Undone,
    Usage,
    Lacking,
}

impl Failure {
    /// Exit status 1: it could not be done.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), kind: Kind::Undone }
    }

    /// Exit status 1: this machine lacks what it takes. Where everything is asked for, it is left out.
    pub(crate) fn lacking(message: impl Display) -> Self {
        Self { message: message.to_string(), kind: Kind::Lacking }
    }

    /// Whether this machine lacks what it takes.
    pub(crate) fn is_lacking(&self) -> bool {
        self.kind == Kind::Lacking
    }

    /// Exit status 2: it was asked wrongly.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), kind: Kind::Usage }
    }

    /// A file or folder could not be read or written.
    pub(crate) fn file(action: &str, path: &Path, error: impl Display) -> Self {
        Self::new(format!("cannot {action} {}: {error}", path.display()))
    }

    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("dovetail: {}", self.message);
        let usage = self.kind == Kind::Usage;
        if usage {
            eprintln!("For what can be asked, try 'dovetail --help'.");
        }
        ExitCode::from(if usage { 2 } else { 1 })
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
