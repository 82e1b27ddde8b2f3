//! Sends and receives probes of any kind.

use std::{io, net::IpAddr};

use super::{icmp::Icmp, udp::Udp};
use crate::config::Probe;

/// A way to send probes that are answered.
#[derive(Debug)]
pub(crate) enum Echo {
    Icmp(Icmp),
    Udp(Udp),
}

impl Echo {
    /// Creates what a probe is sent with.
    ///
    /// # Errors
    /// If the system does not permit this process to send it, and for probes that are not sent.
    pub(crate) fn start(probe: &Probe) -> io::Result<Self> {
        Ok(match probe {
            Probe::Off | Probe::Tcp => return Err(io::Error::other("nothing is sent for it")),
            Probe::Icmp(address) => Self::Icmp(Icmp::to(*address)?),
            Probe::Hop { hops, towards } => Self::Icmp(Icmp::expiring(*hops, *towards)?),
            Probe::Udp(address) => Self::Udp(Udp::to(*address)?),
        })
    }

    /// Whether there is an address to send to.
    pub(super) fn has_target(&self, server: Option<IpAddr>) -> bool {
        match self {
            Self::Icmp(icmp) => icmp.has_target(server),
            Self::Udp(_) => true,
        }
    }

    /// `server` is one towards which a probe may expire.
    pub(crate) fn send(&self, number: u64, server: Option<IpAddr>) -> io::Result<()> {
        match self {
            Self::Icmp(icmp) => icmp.send(number, server),
            Self::Udp(udp) => udp.send(number),
        }
    }

    /// The number of the next answered probe, and the address that answered.
    pub(crate) async fn back(&self) -> io::Result<(u64, IpAddr)> {
        match self {
            Self::Icmp(icmp) => icmp.back().await,
            Self::Udp(udp) => udp.back().await,
        }
    }
}
