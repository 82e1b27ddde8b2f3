//! Whether a response's window is what holds its sender back.
//!
//! A *round* begins at a turn, whose target the sender learns of half a round trip later, and ends when all up to that target
//! was taken in. A sender that always has more to send, and is let, ends it a round trip after it began. One that has nothing
//! to send for a while, or whose units wait for turns, takes longer. So with the least that a round or the first answer took,
//! and the far queue's delay now, for the round trip,
//!
//! ```text
//! limited = the last round took no more than 3·(least + delay)
//! ```
//!
//! and a longer window would be used. The window of a sender that brings `s` units a second stops growing at `s` times that.
//! (Three, because half of a window may be left where it waits before more is let come.)
//!
//! A round is over a round trip or two after the window began to hold its sender back, and from far away that is seconds. But a
//! sender in slow start sends twice as much in the next round trip as in this one. So half of a window is *brought* where so
//! much came in this or the last span of `least + delay`: a longer one will soon be used.
//!
//! The environment may know the round trip of a connection better, and then what it says is believed: where responses follow
//! each other on a connection before the ones before are over, as in a tunnel, what comes first is no answer.

use crate::Nanos;

/// A round may take this many times the least and still be the window's.
const MOST_TRIPS: u64 = 3;
/// A shorter round trip says more of the clock than of the way.
const LEAST_TRIP: Nanos = Nanos::from_micros(1);

/// The rounds of a response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    /// What is to be taken in before it is over; 0 if there is none.
    until: u64,
    began: Nanos,
    /// What it was told to take, or else the least that anything took; 0 before something came.
    trip: Nanos,
    is_told: bool,
    limited: bool,
    span: Span,
}

/// What came lately.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    began: Nanos,
    /// What had been taken in when it began.
    from: u64,
    /// What came in the one before.
    last: u64,
}

impl Round {
    /// The request leaves.
    pub(super) fn released(&mut self, now: Nanos) {
        let is_told = self.is_told;
        let trip = self.told_trip();
        *self = Self { began: now, trip, is_told, span: Span { began: now, ..Span::default() }, ..Self::default() };
    }

    /// A round trip takes so long.
    pub(super) fn takes(&mut self, trip: Nanos) {
        (self.trip, self.is_told) = (trip.max(LEAST_TRIP), true);
    }

    /// A turn let the response come up to `target`.
    pub(super) fn turned(&mut self, target: u64, now: Nanos) {
        if self.until == 0 && self.trip > Nanos::ZERO {
            (self.until, self.began) = (target, now);
        }
    }

    /// So many units were taken in before and are by now, while the far queue is so long. Whether a round is over that the
    /// window alone made as long as it was.
    pub(super) fn came(&mut self, before: u64, received: u64, delay: Nanos, now: Nanos) -> bool {
        let took = (now - self.began).max(LEAST_TRIP);
        if self.trip == Nanos::ZERO {
            self.trip = took;
            self.span = Span { began: now, ..Span::default() };
            return false;
        }
        self.span.came(before, self.trip + delay, now);
        if self.until == 0 || received < self.until {
            return false;
        }
        self.until = 0;
        if !self.is_told {
            self.trip = self.trip.min(took);
        }
        self.limited = took.0 <= (self.trip + delay).0.saturating_mul(MOST_TRIPS);
        self.limited
    }

    /// The least that a round or the first answer took; 0 before something came.
    pub(super) const fn trip(&self) -> Nanos {
        self.trip
    }

    /// The same where the environment says so. Elsewhere 0: what is a guess may be a server's thinking that takes long.
    pub(super) const fn told_trip(&self) -> Nanos {
        if self.is_told { self.trip } else { Nanos::ZERO }
    }

    /// Whether a longer window would be used, as far as is known.
    pub(super) const fn is_limited(&self) -> bool {
        self.limited
    }

    /// Whether at least half of this window came in a round trip, of a response of which so much was taken in.
    pub(super) fn brought(&self, received: u64, window: u64) -> bool {
        self.span.last.max(received - self.span.from) >= window / 2
    }

    /// The window is another: what was seen says nothing of it.
    pub(super) fn forget(&mut self) {
        (self.until, self.limited) = (0, false);
    }
}

impl Span {
    /// What comes now is of the next span, if this one has been so long: a flight is not counted apart from its first segments.
    fn came(&mut self, before: u64, long: Nanos, now: Nanos) {
        if now - self.began >= long {
            *self = Self { began: now, from: before, last: before - self.from };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn a_sender_that_always_has_more_is_limited_by_its_window() {
        let mut round = Round::default();
        round.released(MS(0));
        assert!(!round.came(0, 1_000, MS(0), MS(100)) && !round.is_limited());
        round.turned(9_000, MS(100));
        assert!(!round.came(1_000, 8_999, MS(0), MS(190)));
        assert!(round.came(8_999, 9_000, MS(0), MS(200)) && round.is_limited());
        // Three round trips are the window's, a fourth is not.
        round.turned(12_000, MS(200));
        assert!(round.came(9_000, 12_000, MS(0), MS(500)));
        round.turned(15_000, MS(500));
        assert!(!round.came(12_000, 15_000, MS(0), MS(801)) && !round.is_limited());
        // What the queue adds is not the sender's.
        round.turned(18_000, MS(900));
        assert!(round.came(15_000, 18_000, MS(60), MS(1380)) && round.is_limited());
    }

    #[test]
    fn half_of_a_window_in_a_round_trip_is_seen_before_the_round_is_over() {
        let mut round = Round::default();
        round.released(MS(0));
        round.came(0, 1_000, MS(0), MS(100));
        round.turned(9_000, MS(100));
        assert!(round.brought(1_000, 2_000) && !round.brought(1_000, 2_002));
        round.came(1_000, 3_000, MS(0), MS(150));
        assert!(round.brought(3_000, 6_000) && !round.is_limited());
        // It is remembered for one more.
        round.came(3_000, 3_500, MS(0), MS(200));
        round.came(3_500, 4_000, MS(0), MS(299));
        assert!(round.brought(4_000, 6_000) && !round.brought(4_000, 6_002));
        // A flight begins with its first units.
        round.came(4_000, 4_100, MS(0), MS(300));
        assert!(round.brought(4_100, 2_000) && !round.brought(4_100, 2_002), "1,000 came in the last");
    }

    #[test]
    fn a_round_trip_that_was_told_is_believed() {
        let mut round = Round::default();
        round.takes(MS(600));
        round.released(MS(0));
        assert!(!round.came(0, 1_000, MS(0), MS(1)) && round.trip() == MS(600));
        round.turned(9_000, MS(1));
        assert!(round.came(1_000, 9_000, MS(0), MS(1_700)) && round.trip() == MS(600));
    }

    #[test]
    fn a_window_that_was_changed_is_examined_anew() {
        let mut round = Round::default();
        round.released(MS(0));
        round.came(0, 1, MS(0), MS(50));
        round.turned(10, MS(50));
        assert!(round.came(1, 10, MS(0), MS(100)));
        round.forget();
        assert!(!round.is_limited());
        assert!(!round.came(10, 11, MS(0), MS(101)), "no round has begun");
    }
}
