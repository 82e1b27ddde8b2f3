//! Pacing: segments are sent one by one at a given rate, not in bursts of a window.
//!
//! Each segment delays the next one by its length at that rate. A segment that was sent late, because of a window or the
//! application, shortens the following gap by at most half, so that small delays do not add up to a lower rate. The first ten
//! segments of a connection are not paced: a path is assumed to cope with a burst of an initial window. This is what a Linux
//! kernel does without the `fq` queueing discipline, and similar to what it does with it.
//!
//! BBR sets the rate. For Reno and CUBIC it is derived from the window: twice the window per round trip in slow start, so
//! that it can double, and 1.2 times the window afterwards (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).

use dovetail_sched::Nanos;

use super::state::Sender;
use crate::bandwidth::Bandwidth;

/// Segments sent without pacing at the start.
const UNPACED: u64 = 10;
/// Percentage of a window per round trip, in slow start and afterwards.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;

impl Sender {
    /// When to poll for the next segment unless something happens before.
    pub(crate) fn due_at(&self) -> Option<Nanos> {
        let paced = self.pacing.holds.then_some(self.pacing.next_at);
        self.timer_at().into_iter().chain(paced).min()
    }

    /// When pacing permits the next segment.
    pub(super) const fn next_leaves_at(&self) -> Nanos {
        self.pacing.next_at
    }

    /// Whether pacing delays a segment that may otherwise be sent.
    pub(super) fn holds_back(&mut self, now: Nanos) -> bool {
        self.pacing.holds = now < self.pacing.next_at;
        self.pacing.holds
    }

    /// Whether pacing delayed a segment at the last poll.
    pub(super) const fn is_held_back(&self) -> bool {
        self.pacing.holds
    }

    /// Clears the record of a delayed segment.
    pub(super) const fn asks_anew(&mut self) {
        self.pacing.holds = false;
    }

    /// A segment is sent: sets when the next one may follow.
    pub(super) fn paces(&mut self, bytes: u32, now: Nanos) {
        if self.counts.segments < UNPACED {
            return;
        }
        let Some(gap) = self.pace().and_then(|pace| pace.time_for(bytes, self.segment)) else { return };
        let late = now - self.pacing.next_at;
        self.pacing.next_at = self.pacing.next_at.max(now) + (gap - late.min(Nanos(gap.0 / 2)));
    }

    fn pace(&self) -> Option<Bandwidth> {
        if let Some(stated) = self.control.pace() {
            return Some(stated);
        }
        if !self.pacing.paces_windows {
            return None;
        }
        let window = self.window.segments.max(self.board.len());
        // Ends before slow start does, so that its end causes no burst.
        let is_early = self.window.segments < self.window.threshold / 2;
        let percent = if is_early { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        Some(Bandwidth::of(window.into(), self.rtt.smoothed()?).percent(percent))
    }
}
