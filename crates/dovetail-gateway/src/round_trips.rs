//! Derives the far queue from round-trip times of connections to servers.
//!
//! The kernel keeps a smoothed round-trip time per connection, and as a receiver another one, of how its window is filled. The
//! excess over the minimum to the same server in ten minutes is queueing somewhere, of which a server's first sample says nothing.
//! The far queue is part of all of them, while servers' own queues are not: so the minimum over all servers counts. A server's
//! minimum is also how far away it is, which the scheduler is told, from the handshake of the first connection on.

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

/// Interval between samples of a connection.
const SAMPLE: Duration = Duration::from_millis(50);
/// How long a server's minimum round-trip time is remembered (RFC 6817, section 4.2).
const REMEMBERED: Duration = Duration::from_secs(600);
/// Maximum number of servers that are remembered.
const MAX_SERVERS: usize = 1_024;

/// Minimum round-trip times by server.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    least: RefCell<HashMap<IpAddr, Least>>,
    // The smallest queue since the last tick.
    queue: Cell<Option<Duration>>,
    // The last reported value and its time, while it is valid.
    told: Cell<Option<(Nanos, Instant)>>,
}

/// The minimum in the current half of the period that is remembered, and in the half before.
#[derive(Debug, Clone, Copy)]
struct Least {
    since: Instant,
    now: Duration,
    before: Duration,
}

/// A connection whose round-trip times are sampled when data arrives.
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

    /// Records the round trip of a new connection's handshake.
    pub(crate) fn meet(&self, socket: BorrowedFd<'_>) {
        if let Some(took) = sys::handshake(socket) {
            self.round_trips.note(self.server, took);
        }
    }

    /// The minimum round trip to the server, if there were samples.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.round_trips.least(self.server)
    }

    /// Takes a sample; to be called when data arrives.
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
    /// Records a round trip to a server.
    pub(crate) fn note(&self, server: IpAddr, took: Duration) {
        if took.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut servers = self.least.borrow_mut();
        if servers.len() >= MAX_SERVERS && !servers.contains_key(&server) {
            servers.retain(|_, least| now - least.since < REMEMBERED);
            if servers.len() >= MAX_SERVERS {
                return;
            }
        }
        let Some(least) = servers.get_mut(&server) else {
            servers.insert(server, Least { since: now, now: took, before: took });
            return;
        };
        if now - least.since >= REMEMBERED / 2 {
            *least = Least { since: now, now: took, before: least.now };
        }
        least.now = least.now.min(took);
        let queue = took.saturating_sub(least.now.min(least.before));
        self.queue.set(Some(self.queue.get().map_or(queue, |known| known.min(queue))));
    }

    /// The minimum to a server, if there were samples.
    pub(crate) fn least(&self, server: IpAddr) -> Option<Duration> {
        self.least.borrow().get(&server).map(|least| least.now.min(least.before))
    }

    /// The smallest queue since the last call, if there were samples.
    pub(crate) fn take_queue(&self) -> Option<Duration> {
        self.queue.take()
    }

    /// Records that this value was reported.
    pub(crate) fn tell(&self, queue: Duration) {
        self.told.set(Some((queue.into(), Instant::now())));
    }

    /// Records that no value is reported any more.
    pub(crate) fn tell_nothing(&self) {
        self.told.set(None);
    }

    /// The last reported value, while it is valid, and its time.
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
        assert_eq!(trips.take_queue(), None, "one sample says nothing");
        trips.note(near, millis(20));
        trips.note(far, millis(210));
        assert_eq!(trips.take_queue(), Some(millis(0)));
        trips.note(near, millis(90));
        trips.note(far, millis(260));
        assert_eq!(trips.take_queue(), Some(millis(60)), "the rest is the near server's own");
        trips.note(near, Duration::ZERO);
        assert_eq!(trips.take_queue(), None);
    }

    #[test]
    fn the_minimum_of_the_last_minutes_is_known() {
        let trips = RoundTrips::default();
        let server = "192.0.2.1".parse().expect("an address");
        assert_eq!(trips.least(server), None);
        for millis in [40, 30, 50] {
            trips.note(server, Duration::from_millis(millis));
        }
        assert_eq!(trips.least(server), Some(Duration::from_millis(30)));
        assert_eq!(trips.least("192.0.2.2".parse().expect("an address")), None);
    }

    #[test]
    fn servers_are_bounded() {
        let trips = RoundTrips::default();
        for server in 0..5_000_u32 {
            trips.note(IpAddr::from(server.to_be_bytes()), Duration::from_millis(1));
        }
        assert_eq!(trips.least.borrow().len(), MAX_SERVERS);
    }
}
