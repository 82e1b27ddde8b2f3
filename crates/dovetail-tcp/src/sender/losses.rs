//! Losses: how the window falls, how far, and when that is undone.
//!
//! While segments are lost the window falls from `w` to the threshold `s` in proportion to what is delivered, so that the
//! sender neither stops nor bursts (RFC 6937): of `d` segments delivered, `s d / w` go out; and once fewer than `s` are in
//! flight, as many as are delivered, and one more where an acknowledgement shows progress without new losses.
//!
//! A reduction is undone when every segment that was sent again turns out to have been there already (RFC 3708 by the
//! reports of RFC 2883; with timestamps RFC 3522), or when after a timeout a segment is acknowledged that was sent once (RFC
//! 5682).

use dovetail_sched::Nanos;

use super::state::{News, Phase, Reduction, Sender};
use crate::rack::DUPLICATES;

impl Sender {
    /// What the threshold would be, were slow start to begin again.
    fn threshold_now(&self) -> u32 {
        if self.is_reducing() { self.window.threshold } else { self.window.threshold_kept() }
    }

    /// A reduction begins; it may be undone to what is now.
    pub(super) fn begin_reduction(&mut self) {
        self.reduction =
            Reduction { window: self.window.segments, threshold: self.threshold_now(), ..Reduction::default() };
    }

    /// From here on it is watched whether what is sent again was there already.
    pub(super) fn mark_undo(&mut self) {
        self.reduction.began_at = Some(self.una);
        self.reduction.again = match self.board.in_flight_again() {
            0 => None,
            some => Some(some),
        };
    }

    /// The window falls to what the algorithm leaves of it.
    fn reduce(&mut self) {
        self.high = self.nxt;
        self.probe = None;
        self.window.counted = 0;
        self.window.threshold = self.control.threshold(&self.window);
        if !self.has_sack && !self.control.steers() {
            self.window.segments = self.window.threshold;
        }
    }

    /// The window falls without a loss that is to be repaired.
    pub(super) fn enter_reduced(&mut self) {
        if self.phase < Phase::Reduced {
            self.begin_reduction();
            self.reduction.threshold = 0;
            self.reduce();
            self.phase = Phase::Reduced;
        }
    }

    pub(super) fn enter_recovery(&mut self, is_marked: bool) {
        let (before, was_reducing) = (self.reduction, self.is_reducing());
        if was_reducing {
            // It goes on falling; what is sent again from now on is watched.
            self.reduction = Reduction { again_since: None, ..before };
        } else {
            self.begin_reduction();
            if is_marked {
                self.reduction.threshold = 0;
            }
        }
        self.mark_undo();
        if !was_reducing {
            self.reduce();
        }
        self.high = self.nxt;
        self.phase = Phase::Recovery;
        self.counts.recoveries += 1;
    }

    /// Of what was delivered, so much may go out (RFC 6937, section 3; with SSRB of its successor while there is progress).
    pub(super) fn fall(&mut self, delivered: u32, lost: u32, news: &News) {
        if delivered == 0 || self.reduction.window == 0 || self.control.steers() {
            return;
        }
        let in_flight = self.board.in_flight();
        let Reduction { window, sent, .. } = self.reduction;
        self.reduction.delivered += delivered;
        let (threshold, all) = (self.window.threshold, self.reduction.delivered);
        let may_send = if in_flight > threshold {
            let due = (u64::from(threshold) * u64::from(all)).div_ceil(u64::from(window)) as u32;
            due.saturating_sub(sent)
        } else {
            let progress = u32::from(news.advanced && lost == 0);
            let due = all.saturating_sub(sent).max(delivered) + progress;
            due.min(threshold - in_flight)
        };
        // The first segment is sent again at once.
        let may_send = may_send.max(u32::from(sent == 0));
        self.window.segments = in_flight + may_send;
    }

    pub(super) fn end_fall(&mut self) {
        let falls = self.phase == Phase::Reduced || self.reduction.began_at.is_some();
        if self.window.threshold < u32::MAX && falls && !self.control.steers() {
            self.window.segments = self.window.threshold;
        }
    }

