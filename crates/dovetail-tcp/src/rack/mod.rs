//! Time-based loss detection (RACK: RFC 8985, section 6).
//!
//! When a segment is delivered, every segment sent before it that is still missing is either late or lost. It is considered
//! lost once a round trip and a reordering window have passed since it was sent:
//!
//! ```text
//! lost  when  sent at + rack.rtt + window <= now
//! ```
//!
//! As long as no segment ever arrived late, the window is zero during recovery and while three or more segments are out of
//! order (as with three duplicate acknowledgements); otherwise it is a quarter of the least round trip. It grows by as much
//! for each round trip in which the peer reports duplicate segments (section 6.2, step 4).

#[cfg(test)]
mod tests;

use dovetail_sched::Nanos;

use crate::{
    board::{Board, Sent},
    rtt::Rtt,
};

/// Out-of-order segments that indicate a loss if none ever arrived late (`tcp_reordering`).
pub(crate) const DUPLICATES: u32 = 3;
/// Recoveries after which the window shrinks again (RFC 8985, section 6.2, step 4).
const PERSISTS: u8 = 16;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rack {
    /// Of the segments delivered, the one sent last: when, and its end.
    newest: (Nanos, u64),
    rtt: Nanos,
    advanced: bool,
    /// Whether a segment that was not retransmitted ever arrived late.
    pub(crate) has_reordering: bool,
    has_duplicates: bool,
    // Up to 255 (`rack.reo_wnd_steps`).
    steps: u8,
    persists: u8,
    last_delivered: u64,
}

impl Rack {
    /// Records that a segment was delivered.
    pub(crate) fn deliver(&mut self, sent: &Sent, least: Option<Nanos>, now: Nanos) {
        let rtt = now - sent.at;
        // Faster than possible: the original transmission arrived.
        if sent.again && least.is_some_and(|least| rtt < least) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent.at, sent.end()) > self.newest {
            self.newest = (sent.at, sent.end());
        }
    }

    /// The peer had this already: a retransmission was spurious.
    pub(crate) fn on_spurious(&mut self) {
        self.has_duplicates = true;
    }

    /// Adapts the window before an acknowledgement is processed: what had been delivered when its newest segment was sent,
    /// and so far.
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

    /// Loss marks were cleared: detect losses again with the next acknowledgement.
    pub(crate) const fn advance_again(&mut self) {
        self.advanced = true;
    }

    /// A recovery has ended.
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

    /// Time until a segment sent at `at` is considered lost; zero if it is.
    pub(crate) fn remaining(&self, at: Nanos, board: &Board, rtt: &Rtt, in_recovery: bool, now: Nanos) -> Nanos {
        at + self.rtt + self.window(board, rtt, in_recovery) - now
    }

    /// If anything new was delivered, marks lost segments; returns the time until more may be lost.
    pub(crate) fn detect(&mut self, board: &mut Board, rtt: &Rtt, in_recovery: bool, now: Nanos) -> Option<Nanos> {
        if !self.advanced {
            return None;
        }
        self.advanced = false;
        self.mark(board, rtt, in_recovery, now)
    }

    /// Marks lost segments; returns the time until more may be lost.
    pub(crate) fn mark(&self, board: &mut Board, rtt: &Rtt, in_recovery: bool, now: Nanos) -> Option<Nanos> {
        let window = self.window(board, rtt, in_recovery);
        let due = |at: Nanos| at + self.rtt + window;
        board.pass(self.newest);
        while let Some([(number, _), _]) = board.late().filter(|&[(_, at), _]| due(at) <= now) {
            board.lose(number);
        }
        while let Some([(number, _), _]) = board.late_again().filter(|&[(_, at), _]| due(at) <= now) {
            board.forget_late_again();
            board.lose(number);
        }
        let longest = board.late().into_iter().chain(board.late_again()).map(|[_, (_, at)]| at).max();
        longest.map(|at| due(at) - now)
    }
}
