//! The rate of a link over time.
//!
//! A packet is sent at the rate that the link has when its transmission begins. Its demand, by which policies order packets, is
//! known when it arrives: if the rate changes while it is queued, that is an estimate.

use std::sync::Arc;

use dovetail_sched::Nanos;

use super::spec::{Link, RateChange};

/// A link's rate at the latest time that it was asked for, and the changes to come.
#[derive(Debug)]
pub(super) struct Rates {
    // While nothing is sent, of the time before.
    nanos_per_byte: f64,
    is_down: bool,
    changes: Arc<[RateChange]>,
    // The index of the next one.
    next: usize,
}

impl Rates {
    pub(super) fn new(link: &Link) -> Self {
        let (nanos_per_byte, changes) = (link.rate.nanos_for(1.0), Arc::clone(&link.changes));
        Self { nanos_per_byte, is_down: false, changes, next: 0 }
    }

    /// Time goes on.
    pub(super) fn advance(&mut self, now: Nanos) {
        while let Some(change) = self.changes.get(self.next).filter(|change| change.at <= now) {
            self.next += 1;
            self.is_down = change.rate.is_none();
            self.nanos_per_byte = change.rate.map_or(self.nanos_per_byte, |rate| rate.nanos_for(1.0));
        }
    }

    /// The time that a packet takes.
    pub(super) fn time(&self, bytes: u32) -> Nanos {
        // If a link took no time, a connection could send and acknowledge for ever at the same instant.
        Nanos::from_f64(f64::from(bytes) * self.nanos_per_byte).max(Nanos(1))
    }

    /// If nothing is sent now: when that may change.
    pub(super) fn down_until(&self) -> Option<Nanos> {
        self.is_down.then(|| self.changes.get(self.next).map_or(Nanos::MAX, |change| change.at))
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::{Limits, units::Rate};

    use super::*;

    #[test]
    fn a_packet_takes_what_the_rate_at_its_time_says() {
        let mbps = |rate: f64| Rate::from_bps(rate * 1e6).expect("a rate");
        let change = |at, rate: Option<f64>| RateChange { at: Nanos(at), rate: rate.map(mbps) };
        let link = Link {
            from: 0,
            to: 1,
            rate: mbps(8.0),
            changes: vec![change(10, Some(4.0)), change(20, None), change(25, None), change(30, Some(16.0))].into(),
            delay: Nanos::ZERO,
            policy: "fifo".parse().expect("a policy"),
            limits: Limits::UNLIMITED,
            mark_packets: None,
        };
        let mut rates = Rates::new(&link);
        let mut at = |now, bytes| {
            rates.advance(Nanos(now));
            (rates.time(bytes).0, rates.down_until().map(|until| until.0))
        };
        assert_eq!(at(0, 100), (100_000, None));
        assert_eq!(at(9, 0), (1, None), "no packet takes no time");
        assert_eq!(at(10, 100), (200_000, None));
        assert_eq!(at(20, 100), (200_000, Some(25)));
        assert_eq!(at(29, 100), (200_000, Some(30)));
        assert_eq!(at(500, 100), (50_000, None));
    }
}
