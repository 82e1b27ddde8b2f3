//! What comes of many flow-windows: the worst, the count, and two percentiles.

use dovetail_sched::{FlowId, Nanos};
use dovetail_stats::{Histogram, Quantile};

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
    // In millionths. A hostile run has more windows than can be counted.
    shares: Histogram,
}

const MILLIONTHS: f64 = 1e6;

impl Tally {
    pub(super) fn new() -> Self {
        Self { worst: None, shares: Histogram::new() }
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
        self.shares.record_many((share * MILLIONTHS) as u64, windows);
    }

    pub(super) fn worst(&self) -> Option<Worst> {
        self.worst
    }

    pub(super) fn count(&self) -> u64 {
        self.shares.count()
    }

    /// The share that this part of the flow-windows did not exceed, within 0.1 %.
    pub(super) fn at(&self, quantile: Quantile) -> Option<f64> {
        self.shares.quantile(quantile).map(|millionths| millionths as f64 / MILLIONTHS)
    }
}