    /// Whether all that was sent again turned out to have been there.
    fn may_undo(&self, news: &News) -> bool {
        self.has_sack
            && self.reduction.began_at.is_some()
            && (self.reduction.again == Some(0) || news.answers_first_transmission)
    }

    fn undo(&mut self, forgets_losses: bool) {
        if forgets_losses {
            self.board.loses_nothing();
        }
        // A mark of the path is no error.
        if self.reduction.threshold > 0 {
            self.control.undone(self.reduction.window, &mut self.window);
            if self.reduction.threshold > self.window.threshold {
                self.window.threshold = self.reduction.threshold;
                self.says_reduced = false;
            }
        }
        self.reduction.began_at = None;
        self.rack.advance_again();
        self.counts.undone += 1;
    }

    /// All is acknowledged that had been sent when the phase began.
    pub(super) fn undo_when_recovered(&mut self, news: &News) {
        if self.may_undo(news) {
            self.undo(false);
        }
        self.rack.recovered();
        // Without blocks, duplicates of this window may still come (RFC 6582, section 4).
        if self.una == self.high && !self.has_sack {
            if !self.board.has_again() {
                self.reduction.again_since = None;
            }
            return;
        }
        self.phase = Phase::Open;
    }

    /// The other end reports that what was sent again was there.
    pub(super) fn undo_by_duplicates(&mut self) -> bool {
        let due = self.has_sack && self.reduction.began_at.is_some() && self.reduction.again == Some(0);
        if due {
            self.undo(false);
        }
        due
    }

    /// Some of what is lost is acknowledged; true if the rest is not lost at all.
    pub(super) fn undo_in_part(&mut self, news: &News) -> bool {
        if self.reduction.began_at.is_none() || !news.answers_first_transmission {
            return false;
        }
        self.rack.has_reordering = true;
        // What was sent again may still be there.
        if self.board.in_flight_again() > 0 {
            return true;
        }
        self.undo(true);
        self.keep_open();
        true
    }

    /// After a timeout; `surely`: a segment was acknowledged that was sent once.
    pub(super) fn undo_timeout(&mut self, surely: bool, news: &News) -> bool {
        if !(surely || self.may_undo(news)) {
            return false;
        }
        self.undo(true);
        self.timeouts = 0;
        if surely || self.has_sack {
            self.phase = Phase::Open;
        }
        true
    }

    /// Neither lost nor reduced: open, or in disorder where something is out of order.
    pub(super) fn keep_open(&mut self) {
        let has_left = self.board.sacked() + self.board.lost() > 0;
        let is_open = !has_left && !self.board.has_again();
        let phase = if is_open { Phase::Open } else { Phase::Disorder };
        if self.phase != phase {
            self.phase = phase;
            self.high = self.nxt;
        }
    }

    /// Finds what is lost.
    pub(super) fn find_losses(&mut self, news: &mut News, now: Nanos) {
        if !self.has_sack {
            let third = self.phase < Phase::Recovery && self.board.sacked() >= DUPLICATES;
            if third || (self.phase == Phase::Recovery && news.advanced) {
                let first = self.board.numbers().start;
                self.board.lose(first);
            }
            return;
        }
        let in_recovery = self.phase >= Phase::Recovery;
        let again = self.board.in_flight_again();
        if let Some(after) = self.rack.detect(&mut self.board, &self.rtt, in_recovery, now) {
            self.arm_reordering(after, now);
            news.rearms = false;
        }
        news.lost_again = self.board.in_flight_again() < again;
    }

    /// The reordering window of a segment has ended.
    pub(super) fn reordering_ended(&mut self, now: Nanos) {
        let before = self.board.in_flight();
        let in_recovery = self.phase >= Phase::Recovery;
        let more = self.rack.mark(&mut self.board, &self.rtt, in_recovery, now);
        if self.board.in_flight() != before {
            if self.phase != Phase::Recovery {
                self.enter_recovery(false);
            }
            let lost = before.saturating_sub(self.board.in_flight());
            self.fall(1, lost, &News::default());
        }
        match more {
            Some(after) => self.arm_reordering(after, now),
            None => self.arm_timeout(now),
        }
    }
}
