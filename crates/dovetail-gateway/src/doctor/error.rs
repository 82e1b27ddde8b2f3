//! Why a measurement failed.

use std::{io, net::SocketAddr};

/// Why a link could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The server's name cannot be resolved.
    #[error("{0}: {1}: give a name that this machine can resolve, or an address")]
    Resolve(String, io::Error),
    /// The connection to the server failed.
    #[error("cannot connect to {0}: {1}: is it the address of an HTTP server of yours, and is the link up?")]
    Connect(SocketAddr, io::Error),
    /// The server's answer cannot be used for a measurement.
    #[error("{0}")]
    Answer(String),
    /// A transfer was aborted before anything was measured.
    #[error("the transfer broke off: {0}")]
    Transfer(io::Error),
    /// A requested probe cannot be sent.
    #[error("cannot send the probe ({0}): {1}")]
    Probe(String, io::Error),
    /// The system refused.
    #[error("cannot measure: {0}")]
    System(#[from] io::Error),
}
