//! Acknowledgements that come in bursts (draft-02, `BBRUpdateACKAggregation`).
//!
//! Where a path or a receiver holds acknowledgements back, a window of what the path holds is used up before the next ones
//! come. So what ever arrived beyond what the bandwidth explains is allowed on top.

use dovetail_sched::Nanos;

use crate::bandwidth::Bandwidth;

/// `BBRExtraAckedFilterLen`, in two halves of so many round trips each.
const ROUNDS_OF_HALF: u8 = 5;
/// No more is allowed than the path delivers in this time.
const LONGEST: Nanos = Nanos::from_millis(100);
/// What is delivered over a time is counted anew when it is more than this.
const MOST: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aggregation {
    since: Nanos,
    delivered: u64,
    // The most beyond the bandwidth in this half of the window and in the one before.
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
        if self.delivered <= expected || self.delivered >= MOST {
            (self.since, self.delivered, expected) = (now, 0, 0);
        }
        self.delivered += u64::from(delivered);
        let beyond = self.delivered.saturating_sub(expected).min(window.into()) as u32;
        self.most[0] = self.most[0].max(beyond);
    }

    /// Segments that the window is larger by.
    pub(super) fn segments(&self, bandwidth: Bandwidth) -> u64 {
        u64::from(self.most[0].max(self.most[1])).min(bandwidth.segments_in(LONGEST))
    }
}
