//! Why a namespace cannot be created or configured.

use std::io;

/// The cause of a failure.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// A program is not in the path.
    #[error("the program '{program}' is missing: install {package}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The package that contains it.
        package: &'static str,
    },
    /// `ip` or `tc` failed.
    #[error("{command}: {said}")]
    Refused {
        /// The command line.
        command: String,
        /// Its error output.
        said: String,
    },
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What was attempted.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}
