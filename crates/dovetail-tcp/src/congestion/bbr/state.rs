//! BBR's state of a path, and its inputs.

use dovetail_sched::Nanos;

use super::{aggregation::Aggregation, bandwidth_filter::BandwidthFilter, modes::Modes, policer::Policer};
use crate::{
    bandwidth::{Bandwidth, Gain},
    delivery::Rate,
};

/// What is being recovered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing: no segment is considered lost.
    Nothing,
    /// Losses, by fast retransmission.
    Losses,
    /// Losses, after a timeout.
    Timeout,
}

/// An acknowledgement as seen by a model of the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) rate: Option<Rate>,
    pub(crate) rtt: Option<Nanos>,
    /// Segments that it delivers, segments newly lost, and the totals so far.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    pub(crate) delivered_in_all: u64,
    pub(crate) lost_in_all: u64,
    /// Segments in flight before and after it.
    pub(crate) before: u32,
    pub(crate) in_flight: u32,
    pub(crate) repair: Repair,
    pub(crate) next_leaves_at: Nanos,
    pub(crate) segment_bytes: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    pub(super) bandwidths: BandwidthFilter,
    pub(super) aggregation: Aggregation,
    pub(super) policer: Policer,
    // The smallest round-trip time, and when it was measured.
    pub(super) least: Option<(Nanos, Nanos)>,
    // A round trip ends when a segment is delivered that was sent after this many had been delivered.
    pub(super) round_ends: u64,
    pub(super) round_begins: bool,
    pub(super) modes: Modes,
    pub(super) has_rtt: bool,
    pub(super) pacing: Bandwidth,
    pub(super) repair: Repair,
    pub(super) has_timed_out: bool,
    pub(super) conserves: bool,
    // The window before a recovery or a round-trip probe.
    pub(super) kept: u32,
    pub(super) burst: u64,
}

impl Bbr {
    /// `seed` determines the phase in which probing begins.
    pub(in super::super) fn new(seed: u32) -> Self {
        Self {
            bandwidths: BandwidthFilter::default(),
            aggregation: Aggregation::default(),
            policer: Policer::new(),
            least: None,
            round_ends: 0,
            round_begins: false,
            modes: Modes::new(seed),
            has_rtt: false,
            pacing: Bandwidth::default(),
            repair: Repair::Nothing,
            has_timed_out: false,
            conserves: false,
            kept: 0,
            burst: 1,
        }
    }

    /// The estimated bandwidth.
    pub(super) fn bandwidth(&self) -> Bandwidth {
        self.policer.rate().unwrap_or(self.bandwidths.largest())
    }

    pub(super) fn pacing_gain(&self) -> Gain {
        let is_kept = self.policer.rate().is_some() && self.modes.is_probing_bandwidth();
        if is_kept { Gain::ONE } else { self.modes.pacing_gain() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_small() {
        assert!(size_of::<Bbr>() <= 400, "{} bytes", size_of::<Bbr>());
    }
}
