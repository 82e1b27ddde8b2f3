//! Acknowledgements that arrive in bursts (draft-02, `BBRUpdateACKAggregation`).
//!
//! Where a path or a receiver delays acknowledgements, a window of one bandwidth-delay product is used up before the next
//! ones arrive. The window is therefore extended by the largest excess over what the bandwidth explains.

use dovetail_sched::Nanos;

use crate::bandwidth::Bandwidth;

/// `BBRExtraAckedFilterLen`, as two halves of this many round trips.
const ROUNDS_OF_HALF: u8 = 5;
/// The extension is at most what the path delivers in this time.
const MAX_EXTENSION: Nanos = Nanos::from_millis(100);
/// Counting restarts once this many segments are counted.
const MAX_COUNTED: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aggregation {
    since: Nanos,
    delivered: u64,
    // The largest excess in this half of the window and in the previous one.
    most: [u32; 2],
    rounds: u8,
}

impl Aggregation {
    pub(super) fn learn(&mut self, bandwidth: Bandwidth, delivered: u32, window: u32, round_begins: bool, now: Nanos) {
        if delivered == 0 {
            return;
        }
        if round_begins {
            self.rounds += 1;
            if self.rounds >= ROUNDS_OF_HALF {
                (self.most, self.rounds) = ([0, self.most[0]], 0);
            }
        }
        let mut expected = bandwidth.segments_in(now - self.since);
        if self.delivered <= expected || self.delivered >= MAX_COUNTED {
            (self.since, self.delivered, expected) = (now, 0, 0);
        }
        self.delivered += u64::from(delivered);
        let beyond = self.delivered.saturating_sub(expected).min(window.into()) as u32;
        self.most[0] = self.most[0].max(beyond);
    }

    /// Segments by which the window is extended.
    pub(super) fn segments(&self, bandwidth: Bandwidth) -> u64 {
        u64::from(self.most[0].max(self.most[1])).min(bandwidth.segments_in(MAX_EXTENSION))
    }
}
