//! Counters since the start.

use std::{cell::Cell, time::Duration};

/// Bounds of the latency histogram's buckets, in seconds.
pub(crate) const BUCKETS_S: [f64; 14] =
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 150.0, 300.0];

/// Counters of the whole gateway.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) accepted: Cell<u64>,
    pub(crate) refused_clients: Cell<u64>,
    pub(crate) refused_full: Cell<u64>,
    /// Connections from trusted sources without a PROXY header.
    pub(crate) refused_headers: Cell<u64>,
    /// TLS connections whose handshake failed.
    pub(crate) refused_tls: Cell<u64>,
    /// Connections that could not be accepted for lack of descriptors.
    pub(crate) accepts_failed: Cell<u64>,
    pub(crate) dialled: Cell<u64>,
    pub(crate) reused: Cell<u64>,
    pub(crate) retried: Cell<u64>,
}

/// Counters of a class.
#[derive(Debug, Default)]
pub(crate) struct ClassCounters {
    /// Finished requests, by the first digit of their status; index 0 counts those without an answer.
    pub(crate) by_status: [Cell<u64>; 6],
    pub(crate) tunnels: Cell<u64>,
    /// Bytes of bodies and tunnels sent to clients.
    pub(crate) sent_bytes: Cell<u64>,
    /// Time from a request's arrival to its last byte, and the part of it queued for release.
    pub(crate) latency: Histogram,
    pub(crate) queue: Histogram,
}

/// Durations by bucket.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    pub(crate) counts: [Cell<u64>; BUCKETS_S.len() + 1],
    pub(crate) sum_s: Cell<f64>,
}

impl Histogram {
    pub(crate) fn note(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BUCKETS_S.iter().position(|&bound| seconds <= bound).unwrap_or(BUCKETS_S.len());
        add(&self.counts[bucket], 1);
        self.sum_s.set(self.sum_s.get() + seconds);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(Cell::get).sum()
    }
}

pub(crate) fn add(counter: &Cell<u64>, by: u64) {
    counter.set(counter.get() + by);
}
