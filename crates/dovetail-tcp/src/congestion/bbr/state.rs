//! What BBR knows of a path, and what it is told.

use dovetail_sched::Nanos;

use super::{aggregation::Aggregation, bandwidth_filter::BandwidthFilter, modes::Modes, policer::Policer};
use crate::{
    bandwidth::{Bandwidth, Gain},
    delivery::Rate,
};

/// What is being repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing: no segment is believed lost.
    Nothing,
    /// What was lost, by fast retransmissions.
    Losses,
    /// What was lost, after a timeout.
    Timeout,
}

/// An acknowledgement, as a model of the path sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) rate: Option<Rate>,
    pub(crate) rtt: Option<Nanos>,
    /// Segments that it says are delivered, and lost; and all that ever were delivered.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    pub(crate) delivered_in_all: u64,
    pub(crate) lost_in_all: u64,
    /// In flight before it and after.
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
    // The least round trip, and when it was measured.
    pub(super) least: Option<(Nanos, Nanos)>,
    // A round trip ends with the first segment delivered that was sent when so many had been.
    pub(super) round_ends: u64,
    pub(super) round_begins: bool,
    pub(super) modes: Modes,
    pub(super) has_rtt: bool,
    pub(super) pacing: Bandwidth,
    pub(super) repair: Repair,
    pub(super) has_timed_out: bool,
    pub(super) conserves: bool,
    // The window before a recovery or a probe of the round trip.
    pub(super) kept: u32,
    pub(super) burst: u64,
}

impl Bbr {
    /// `seed` decides the phases that probing begins in.
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

    /// The bandwidth that the path is thought to have.
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
