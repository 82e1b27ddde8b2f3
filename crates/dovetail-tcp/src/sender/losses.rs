//! Losses: when and how far the window is reduced, and when this is undone.
//!
//! During recovery the window falls from `w` to the threshold `s` in proportion to what is delivered, so that the sender
//! neither stops nor bursts (RFC 6937): for `d` segments delivered, `s d / w` are sent. Once fewer than `s` are in flight, as
//! many are sent as are delivered, and one more if an acknowledgement shows progress without new losses.
//!
//! A reduction is undone when every retransmission turns out to be spurious (RFC 3708 by the reports of RFC 2883; with
//! timestamps RFC 3522), or when after a timeout a segment that was sent once is acknowledged (RFC 5682).

use dovetail_sched::Nanos;

use super::state::{News, Phase, Reduction, Sender};
use crate::rack::DUPLICATES;

impl Sender {
    /// The threshold if slow start were to begin now.
    fn threshold_now(&self) -> u32 {
        if self.is_reducing() { self.window.threshold } else { self.window.threshold_kept() }
    }

    /// Begins a reduction, which may later be undone to the present state.
    pub(super) fn begin_reduction(&mut self) {
        self.reduction =
            Reduction { window: self.window.segments, threshold: self.threshold_now(), ..Reduction::default() };
    }

    /// From here on, track whether retransmissions are spurious.
    pub(super) fn mark_undo(&mut self) {
        self.reduction.began_at = Some(self.una);
        self.reduction.again = match self.board.in_flight_again() {
            0 => None,
            some => Some(some),
        };
    }

    /// Reduces the window as the algorithm specifies.
    fn reduce(&mut self) {
        self.high = self.nxt;
        self.probe = None;
        self.says_reduced = true;
        self.window.counted = 0;
        self.window.threshold = self.control.threshold(&self.window);
        if !self.has_sack && !self.control.steers() {
            self.window.segments = self.window.threshold;
        }
    }

    /// Reduces the window without a loss to repair.
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
            // The reduction continues; retransmissions from here on are tracked.
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

    /// Sets how much may be sent for what was delivered (RFC 6937, section 3; with SSRB of its successor while there is
    /// progress).
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
        // Send the first retransmission at once.
        let may_send = may_send.max(u32::from(sent == 0));
        self.window.segments = in_flight + may_send;
    }

    pub(super) fn end_fall(&mut self) {
        let falls = self.phase == Phase::Reduced || self.reduction.began_at.is_some();
        if self.window.threshold < u32::MAX && falls && !self.control.steers() {
            self.window.segments = self.window.threshold;
        }
    }

    /// Whether all retransmissions turned out to be spurious.
    fn may_undo(&self, news: &News) -> bool {
        self.has_sack
            && self.reduction.began_at.is_some()
            && (self.reduction.again == Some(0) || news.answers_first_transmission)
    }

    fn undo(&mut self, forgets_losses: bool) {
        if forgets_losses {
            self.board.loses_nothing();
        }
        // A reduction due to a mark is not an error.
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

    /// Everything sent before the phase began is acknowledged.
    pub(super) fn undo_when_recovered(&mut self, news: &News) {
        if self.may_undo(news) {
            self.undo(false);
        }
        self.rack.recovered();
        // Without SACK, duplicates of this window may still arrive (RFC 6582, section 4).
        if self.una == self.high && !self.has_sack {
            if !self.board.has_again() {
                self.reduction.again_since = None;
            }
            return;
        }
        self.phase = Phase::Open;
    }

    /// Undoes the reduction if the peer reports every retransmission as a duplicate.
    pub(super) fn undo_by_duplicates(&mut self) -> bool {
        let due = self.has_sack && self.reduction.began_at.is_some() && self.reduction.again == Some(0);
        if due {
            self.undo(false);
        }
        due
    }

    /// On a partial acknowledgement; true if the rest is not lost after all.
    pub(super) fn undo_in_part(&mut self, news: &News) -> bool {
        if self.reduction.began_at.is_none() || !news.answers_first_transmission {
            return false;
        }
        self.rack.has_reordering = true;
        // Retransmissions may still be in flight.
        if self.board.in_flight_again() > 0 {
            return true;
        }
        self.undo(true);
        self.keep_open();
        true
    }

    /// Undoes a timeout; `surely` if a segment sent once was acknowledged.
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

    /// Returns to open, or to disorder if segments are out of order.
    pub(super) fn keep_open(&mut self) {
        let has_left = self.board.sacked() + self.board.lost() > 0;
        let is_open = !has_left && !self.board.has_again();
        let phase = if is_open { Phase::Open } else { Phase::Disorder };
        if self.phase != phase {
            self.phase = phase;
            self.high = self.nxt;
        }
    }

    /// Detects losses.
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

    /// A segment's reordering window has ended.
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
