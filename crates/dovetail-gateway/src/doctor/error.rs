//! Why nothing was found out.

use std::{io, net::SocketAddr};

/// Why a link could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The server's name has no address.
    #[error("{0}: {1}: give a name that this machine can resolve, or an address")]
    Resolve(String, io::Error),
    /// No connection to the server.
    #[error("cannot connect to {0}: {1}: is it the address of an HTTP server of yours, and is the link up?")]
    Connect(SocketAddr, io::Error),
    /// The server answered, but not with what can be measured.
    #[error("{0}")]
    Answer(String),
    /// A transfer broke off before anything was measured.
    #[error("the transfer broke off: {0}")]
    Transfer(io::Error),
    /// A probe that was asked for cannot be sent.
    #[error("cannot send the probe ({0}): {1}")]
    Probe(String, io::Error),
    /// The system refuses.
    #[error("cannot measure: {0}")]
    System(#[from] io::Error),
}
