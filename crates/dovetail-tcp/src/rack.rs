//! Which segments are lost, told by time (RACK: RFC 8985, section 6).
//!
//! When a segment is delivered that was sent later than another, the other is either late or lost. It is believed lost once
//! a round trip and a reordering window have passed since it was sent:
//!
//! ```text
//! lost  when  sent at + rack.rtt + window <= now
//! ```
//!
//! The window is zero while three or more segments are out of order and none ever came late (as with three duplicate
//! acknowledgements), and a quarter of the least round trip otherwise; it grows by as much for each round trip in which the
//! other end reports segments that it had already (section 6.2, step 4).

use dovetail_sched::Nanos;

use crate::{
    board::{Board, Sent},
    rtt::Rtt,
};

/// Segments out of order that say loss where nothing ever came late (`tcp_reordering`).
pub(crate) const DUPLICATES: u32 = 3;
/// Recoveries after which the window is small again (RFC 8985, section 6.2, step 4).
const PERSISTS: u8 = 16;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rack {
    /// The segment that was sent last among those delivered: when, and its end.
    newest: (Nanos, u64),
    rtt: Nanos,
    advanced: bool,
    /// Whether a segment came late that was not sent again.
    pub(crate) has_reordering: bool,
    has_duplicates: bool,
    // Up to 255 (`rack.reo_wnd_steps`).
    steps: u8,
    persists: u8,
    last_delivered: u64,
}

impl Rack {
    /// A segment was delivered.
    pub(crate) fn deliver(&mut self, sent: &Sent, least: Option<Nanos>, now: Nanos) {
        let rtt = now - sent.at;
        // Sooner than possible: it was the first transmission that came.
        if sent.again && least.is_some_and(|least| rtt < least) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent.at, sent.end()) > self.newest {
            self.newest = (sent.at, sent.end());
        }
    }

    /// The other end had this already: something was sent again that was not lost.
    pub(crate) fn was_there(&mut self) {
        self.has_duplicates = true;
    }

    /// Before an acknowledgement: what was delivered when the newest segment that it is of was sent, and in all.
    pub(crate) fn widen(&mut self, prior_delivered: Option<u64>, delivered: u64) {
        let Some(prior) = prior_delivered else { return };
        // At most once a round trip.
        if prior < self.last_delivered {
            self.has_duplicates = false;
        }
        if self.has_duplicates {
            self.steps = self.steps.saturating_add(1);
            self.has_duplicates = false;
            self.last_delivered = delivered;
            self.persists = PERSISTS;
        } else if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// What was marked is not believed any more: it is examined again with the next acknowledgement.
    pub(crate) const fn advance_again(&mut self) {
        self.advanced = true;
    }

    /// A recovery ended.
    pub(crate) fn recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
    }

    fn window(&self, board: &Board, rtt: &Rtt, in_recovery: bool) -> Nanos {
        if !self.has_reordering && (in_recovery || board.sacked() >= DUPLICATES) {
            return Nanos::ZERO;
        }
        let quarter = Nanos(rtt.least().unwrap_or_default().0 / 4);
        let window = Nanos(quarter.0.saturating_mul(u64::from(self.steps.max(1))));
        window.min(Nanos(rtt.smoothed().unwrap_or_default().0))
    }

    /// How long until a segment sent at `at` is believed lost; zero: it is.
    pub(crate) fn remaining(&self, at: Nanos, board: &Board, rtt: &Rtt, in_recovery: bool, now: Nanos) -> Nanos {
        at + self.rtt + self.window(board, rtt, in_recovery) - now
    }

    /// Marks what is lost, if anything new was delivered; how long until more may be.
    pub(crate) fn detect(&mut self, board: &mut Board, rtt: &Rtt, in_recovery: bool, now: Nanos) -> Option<Nanos> {
        if !self.advanced {
            return None;
        }
        self.advanced = false;
        self.mark(board, rtt, in_recovery, now)
    }

    /// Marks what is lost; how long until more may be.
    pub(crate) fn mark(&self, board: &mut Board, rtt: &Rtt, in_recovery: bool, now: Nanos) -> Option<Nanos> {
        let window = self.window(board, rtt, in_recovery);
        let mut longest = None;
        let due = |at: Nanos| at + self.rtt + window;
        // Sent once, in the order of their places.
        let mut from = None;
        while let Some(number) = board.next_fresh(from) {
            let Some(sent) = board.by_number(number).filter(|sent| (sent.at, sent.end()) < self.newest) else { break };
            if due(sent.at) <= now {
                board.lose(number);
            } else {
                longest = longest.max(Some(due(sent.at) - now));
            }
            from = Some(number + 1);
        }
        // Sent again, in the order of that.
        let mut kept = 0;
        while let Some((number, at)) = board.again(kept) {
            let sent = board.by_number(number).filter(|sent| sent.in_flight_again && sent.at == at);
            let Some(&sent) = sent else {
                board.forget_again(kept);
                continue;
            };
            if (sent.at, sent.end()) >= self.newest {
                break;
            }
            if due(sent.at) <= now {
                board.forget_again(kept);
                board.lose(number);
            } else {
                longest = longest.max(Some(due(sent.at) - now));
                kept += 1;
            }
        }
        longest
    }
}
