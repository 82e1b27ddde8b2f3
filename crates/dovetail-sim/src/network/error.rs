//! Why a network cannot be run.

use std::io;

use dovetail_sched::{Nanos, PolicyError};
use thiserror::Error;

/// Why a network cannot be run.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// It contradicts itself.
    #[error("{0}")]
    Network(String),
    /// A policy cannot be built.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The capture cannot be written.
    #[error("the capture cannot be written: {0}")]
    Capture(#[from] io::Error),
    /// The run was stopped on request.
    #[error("stopped at {now}")]
    Stopped {
        /// At which virtual time.
        now: Nanos,
    },
    /// This build has no TCP.
    #[error("this build cannot run networks: build it with the feature 'network'")]
    LeftOut,
    /// This build has no QUIC.
    #[error("this build cannot run QUIC: build it with the feature 'quic'")]
    LeftOutQuic,
}
