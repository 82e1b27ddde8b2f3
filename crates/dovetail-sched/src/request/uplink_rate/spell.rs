//! What is reported of uploads, and its sum between two decisions.

use crate::Nanos;

/// The longest delay that is waited for.
const MAX_SETTLING: Nanos = Nanos::from_secs(5);

/// What is known of uploads at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uploads {
    /// Bytes that servers have acknowledged since the last report.
    pub acked_bytes: u64,
    /// Bytes sent or to be sent that they have not acknowledged.
    pub unacked_bytes: u64,
    /// Bytes of acknowledgements for downloads, as counted, since the last report.
    pub counted_bytes: u64,
    /// The far queue's delay, as probes see it.
    pub delay: Option<Nanos>,
}

/// What was reported since `since`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spell {
    pub(super) since: Nanos,
    acked: u64,
    counted: u64,
    pub(super) unacked_before: u64,
    pub(super) unacked: u64,
    // Delays that are reported earlier are not counted.
    pub(super) settled: Nanos,
    // The shortest delay, the last, and the sum of those reported.
    last: Nanos,
    least: Option<Nanos>,
    sum_ns: f64,
    reports: u32,
    is_blind: bool,
}

impl Spell {
    /// From this moment, at which this many bytes are not acknowledged.
    pub(super) const fn begin(since: Nanos, unacked: u64) -> Self {
        Self {
            since,
            acked: 0,
            counted: 0,
            settled: since,
            last: Nanos::ZERO,
            unacked_before: unacked,
            unacked,
            least: None,
            sum_ns: 0.0,
            reports: 0,
            is_blind: false,
        }
    }

    /// Another spell after this one, which counts no delay until the last one has passed: probes that come back sooner were
    /// on their way before.
    pub(super) fn settle(&self, since: Nanos) -> Self {
        Self { settled: since + self.last.min(MAX_SETTLING), ..Self::begin(since, self.unacked) }
    }

    pub(super) fn add(&mut self, seen: &Uploads, now: Nanos) {
        self.acked = self.acked.saturating_add(seen.acked_bytes);
        self.counted = self.counted.saturating_add(seen.counted_bytes);
        self.unacked = seen.unacked_bytes;
        match seen.delay {
            _ if now < self.settled => {}
            Some(delay) => {
                self.last = delay;
                self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
                self.sum_ns += delay.as_f64();
                self.reports = self.reports.saturating_add(1);
            }
            None => self.is_blind = true,
        }
    }

    /// The shortest delay and the mean, if all reports had one.
    pub(super) fn delays(&self) -> Option<(Nanos, f64)> {
        self.least.filter(|_| !self.is_blind).map(|least| (least, self.sum_ns / f64::from(self.reports)))
    }

    /// Bytes that the uplink has carried.
    pub(super) fn carried(&self) -> f64 {
        self.acked.saturating_add(self.counted) as f64
    }

    /// Bytes that were handed to the transport, and acknowledgements.
    pub(super) fn sent(&self) -> f64 {
        self.carried() + self.unacked as f64 - self.unacked_before as f64
    }
}
