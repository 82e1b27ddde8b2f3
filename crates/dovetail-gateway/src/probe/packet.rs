//! A probe that is sent and comes back, whatever it is made of.

use std::{io, net::IpAddr};

use super::{icmp::Icmp, udp::Udp};
use crate::config::Probe;

/// Something that comes back.
#[derive(Debug)]
pub(crate) enum Echo {
    Icmp(Icmp),
    Udp(Udp),
}

impl Echo {
    /// What is sent for a probe.
    ///
    /// # Errors
    /// Where the system does not let this process send it, and for probes of which nothing is sent.
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

    /// `server` is one on whose way a probe may expire.
    pub(crate) fn send(&self, number: u64, server: Option<IpAddr>) -> io::Result<()> {
        match self {
            Self::Icmp(icmp) => icmp.send(number, server),
            Self::Udp(udp) => udp.send(number),
        }
    }

    /// The number of one that is back, and who answered.
    pub(crate) async fn back(&self) -> io::Result<(u64, IpAddr)> {
        match self {
            Self::Icmp(icmp) => icmp.back().await,
            Self::Udp(udp) => udp.back().await,
        }
    }
}
