//! The state of a response: what of it was let in and what was charged.
//!
//! ```text
//! target = min(total, granted + window + excess)      what the sender may have sent, `total` if that is known
//! arrived = received + unread <= charged              and charged = target once the length is known
//! ```
//!
//! Windows are seldom exactly what an environment was told. A sender that was once seen to use `excess` more is expected to do so
//! always: otherwise turns would be charged for what has arrived long before, and what they let in only when it arrives, a round
//! trip too late for a pace to be kept.
//!
//! Before the length is known a release is charged the expected size, and so may be charged less than its target.

use super::round::Round;
use crate::Nanos;

/// The part of a turn that an overdue response gets if its length is known, as a divisor. Its waiting units are at the gateway,
/// and a few of them are a sign of life. The client of a response of unknown length, such as a tunnel, may already have its
/// waiting units: only more of it is a sign.
const SIGN: u64 = 8;

/// For how many presumed sizes what has arrived of a response of unknown length counts as its length, even if it was not granted.
/// Longer ones are to take turns: one that has much unread would be granted all of it at a time, and others' windows lie idle.
const MAX_SEEN: u64 = 16;

/// A request and its response. All amounts are in units.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Response {
    pub(super) state: State,
    /// The total length, as stated by its sender.
    pub(super) total: Option<u64>,
    /// Units that may be taken in, in total.
    pub(super) granted: u64,
    /// Units that may be in flight beyond that.
    pub(super) window: u64,
    /// Units by which arrivals have exceeded both.
    pub(super) excess: u64,
    /// The window that its connection offered before.
    pub(super) offered: u64,
    /// Units taken in.
    pub(super) received: u64,
    /// Units that have arrived and were not taken in, as far as known.
    pub(super) unread: u64,
    /// Units charged to its class and its user, less refunds.
    pub(super) charged: u64,
    /// Units charged that will not arrive, as far as known.
    pub(super) absent: u64,
    /// How long after a turn its units are due, as far as known.
    pub(super) distance: Nanos,
    /// When units last arrived, and whether it is listed in case that no more do.
    pub(super) arrived_at: Nanos,
    pub(super) is_listed: bool,
    /// Whether units wait that may not be taken in.
    pub(super) ready: bool,
    /// Whether they have waited for too long.
    pub(super) overdue: bool,
    /// Whether all the rest may be taken in, to be reported by the next poll.
    pub(super) freed: bool,
    /// By how much its class's counter grew for that, in 2^-64 units per part, and when the last of it was charged.
    pub(super) paid: u128,
    pub(super) charged_at: Nanos,
    /// Whether its window is what limits its sender.
    pub(super) round: Round,
    /// When its window grew last.
    pub(super) grew_at: Nanos,
    /// Whether its size has entered the running mean.
    pub(super) told: bool,
    /// Whether it was ever too long to lead while its length was unknown.
    pub(super) is_long: bool,
    /// By how much it counts as larger because it did not arrive earlier, in units.
    pub(super) age: u64,
    /// Its number in the order of arrivals.
    pub(super) number: u64,
    /// The number of its last turn, or else of its arrival.
    pub(super) served: u64,
}

/// The progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// The id is free.
    #[default]
    Free,
    /// Not released.
    Waiting,
    /// Released, not over.
    Released,
}

impl Response {
    /// Units that the sender may have sent so far.
    pub(super) fn target(&self) -> u64 {
        self.total.unwrap_or(u64::MAX).min(self.sendable())
    }

    /// Units that the sender is expected to have sent so far: all that it may if the length is known, else no more than twice
    /// what has been granted or has arrived. It may have a window many times as long, and most responses end before that.
    pub(super) fn expected(&self) -> u64 {
        self.total.unwrap_or_else(|| self.granted.max(self.arrived()).saturating_mul(2)).min(self.sendable())
    }

    /// Units that its windows permit, however long it is.
    fn sendable(&self) -> u64 {
        self.granted.saturating_add(self.window).saturating_add(self.excess)
    }

    /// Sets what has arrived: `taken` more were taken in, and `unread` in all were not. Returns how many units are new.
    pub(super) fn arrive(&mut self, taken: u64, unread: u64) -> u64 {
        let before = self.arrived();
        self.received = self.received.saturating_add(taken);
        self.unread = unread;
        if self.state == State::Released {
            self.excess += self.arrived().saturating_sub(self.sendable());
        }
        self.arrived().saturating_sub(before)
    }

