//! Why there is no gateway.

use std::{io, net::SocketAddr};

use dovetail_sched::PolicyError;

use crate::config::ConfigError;

/// Why a gateway could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// No place to listen.
    #[error("cannot listen at {0}: {1}{hint}", hint = of_listening(.1))]
    Listen(SocketAddr, io::Error),
    /// The policy does not go with the link.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// No name servers.
    #[error("{0}")]
    Names(String),
    /// No passwords.
    #[error(transparent)]
    Passwords(#[from] ConfigError),
    /// No certificate, or no key of it.
    #[error("proxy.tls: {0}: {1}")]
    Tls(String, String),
    /// No program to examine passwords.
    #[error("access.helper {0} cannot be run: {1}")]
    Helper(String, io::Error),
    /// No keys for what is remembered.
    #[error("the system provides no random numbers: {0}")]
    Random(getrandom::Error),
    /// No place for the log.
    #[error("the access log {0}: {1}")]
    Log(String, io::Error),
    /// No store.
    #[error("the store of quotas {0}: {1}")]
    Store(String, String),
    /// No probe.
    #[error("cannot start the probe ({0}): {1}")]
    Probe(String, String),
    /// No files to open.
    #[error(
        "only {0} files may be open at once, too few to serve clients: raise the limit (ulimit -n, or LimitNOFILE=)"
    )]
    Descriptors(u64),
    /// No knowing which addresses are the gateway's own.
    #[error(
        "cannot read this machine's addresses, which clients must not reach through it: {0}: let it use AF_NETLINK \
         sockets (in a unit of systemd: RestrictAddressFamilies=AF_NETLINK besides the others)"
    )]
    Addresses(io::Error),
    /// No runtime.
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
}

/// What to do about a place that is taken.
fn of_listening(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::AddrInUse {
        ": another process listens there; a gateway is taken over with --take-over"
    } else {
        ""
    }
}
