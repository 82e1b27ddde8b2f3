//! Round-trip times of connections to servers, and the queue that all of them have in common.
//!
//! The kernel keeps a smoothed round-trip time for each connection, and as a receiver one of what its window lets come. What
//! is over the least to the same server in ten minutes is queue somewhere. The far queue is in all of them, servers' own
//! queues are not: so the least over all servers is what counts.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::IpAddr,
    os::fd::BorrowedFd,
    rc::Rc,
    time::{Duration, Instant},
};

use dovetail_sched::Nanos;

use crate::sys;

/// Between samples of a connection.
const SAMPLE: Duration = Duration::from_millis(50);
/// How long a server's least round-trip time is remembered (RFC 6817, section 4.2).
const REMEMBERED: Duration = Duration::from_secs(600);
/// Servers that are remembered.
const MOST_SERVERS: usize = 1_024;

/// Round-trip times by server.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    least: RefCell<HashMap<IpAddr, Least>>,
    // The least queue since the last tick.
    queue: Cell<Option<Duration>>,
    // What was told last and when, while it is fresh.
    told: Cell<Option<(Nanos, Instant)>>,
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

    /// The least queue since this was asked last, if anything came.
    pub(crate) fn take_queue(&self) -> Option<Duration> {
        self.queue.take()
    }

    /// This is told from now on.
    pub(crate) fn tell(&self, queue: Duration) {
        self.told.set(Some((queue.into(), Instant::now())));
    }

    /// Nothing is, any more.
    pub(crate) fn tell_nothing(&self) {
        self.told.set(None);
    }

    /// What was told last, while it is fresh, and when.
    pub(crate) const fn told(&self) -> Option<(Nanos, Instant)> {
        self.told.get()
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
        assert_eq!(trips.take_queue(), Some(millis(0)));
        trips.note(near, millis(90));
        trips.note(far, millis(260));
        assert_eq!(trips.take_queue(), Some(millis(60)), "the rest is the near server's own");
        trips.note(near, Duration::ZERO);
        assert_eq!(trips.take_queue(), None);
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
