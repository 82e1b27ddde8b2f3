//! How servers are reached: addresses that may be, connections to them, and what is counted of these.

use std::{io, net::IpAddr, rc::Rc};

use crate::{
    config::Probe,
    counters::{Counters, add},
    refusal::Refusal,
    round_trips::{RoundTrips, Sampled},
    state::{Destinations, Room, Settings},
    upstream::{Failure, Upstream, Window},
    wanted::Wanted,
};

/// Makes connections to servers.
#[derive(Debug)]
pub(crate) struct Servers {
    settings: Rc<Settings>,
    destinations: Rc<Destinations>,
    room: Rc<Room>,
    counters: Rc<Counters>,
    round_trips: Rc<RoundTrips>,
}

impl Servers {
    pub(crate) fn new(
        settings: &Rc<Settings>,
        (destinations, room): (&Rc<Destinations>, &Rc<Room>),
        counters: &Rc<Counters>,
        round_trips: &Rc<RoundTrips>,
    ) -> Self {
        Self {
            settings: Rc::clone(settings),
            destinations: Rc::clone(destinations),
            room: Rc::clone(room),
            counters: Rc::clone(counters),
            round_trips: Rc::clone(round_trips),
        }
    }

    /// Whether a connection to there, made before, may still be used.
    pub(crate) fn may_reach(&self, server: Option<IpAddr>) -> bool {
        self.destinations.may_reach(server)
    }

    /// Addresses of what is wanted that may be reached.
    pub(crate) async fn addresses(&self, wanted: &Wanted) -> Result<Vec<IpAddr>, Refusal> {
        // Over HTTP/2 a client's connection has many requests.
        if !self.room.is_there() {
            return Err(Refusal::Full);
        }
        self.destinations.addresses(&wanted.host).await
    }

    /// Makes a connection to one of these addresses.
    pub(crate) async fn dial(
        &self,
        addresses: &[IpAddr],
        wanted: &Wanted,
        window: Option<Window>,
    ) -> Result<Upstream, Refusal> {
        let host = wanted.host.clone();
        let within = self.settings.config().timeouts.connect;
        Upstream::connect(addresses, wanted.port, window, within).await.map_err(|failure| match failure {
            Failure::Timeout => Refusal::ConnectTimeout(host),
            Failure::Error(error) if error.kind() == io::ErrorKind::TimedOut => Refusal::ConnectTimeout(host),
            Failure::Error(error) => Refusal::Connect { host, why: error.to_string() },
        })
    }

    /// Where a connection's round-trip times go, if they are the probe or may have to be.
    pub(crate) fn sampled(&self, server: Option<IpAddr>) -> Option<Sampled> {
        let server = server.filter(|_| self.settings.config().downlink.probe != Probe::Off)?;
        Some(Sampled::new(Rc::clone(&self.round_trips), server))
    }

    /// A request or a tunnel goes out on a connection, which is a new one or not.
    pub(crate) fn goes_out(&self, is_reused: bool) {
        add(if is_reused { &self.counters.reused } else { &self.counters.dialled }, 1);
    }

    /// A request is sent once more.
    pub(crate) fn retries(&self) {
        add(&self.counters.retried, 1);
    }
}
