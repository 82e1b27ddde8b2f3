//! The far queue from the round-trip times of connections, where there is nothing to probe.
//!
//! The kernel keeps a smoothed round-trip time for each connection, and as a receiver one of what its window lets come. What
//! is over the least to the same server in ten minutes is queue somewhere. The far queue is in all of them, servers' own
//! queues are not: the least over all servers within a tick is told.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::IpAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use dovetail_sched::Nanos;
use tokio::time::sleep;

use crate::gateway::Gateway;

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
}

/// The least of this half of the time that it is remembered, and of the half before.
#[derive(Debug, Clone, Copy)]
struct Least {
    since: Instant,
    now: Duration,
    before: Duration,
}

/// When a connection was looked at last.
#[derive(Debug, Default)]
pub(crate) struct Sampled(Cell<Option<Instant>>);

impl Sampled {
    /// Whether it is time to look again.
    pub(crate) fn is_due(&self) -> bool {
        let now = Instant::now();
        let is_due = self.0.get().is_none_or(|last| now - last >= SAMPLE);
        if is_due {
            self.0.set(Some(now));
        }
        is_due
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
}

/// Tells the desk, tick by tick.
pub(super) async fn tell(gateway: Rc<Gateway>) {
    let mut last = None;
    loop {
        sleep(TICK).await;
        if let Some(queue) = gateway.round_trips().queue.take() {
            last = Some(Instant::now());
            gateway.desk().far_queue(Some(Nanos(u64::try_from(queue.as_nanos()).unwrap_or(u64::MAX))));
        } else if last.is_some_and(|last: Instant| last.elapsed() >= SILENT) {
            last = None;
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
