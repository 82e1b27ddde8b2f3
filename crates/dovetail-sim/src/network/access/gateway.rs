//! The gateway's own: its scheduler, the far queue, and requests under way.

use std::collections::BTreeMap;

use dovetail_sched::{
    Nanos,
    request::{ClassId, FarQueue, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
    units::Rate,
};
use slab::Slab;

use super::{uplink::Uplink, user::User};
use crate::network::{
    Access, AccessOutcome, Network, NetworkError, addresses::Addresses, end::HEADERS_BYTES, packets::EndId,
};

/// A gateway at work.
pub(in crate::network) struct Gateway<'a> {
    pub(super) access: &'a Access,
    pub(super) scheduler: Box<dyn RequestScheduler>,
    pub(super) setup: RequestSetup,
    pub(super) far: FarQueue,
    pub(super) uplink: Uplink,
    pub(super) users: Vec<User>,
    /// Requests at the gateway; a request's id is its place.
    pub(super) live: Slab<Live>,
    /// Connections that wait for the next request, by server; the one used last goes first.
    pub(super) idle: BTreeMap<usize, Vec<EndId>>,
    /// Whether the scheduler is to be asked before time goes on.
    pub(in crate::network) is_asked: bool,
    // The time for which a question is on the agenda.
    asked_at: Nanos,
    pub(super) outcome: AccessOutcome,
}

/// A request at the gateway.
#[derive(Debug)]
pub(super) struct Live {
    /// Its place in the outcome.
    pub(super) exchange: usize,
    pub(super) server: usize,
    /// The gateway's end of the connection, once it is released.
    pub(super) end: Option<EndId>,
    /// Of header and body, what the gateway has not read.
    pub(super) left: u64,
    /// Where the response begins in the connection's stream, and how much of it may be read.
    pub(super) begins: u64,
    pub(super) granted: u64,
    pub(super) window: u64,
    /// Of what the request carries, what was not handed to the connection.
    pub(super) upload_left: u64,
    pub(super) length_told: bool,
    pub(super) ready_told: bool,
}

/// What an event meant to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::network) enum Told {
    /// A user wants something.
    User(usize),
    /// A user waits no longer.
    GivesUp(usize),
    /// The scheduler wanted to be asked.
    Poll,
    /// Time for a probe.
    Probe,
    /// Time to note the scheduler's figures.
    Note,
    /// Leave to send up may be due.
    PollUplink,
    /// Time to look how much was sent up.
    Look,
}

impl<'a> Gateway<'a> {
    pub(in crate::network) fn new(
        network: &'a Network,
        access: &'a Access,
        policy: &RequestSpec,
        addresses: &mut Addresses,
    ) -> Result<Self, NetworkError> {
        let goodput = network.goodput_bytes_per_s();
        let rate = access.capacity_bytes_per_s.unwrap_or(goodput);
        // What is told as a response's length has the header in it.
        let setup = RequestSetup { overhead: 0, ..RequestSetup::for_bytes(rate) };
        let mut scheduler = policy.build(&setup)?;
        let mut uplink = Uplink::new(access.uplink.map(|rate| network.payload_bytes_per_s(rate)))?;
        let mut users = Vec::new();
        let asking = || (0..network.traffic.len()).filter(|&at| network.requests(at).is_some());
        // All classes before any user: one may be of a class that is written later.
        for scheduler in [Some(&mut scheduler), uplink.pacer.as_mut()].into_iter().flatten() {
            for at in asking() {
                scheduler.set_class(ClassId(at as u32), network.traffic[at].weight, Nanos::ZERO);
            }
        }
        for at in asking() {
            for &node in &network.traffic[at].to {
                let (user, class) = (UserId(users.len() as u32), ClassId(network.class_of(at) as u32));
                for scheduler in [Some(&mut scheduler), uplink.pacer.as_mut()].into_iter().flatten() {
                    scheduler.set_user(user, class, Nanos::ZERO);
                }
                users.push(User::new(network, at, node, addresses.dynamic(node), users.len()));
            }
        }
        Ok(Self {
            access,
            scheduler,
            setup,
            far: FarQueue::default(),
            uplink,
            users,
            live: Slab::new(),
            idle: BTreeMap::new(),
            is_asked: false,
            asked_at: Nanos::MAX,
            outcome: AccessOutcome::new(network.traffic.len()),
        })
    }

    /// When to ask the scheduler though nothing happens, if that is to be put on the agenda.
    pub(super) fn ask_at(&mut self, now: Nanos) -> Option<Nanos> {
        // A policy that says "now" again would never let time pass.
        let at = self.scheduler.poll_at()?.max(now + Nanos(1));
        (at < self.asked_at || self.asked_at <= now).then(|| {
            self.asked_at = at;
            at
        })
    }

    /// A packet between users and gateway was dropped: nobody sends it again.
    pub(in crate::network) fn lost_among_users(&mut self) {
        self.outcome.lost_among_users += 1;
    }

    /// What the run ends with.
    pub(in crate::network) fn finish(mut self) -> AccessOutcome {
        self.outcome.lost_probes = self.far.lost();
        self.outcome
    }

    /// The scheduler's name for a request.
    pub(super) fn id(live: usize) -> RequestId {
        RequestId(live as u32)
    }
}

impl Network {
    /// What responses can get of the watched link, in bytes a second: what headers leave.
    #[must_use]
    pub fn goodput_bytes_per_s(&self) -> f64 {
        self.payload_bytes_per_s(self.links[self.watched].rate)
    }

    /// What full packets at this rate carry, in bytes a second.
    fn payload_bytes_per_s(&self, rate: Rate) -> f64 {
        let mtu = f64::from(self.transport.mtu_bytes);
        rate.bps() / 8.0 * (mtu - f64::from(HEADERS_BYTES)) / mtu
    }

    /// Whether requests carry anything.
    pub(super) fn has_uploads(&self) -> bool {
        (0..self.traffic.len()).any(|at| self.requests(at).is_some_and(|requests| requests.upload.is_some()))
    }
}
