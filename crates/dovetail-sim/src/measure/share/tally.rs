//! Statistics over many flow-windows: the worst, the count, and two percentiles.

use dovetail_sched::{FlowId, Nanos};
use dovetail_stats::{Histogram, Quantile};

/// The flow-window in which a flow received the least of its fair share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// What it received divided by what was fair.
    pub share: f64,
    /// The flow.
    pub flow: FlowId,
    /// When the window begins.
    pub from: Nanos,
    /// The fair amount of dominant service, in nanoseconds.
    pub fair_nanos: f64,
}

/// Statistics of flow-windows so far.
#[derive(Debug)]
pub(super) struct Tally {
    worst: Option<Worst>,
    // In millionths; counts saturate, since a hostile run may have any number of windows.
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
            // In case of ties, the earliest counts, and within a window the flow with the lowest id.
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

    /// The given quantile of the shares, within 0.1 %.
    pub(super) fn at(&self, quantile: Quantile) -> Option<f64> {
        self.shares.quantile(quantile).map(|millionths| millionths as f64 / MILLIONTHS)
    }
}
