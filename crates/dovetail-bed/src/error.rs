//! Why a testbed cannot be created or a proxy cannot be measured.

use std::io;

/// The cause of a failure.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// Network namespaces exist only on Linux.
    #[error("the testbed is made of network namespaces, which only Linux has")]
    NotLinux,
    /// The process may not create network namespaces.
    #[error("the testbed needs root, for network namespaces: run it with sudo")]
    NotRoot,
    /// A program is not in the path.
    #[error("the testbed needs the program '{program}': install {package}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The package that contains it.
        package: &'static str,
    },
    /// There is no TUN device.
    #[error("the testbed delays packets through /dev/net/tun, which cannot be opened ({0}): try 'modprobe tun'")]
    NoTun(io::Error),
    /// A specification is invalid.
    #[error("{0}")]
    Wrong(String),
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
    /// The proxy did not start, or ended before the measurement.
    #[error("{name} {what}{said}")]
    Proxy {
        /// The proxy's name.
        name: String,
        /// What it did.
        what: String,
        /// The last lines of its output, each on a line of its own; empty if there were none.
        said: String,
    },
}

impl BedError {
    /// Wraps a system's error with what was attempted.
    #[cfg(target_os = "linux")]
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}

#[cfg(target_os = "linux")]
impl From<dovetail_netns::NetnsError> for BedError {
    fn from(error: dovetail_netns::NetnsError) -> Self {
        use dovetail_netns::NetnsError;
        match error {
            NetnsError::NoProgram { program, package } => Self::NoProgram { program, package },
            NetnsError::Refused { command, said } => Self::Refused { command, said },
            NetnsError::System { what, error } => Self::System { what, error },
        }
    }
}
