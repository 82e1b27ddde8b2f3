//! Why there is no lab.

use std::{io, time::Duration};

use dovetail_netns::NetnsError;

use crate::live::switch::ports::PortError;

/// What prevents it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Who runs it may not make network namespaces.
    #[error("a lab is made of network namespaces, which needs root: run it with sudo")]
    NotRoot,
    /// There is one of this name.
    #[error("process {owner} has a lab of the name '{name}': end it, or give this one another name")]
    InUse {
        /// The lab's.
        name: String,
        /// Whose it is.
        owner: String,
    },
    /// There is a namespace that no lab made.
    #[error(
        "there is a network namespace '{namespace}', which no lab made: 'ip netns del {namespace}', or another name"
    )]
    Taken {
        /// The namespace's.
        namespace: String,
    },
    /// A specification that cannot be followed.
    #[error("{0}")]
    Wrong(String),
    /// `ip` is missing or refuses.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// The ports are not as they were made.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The bridge does not forward.
    #[error("the bridge does not forward at {port} after {} s", waited.as_secs())]
    Silent {
        /// The box's interface.
        port: &'static str,
        /// How long it was given.
        waited: Duration,
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