    /// Units that have arrived, as far as known.
    pub(super) fn arrived(&self) -> u64 {
        self.received.saturating_add(self.unread)
    }

    /// Units charged that have not arrived, unless absent.
    pub(super) fn in_flight(&self) -> u64 {
        self.charged.saturating_sub(self.arrived()).saturating_sub(self.absent)
    }

    /// The units left to elicit; if the length is not known, as many as have been granted or have arrived, and no less than
    /// `presumed`. Sizes have heavy tails: a response that has lasted this long is expected to last as long again.
    pub(super) fn left(&self, presumed: u64) -> u64 {
        let seen = self.arrived().min(presumed.saturating_mul(MAX_SEEN));
        self.total.map_or_else(|| self.granted.max(seen).max(presumed), |total| total - self.target())
    }

    /// The units left to grant, if the sender may send to the end; `None` if it may not, or if the length is unknown.
    pub(super) fn rest(&self) -> Option<u64> {
        let total = self.total.filter(|&total| total <= self.sendable())?;
        Some(total.saturating_sub(self.granted))
    }

    /// Grants this many more units, or all the rest if its sender may send that. Returns how many in all.
    pub(super) fn grant(&mut self, units: u64) -> u64 {
        let before = self.granted;
        self.granted = before.saturating_add(units);
        self.granted += self.rest().unwrap_or(0);
        self.granted - before
    }

    /// The units of its next turn, if a full turn has `quantum`.
    pub(super) fn due(&self, quantum: u64) -> u64 {
        if self.overdue && self.total.is_some() { (quantum / SIGN).max(1) } else { quantum }
    }

    /// Whether it is released and of unknown length.
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Released && self.total.is_none()
    }

    /// Whether it may have a turn.
    pub(super) fn is_candidate(&self) -> bool {
        self.state == State::Waiting || self.ready && !self.freed
    }

    /// Whether units of it have been waiting since the turn with this number.
    pub(super) fn waits_since(&self, served: u64) -> bool {
        self.served == served && self.state == State::Released && self.is_candidate()
    }

    /// Updates what follows from the last event. Returns whether all the rest may now be taken in, for the first time.
    pub(super) fn review(&mut self) -> bool {
        // A stated length that was exceeded is false, and so is one that was let in entirely while more waits: the length is
        // unknown then.
        let passed = |total| total < self.received || self.ready && total <= self.granted;
        self.total = self.total.filter(|&total| !passed(total));
        let was = self.freed;
        self.freed = self.state == State::Released && self.rest().is_some_and(|rest| rest > 0);
        self.freed && !was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_free_once_it_may_be_sent() {
        let mut response = Response { window: 8_000, total: Some(13_000), ..Response::default() };
        assert_eq!(response.grant(3_000), 3_000);
        assert_eq!((response.target(), response.rest()), (11_000, None));
        // 6,000 + 8,000 reach the end: all of the rest is granted, since the sender may send it.
        assert_eq!(response.grant(3_000), 10_000);
        assert_eq!((response.target(), response.rest()), (13_000, Some(0)));
        assert_eq!(response.grant(3_000), 3_000);
    }

    #[test]
    fn a_length_that_was_passed_is_not_believed() {
        let passed = |total, received, ready| {
            let mut response =
                Response { granted: 1_000, window: 100, total: Some(total), received, ready, ..Response::default() };
            response.review();
            response.total.is_none()
        };
        assert!(!passed(800, 800, false) && passed(800, 801, false));
        assert!(!passed(1_001, 0, true) && passed(1_000, 0, true));
    }

    #[test]
    fn the_rest_is_free_once_and_not_when_there_is_more_after_all() {
        let mut response =
            Response { state: State::Released, granted: 1_000, window: 100, ready: true, ..Response::default() };
        assert!(!response.review() && response.is_candidate());
        response.total = Some(1_050);
        assert!(response.review() && !response.is_candidate());
        assert!(!response.review() && response.freed);
        response.total = Some(1_500);
        assert!(!response.review() && response.is_candidate());
    }

    #[test]
    fn amounts_at_the_end_of_numbers_do_not_overflow() {
        let mut response = Response { window: u64::MAX, total: Some(u64::MAX), ..Response::default() };
        assert_eq!(response.grant(7), u64::MAX);
        assert_eq!((response.grant(7), response.target(), response.rest()), (0, u64::MAX, Some(0)));
    }
}
