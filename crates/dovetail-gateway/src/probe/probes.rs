//! What probes need of the gateway, and whose word counts.

use std::{net::IpAddr, rc::Rc, time::Duration};

use dovetail_tower::Dispatcher;

use super::probing::Probing;
use crate::{
    config::Probe,
    round_trips::RoundTrips,
    state::{LastServer, Link, Settings},
    who::Who,
};

/// Between probes while nothing is in flight.
pub(super) const IDLE: Duration = Duration::from_secs(1);

/// Where probes go, and who is told of them.
#[derive(Debug)]
pub(crate) struct Probes {
    settings: Rc<Settings>,
    link: Rc<Link>,
    round_trips: Rc<RoundTrips>,
    last_server: Rc<LastServer>,
    probing: Rc<Probing>,
}

impl Probes {
    pub(crate) fn new(
        settings: &Rc<Settings>,
        link: &Rc<Link>,
        (round_trips, last_server): (&Rc<RoundTrips>, &Rc<LastServer>),
        probing: &Rc<Probing>,
    ) -> Self {
        Self {
            settings: Rc::clone(settings),
            link: Rc::clone(link),
            round_trips: Rc::clone(round_trips),
            last_server: Rc::clone(last_server),
            probing: Rc::clone(probing),
        }
    }

    pub(super) fn dispatcher(&self) -> &Dispatcher<Who> {
        self.link.dispatcher()
    }

    pub(super) fn round_trips(&self) -> &RoundTrips {
        &self.round_trips
    }

    pub(super) fn probing(&self) -> &Probing {
        &self.probing
    }

    /// A server on whose way a probe may expire.
    pub(super) fn server(&self) -> Option<IpAddr> {
        self.last_server.address()
    }

    /// The probe that is configured.
    pub(super) fn configured(&self) -> Probe {
        self.settings.config().downlink.probe.clone()
    }

    /// How often it leaves while something is in flight.
    pub(super) fn every(&self) -> Duration {
        self.settings.config().downlink.probe_every
    }

    /// Whether round-trip times are what tells of the far queue: they are the probe, or the probe is silent.
    pub(super) fn tells_round_trips(&self) -> bool {
        self.settings.config().downlink.probe == Probe::Tcp || self.probing.is_up() == Some(false)
    }

    /// Tells what is known of round-trip times once more.
    pub(super) fn tell_again(&self) {
        if let Some((queue, _)) = self.round_trips.told() {
            self.dispatcher().far_queue(Some(queue));
        }
    }
}
