//! Errors of setting up a lab.

use std::{io, time::Duration};

use dovetail_netns::NetnsError;

use crate::live::switch::ports::PortError;

/// Why a lab cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The user may not create network namespaces.
    #[error("a lab is made of network namespaces, which needs root: run it with sudo")]
    NotRoot,
    /// A lab of this name exists already.
    #[error("process {owner} has a lab of the name '{name}': end it, or give this one another name")]
    InUse {
        /// The lab's name.
        name: String,
        /// The process that owns it.
        owner: String,
    },
    /// A namespace of this name exists that no lab created.
    #[error(
        "there is a network namespace '{namespace}', which no lab made: 'ip netns del {namespace}', or another name"
    )]
    Taken {
        /// The namespace's name.
        namespace: String,
    },
    /// The specification is invalid.
    #[error("{0}")]
    Wrong(String),
    /// `ip` is missing or failed.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// The ports differ from what was created.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The bridge does not forward.
    #[error("the bridge does not forward at {port} after {} s", waited.as_secs())]
    Silent {
        /// The box's interface.
        port: &'static str,
        /// How long the check lasted.
        waited: Duration,
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
