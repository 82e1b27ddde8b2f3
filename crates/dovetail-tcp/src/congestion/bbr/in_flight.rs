//! BBR's congestion window (draft-00, section 4.2.3).
//!
//! It is a multiple of the bandwidth-delay product, plus an allowance for hosts that send and acknowledge in bursts. The
//! window approaches this target by what is delivered. During loss recovery it shrinks by what is lost; in the first round
//! trip of recovery only as much is sent as is delivered; afterwards the window returns to its previous value.

use dovetail_sched::Nanos;

use super::state::{Bbr, Repair, Report};
use crate::{bandwidth::Gain, congestion::window::Window};

/// `BBRMinPipeCwnd`: with fewer segments in flight the sender would wait for delayed acknowledgements (section 4.2.3).
pub(super) const MIN_WINDOW: u32 = 4;
/// Below this rate hosts hand single segments to the network card; above, bursts of a millisecond, of at least two segments
/// and at most `MAX_BURST_BYTES` (section 4.2.2). Three such bursts are in flight on top of the bandwidth-delay product.
const SLOW_BYTES_PER_S: u64 = 1_200_000 / 8;
const BURSTS: u64 = 3;
const MAX_BURST_BYTES: u64 = 1 << 16;
/// Until this many segments are delivered the window grows regardless of the model (section 4.2.3).
const FIRST_SEGMENTS: u64 = 10;

impl Bbr {
    /// How much of `in_flight` will be left when the next segment is sent, including that burst while probing for more.
    pub(super) fn left_at_departure(&self, in_flight: u32, report: &Report, now: Nanos) -> u32 {
        let bandwidth = self.bandwidth();
        let delivered = bandwidth.segments_before(report.next_leaves_at - now);
        let more = if self.pacing_gain() > Gain::ONE { self.burst } else { 0 };
        u32::try_from((u64::from(in_flight) + more).saturating_sub(delivered)).unwrap_or(u32::MAX)
    }

    pub(super) fn burst_segments(&self, segment_bytes: u32) -> u64 {
        let segment = u64::from(segment_bytes.max(1));
        let per_s = self.pacing.segments_in(Nanos::from_secs(1)).saturating_mul(segment);
        if per_s < SLOW_BYTES_PER_S { 1 } else { ((per_s / 1000).min(MAX_BURST_BYTES) / segment).max(2) }
    }

    /// `gain` times the bandwidth-delay product, plus the allowance for bursts (section 4.2.3).
    pub(super) fn holds(&self, gain: Gain) -> u32 {
        self.with_bursts(self.product(gain))
    }

    fn product(&self, gain: Gain) -> u64 {
        let Some((least, _)) = self.least else { return FIRST_SEGMENTS };
        self.bandwidth().times(gain).segments_in(least)
    }

    fn with_bursts(&self, segments: u64) -> u32 {
        // Even, so that no single segment waits for a delayed acknowledgement.
        let even = segments.saturating_add(BURSTS * self.burst).div_ceil(2).saturating_mul(2);
        // Fill small paths as well (draft-02, `BBRQuantizationBudget`).
        let more = if self.modes.asks_for_more() { 2 } else { 0 };
        u32::try_from(even.saturating_add(more)).unwrap_or(u32::MAX)
    }

    /// Sets the window (section 4.2.3).
    pub(super) fn set_window(&mut self, report: &Report, window: &mut Window) {
        if report.delivered > 0 && !self.recover(report, window) {
            let aggregated = if self.modes.has_filled { self.aggregation.segments(self.bandwidth()) } else { 0 };
            let target = self.with_bursts(self.product(self.modes.window_gain()).saturating_add(aggregated));
            let grown = window.segments.saturating_add(report.delivered);
            if self.modes.has_filled {
                window.segments = grown.min(target);
            } else if window.segments < target || report.delivered_in_all < FIRST_SEGMENTS {
                window.segments = grown;
            }
            window.segments = window.segments.max(MIN_WINDOW);
        }
        if self.modes.is_probing_round_trip() {
            window.segments = window.segments.min(MIN_WINDOW);
        }
    }

    /// Handles losses; returns whether sending is limited to what is delivered (packet conservation).
    fn recover(&mut self, report: &Report, window: &mut Window) -> bool {
        window.segments = window.segments.saturating_sub(report.lost).max(1);
        let was = core::mem::replace(&mut self.repair, report.repair);
        if report.repair == Repair::Losses && was != Repair::Losses {
            self.conserves = true;
            self.round_ends = report.delivered_in_all;
            window.segments = report.in_flight.saturating_add(report.delivered);
        } else if was != Repair::Nothing && report.repair == Repair::Nothing {
            self.conserves = false;
            window.segments = window.segments.max(self.kept);
        }
        if self.conserves {
            window.segments = window.segments.max(report.in_flight.saturating_add(report.delivered));
        }
        self.conserves
    }

    /// A loss or a round-trip probe begins: the window will return to `segments` afterwards.
    pub(in super::super) fn keep(&mut self, segments: u32) {
        let is_undisturbed = self.repair == Repair::Nothing && !self.modes.is_probing_round_trip();
        self.kept = if is_undisturbed { segments } else { self.kept.max(segments) };
    }
}
