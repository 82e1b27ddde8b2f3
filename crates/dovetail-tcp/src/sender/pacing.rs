//! Pacing: segments leave one by one, as fast as a rate allows, and not as bursts of a window.
//!
//! After a segment the next one leaves when the rate has earned it. One that left late, because a window or the application
//! held it back, shortens the gap after it by half at most, so that small delays do not add up to a lower rate. The first
//! ten of a connection are not paced: the initial window is the burst that a path is thought to take. That is what a Linux
//! kernel does without the queueing discipline `fq`, and much as that does.
//!
//! BBR states the rate. With Reno and CUBIC it follows from the window: twice the window per round trip in slow start, so
//! that it may double, and 1.2 times after (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).

use dovetail_sched::Nanos;

use super::state::Sender;
use crate::bandwidth::Bandwidth;

/// Segments that leave as they come.
const UNPACED: u64 = 10;
/// Percent of a window per round trip, in slow start and after.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;

impl Sender {
    /// When to ask for the next segment, if nothing happens before.
    pub(crate) fn due_at(&self) -> Option<Nanos> {
        let paced = self.pacing.holds.then_some(self.pacing.next_at);
        self.timer_at().into_iter().chain(paced).min()
    }

    /// When the next segment may leave, as far as the pace is concerned.
    pub(super) const fn next_leaves_at(&self) -> Nanos {
        self.pacing.next_at
    }

    /// Whether a segment that may go out has to wait for its time.
    pub(super) fn holds_back(&mut self, now: Nanos) -> bool {
        self.pacing.holds = now < self.pacing.next_at;
        self.pacing.holds
    }

    /// Whether a segment waited for its time when it was last asked for.
    pub(super) const fn is_held_back(&self) -> bool {
        self.pacing.holds
    }

    /// Nothing is known to wait any more.
    pub(super) const fn asks_anew(&mut self) {
        self.pacing.holds = false;
    }

    /// A segment leaves: the next one has to wait.
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
        // Before slow start ends, so that the end finds no burst.
        let is_early = self.window.segments < self.window.threshold / 2;
        let percent = if is_early { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        Some(Bandwidth::of(window.into(), self.rtt.smoothed()?).percent(percent))
    }
}
