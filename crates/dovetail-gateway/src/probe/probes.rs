//! The parts of the gateway that probes use, and which measurement counts.

use std::{net::IpAddr, rc::Rc, time::Duration};

use dovetail_tower::Dispatcher;

use super::probing::Probing;
use crate::{
    config::Probe,
    round_trips::RoundTrips,
    state::{LastServer, Link, Settings},
    who::Who,
};

/// Interval between probes while nothing is in flight.
pub(super) const IDLE: Duration = Duration::from_secs(1);

/// Where probes go, and where their results are reported.
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

    /// A server towards which a probe may be sent to expire on its way.
    pub(super) fn server(&self) -> Option<IpAddr> {
        self.last_server.address()
    }

    /// The configured probe.
    pub(super) fn configured(&self) -> Probe {
        self.settings.config().downlink.probe.clone()
    }

    /// The interval between probes while something is in flight.
    pub(super) fn every(&self) -> Duration {
        self.settings.config().downlink.probe_every
    }

    /// Whether round-trip times measure the far queue: because they are the configured probe, or because the probe is silent.
    pub(super) fn tells_round_trips(&self) -> bool {
        self.settings.config().downlink.probe == Probe::Tcp || self.probing.is_up() == Some(false)
    }

    /// Reports the last result of round-trip times again.
    pub(super) fn tell_again(&self) {
        if let Some((queue, _)) = self.round_trips.told() {
            self.dispatcher().far_queue(Some(queue));
        }
    }
}
