//! Why a testbed could not be made or a proxy not be measured.

use std::io;

/// What prevents it.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// Network namespaces are Linux's.
    #[error("the testbed is made of network namespaces, which only Linux has")]
    NotLinux,
    /// Who runs it may not make network namespaces.
    #[error("the testbed needs root, for network namespaces: run it with sudo")]
    NotRoot,
    /// A program is not on the path.
    #[error("the testbed needs the program '{program}': install {package}")]
    NoProgram {
        /// What would have been run.
        program: &'static str,
        /// Where it comes from.
        package: &'static str,
    },
    /// There is no device for packets to and from this process.
    #[error("the testbed delays packets through /dev/net/tun, which cannot be opened ({0}): try 'modprobe tun'")]
    NoTun(io::Error),
    /// A specification that cannot be followed.
    #[error("{0}")]
    Wrong(String),
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
    /// The proxy did not start, or ended before the measurement did.
    #[error("{name} {what}{said}")]
    Proxy {
        /// The proxy's.
        name: String,
        /// What it did.
        what: String,
        /// The end of what it printed, on lines of its own; empty where it printed nothing.
        said: String,
    },
}

impl BedError {
    /// A system's error, with what was being done.
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
