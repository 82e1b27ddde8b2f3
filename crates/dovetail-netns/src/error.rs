//! Why there is no namespace, or it is not as it should be.

use std::io;

/// What prevents it.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// A program is not on the path.
    #[error("the program '{program}' is missing: install {package}")]
    NoProgram {
        /// What would have been run.
        program: &'static str,
        /// Where it comes from.
        package: &'static str,
    },
    /// `ip` or `tc` refused.
    #[error("{command}: {said}")]
    Refused {
        /// As it was run.
        command: String,
        /// Its words.
        said: String,
    },
    /// The system refused.
    #[error("{what}: {error}")]
    System {
        /// What was being done.
        what: String,
        /// What the system answered.
        error: io::Error,
    },
}
