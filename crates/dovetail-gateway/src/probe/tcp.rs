//! The far queue from the round-trip times of connections, where there is nothing to probe.
//!
//! The kernel keeps a smoothed round-trip time for each connection, and as a receiver one of what its window lets come. What
//! is over the least to the same server in ten minutes is queue somewhere. The far queue is in all of them, servers' own
//! queues are not: the least over all servers within a tick is told. They are noted unless the probe is off, and told if it is
//! `tcp` or silent.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::IpAddr,
    os::fd::BorrowedFd,
    rc::Rc,
    time::{Duration, Instant},
};

use dovetail_sched::Nanos;
use dovetail_tower::Desk;
use tokio::time::sleep;

use crate::sys;
use crate::{gateway::Gateway, who::Who};

/// How often the least of the samples is told.
const TICK: Duration = Duration::from_millis(100);
/// Between samples of a connection.
const SAMPLE: Duration = Duration::from_millis(50);
/// How long a server's least round-trip time is remembered (RFC 6817, section 4.2).
const REMEMBERED: Duration = Duration::from_secs(600);
/// Servers that are remembered.
const MOST_SERVERS: usize = 1_024;
/// After so long without a sample nothing is known.
const SILENT: Duration = Duration::from_secs(2);

/// Round-trip times by server.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    least: RefCell<HashMap<IpAddr, Least>>,
    // The least queue since the last tick.
    queue: Cell<Option<Duration>>,
    // What was told last, while it is fresh.
    told: Cell<Option<Nanos>>,
}

/// The least of this half of the time that it is remembered, and of the half before.
#[derive(Debug, Clone, Copy)]
struct Least {
    since: Instant,
    now: Duration,
    before: Duration,
}

/// A connection whose round-trip times are noted as something comes on it.
#[derive(Debug)]
pub(crate) struct Sampled {
    round_trips: Rc<RoundTrips>,
    server: IpAddr,
    last: Cell<Option<Instant>>,
}

impl Sampled {
    /// A connection to this server.
    pub(crate) const fn new(round_trips: Rc<RoundTrips>, server: IpAddr) -> Self {
        Self { round_trips, server, last: Cell::new(None) }
    }

    /// Something came.
    pub(crate) fn sample(&self, socket: BorrowedFd<'_>) {
        let now = Instant::now();
        if self.last.get().is_some_and(|last| now - last < SAMPLE) {
            return;
        }
        self.last.set(Some(now));
        if let Ok((sender, receiver)) = sys::round_trips(socket) {
            self.round_trips.note(self.server, if receiver.is_zero() { sender } else { receiver });
        }
    }
}

impl RoundTrips {
    /// A round trip to a server took so long.
    pub(crate) fn note(&self, server: IpAddr, took: Duration) {
        if took.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut servers = self.least.borrow_mut();
        if servers.len() >= MOST_SERVERS && !servers.contains_key(&server) {
            servers.retain(|_, least| now - least.since < REMEMBERED);
            if servers.len() >= MOST_SERVERS {
                return;
            }
        }
        let least = servers.entry(server).or_insert(Least { since: now, now: took, before: took });
        if now - least.since >= REMEMBERED / 2 {
            *least = Least { since: now, now: took, before: least.now };
        }
        least.now = least.now.min(took);
        let queue = took.saturating_sub(least.now.min(least.before));
        self.queue.set(Some(self.queue.get().map_or(queue, |known| known.min(queue))));
    }

    /// Tells what is known once more.
    pub(super) fn tell_again(&self, desk: &Desk<Who>) {
        if let Some(queue) = self.told.get() {
            desk.far_queue(Some(queue));
        }
    }
}

/// Tells the desk, tick by tick, while it is for these times to tell.
pub(super) async fn tell(gateway: Rc<Gateway>) {
    let trips = gateway.round_trips();
    let mut last: Option<Instant> = None;
    loop {
        let is_asked = gateway.tells_round_trips();
        sleep(if is_asked { TICK } else { super::IDLE }).await;
        let queue = trips.queue.take();
        if !gateway.tells_round_trips() {
            last = None;
            trips.told.set(None);
        } else if let Some(queue) = queue.filter(|_| is_asked) {
            last = Some(Instant::now());
            trips.told.set(Some(queue.into()));
            trips.tell_again(gateway.desk());
        } else if last.is_some_and(|last| last.elapsed() >= SILENT) {
            last = None;
            trips.told.set(None);
            gateway.desk().far_queue(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_least_of_a_server_is_queue() {
        let trips = RoundTrips::default();
        let (near, far) = ("192.0.2.1".parse().expect("an address"), "192.0.2.2".parse().expect("an address"));
        let millis = Duration::from_millis;
        trips.note(near, millis(20));
        trips.note(far, millis(200));
        assert_eq!(trips.queue.take(), Some(millis(0)));
        trips.note(near, millis(90));
        trips.note(far, millis(260));
        assert_eq!(trips.queue.take(), Some(millis(60)), "the rest is the near server's own");
        trips.note(near, Duration::ZERO);
        assert_eq!(trips.queue.take(), None);
    }

    #[test]
    fn servers_are_bounded() {
        let trips = RoundTrips::default();
        for server in 0..5_000_u32 {
            trips.note(IpAddr::from(server.to_be_bytes()), Duration::from_millis(1));
        }
        assert_eq!(trips.least.borrow().len(), MOST_SERVERS);
    }
}
