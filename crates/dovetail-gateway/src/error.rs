//! Errors that keep a gateway from running.

use std::{io, net::SocketAddr};

use dovetail_sched::PolicyError;

use crate::config::ConfigError;

/// Why a gateway could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// An address cannot be listened on.
    #[error("cannot listen at {0}: {1}{hint}", hint = of_listening(.1))]
    Listen(SocketAddr, io::Error),
    /// The policy does not suit the link.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The name servers cannot be used.
    #[error("{0}")]
    Names(String),
    /// The passwords cannot be read.
    #[error(transparent)]
    Passwords(#[from] ConfigError),
    /// The certificate or its key cannot be used.
    #[error("proxy.tls: {0}: {1}")]
    Tls(String, String),
    /// The program that checks passwords cannot be run.
    #[error("access.helper {0} cannot be run: {1}")]
    Helper(String, io::Error),
    /// There are no random numbers for secret keys.
    #[error("the system provides no random numbers: {0}")]
    Random(getrandom::Error),
    /// The access log cannot be opened.
    #[error("the access log {0}: {1}")]
    Log(String, io::Error),
    /// The store of quotas cannot be used.
    #[error("the store of quotas {0}: {1}")]
    Store(String, String),
    /// The probe cannot be started.
    #[error("cannot start the probe ({0}): {1}")]
    Probe(String, String),
    /// Too few files may be open.
    #[error(
        "only {0} files may be open at once, too few to serve clients: raise the limit (ulimit -n, or LimitNOFILE=)"
    )]
    Descriptors(u64),
    /// The gateway's own addresses cannot be read.
    #[error(
        "cannot read this machine's addresses, which clients must not reach through it: {0}: let it use AF_NETLINK \
         sockets (in a unit of systemd: RestrictAddressFamilies=AF_NETLINK besides the others)"
    )]
    Addresses(io::Error),
    /// The runtime cannot be started.
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
}

/// What to do about an address in use.
fn of_listening(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::AddrInUse {
        ": another process listens there; a gateway is taken over with --take-over"
    } else {
        ""
    }
}
