//! What comes of many flow-windows: the worst, the count, and two percentiles.

use dovetail_sched::{FlowId, Nanos};
use hdrhistogram::Histogram;

/// The flow-window in which a flow had least of its fair share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// What it received over what was fair.
    pub share: f64,
    /// The flow.
    pub flow: FlowId,
    /// When the window begins.
    pub from: Nanos,
    /// The dominant service that was fair, in nanoseconds.
    pub fair_nanos: f64,
}

/// Flow-windows seen so far.
#[derive(Debug)]
pub(super) struct Tally {
    worst: Option<Worst>,
    count: u64,
    // Shares in millionths, with three significant digits.
    shares: Histogram<u64>,
}

const MILLIONTHS: f64 = 1e6;

impl Tally {
    pub(super) fn new() -> Self {
        let shares = Histogram::new(3).expect("3 is in the histogram's range of 0 to 5");
        Self { worst: None, count: 0, shares }
    }

    /// The flow received `received` nanoseconds in each of `windows` windows, the first of which begins at `from`.
    pub(super) fn add(&mut self, flow: FlowId, from: Nanos, received: f64, fair_nanos: f64, windows: u64) {
        let share = received / fair_nanos;
        let worse = self.worst.is_none_or(|worst| {
            // Of equals the earliest counts, and in one window the flow with the lowest id.
            share < worst.share || (share == worst.share && from == worst.from && flow < worst.flow)
        });
        if worse {
            self.worst = Some(Worst { share, flow, from, fair_nanos });
        }
        // A hostile run has more windows than can be counted; the histogram adds its counts up without a check.
        let windows = windows.min(u64::MAX - self.count);
        self.count += windows;
        let millionths = (share * MILLIONTHS) as u64;
        if self.shares.record_n(millionths, windows).is_err() {
            self.shares.saturating_record_n(millionths, windows);
        }
    }

    pub(super) fn worst(&self) -> Option<Worst> {
        self.worst
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The share that a part `quantile` of the flow-windows did not exceed, within 0.1 %.
    pub(super) fn at(&self, quantile: f64) -> Option<f64> {
        (self.count > 0).then(|| self.shares.value_at_quantile(quantile) as f64 / MILLIONTHS)
    }
}
