//! Whether a response's window is what limits its sender.
//!
//! A *round* begins at a turn, whose target the sender learns half a round trip later, and ends when everything up to that
//! target was taken in. A sender that always has more to send, and may, ends it a round trip after it began. One that has
//! nothing to send for a while, or whose units wait for turns, takes longer. So with the least time of a round or the first
//! answer, and the far queue's current delay, for the round trip,
//!
//! ```text
//! limited = the last round took no more than 3·(least + delay)
//! ```
//!
//! and a longer window would be used. The window of a sender that delivers `s` units a second stops growing at `s` times that.
//! (Three, because half of a window may be waiting before more is let in.)
//!
//! A round ends one or two round trips after the window began to limit its sender, and from far away that is seconds. But a
//! sender in slow start sends twice as much in the next round trip as in this one. So half of a window is *brought* if that
//! much was received in this or the last span of `least + delay`: a longer one will soon be used.
//!
//! The environment may know the round trip of a connection better, and then its value is used: if responses follow each other
//! on a connection before the previous ones are over, as in a tunnel, the first units to arrive are no answer.

use crate::Nanos;

/// A round that takes up to this many times the least is attributed to the window.
const MAX_TRIPS: u64 = 3;
/// A shorter round trip measures the clock rather than the path.
const MIN_TRIP: Nanos = Nanos::from_micros(1);

/// The rounds of a response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    /// The round ends once this many units are taken in; 0 if there is none.
    until: u64,
    began: Nanos,
    /// The reported round trip, or else the least time observed; 0 before anything was received.
    trip: Nanos,
    is_told: bool,
    limited: bool,
    span: Span,
}

/// Recent arrivals.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    began: Nanos,
    /// Units taken in when it began.
    from: u64,
    /// Units received in the previous span.
    last: u64,
}

impl Round {
    /// The request is released.
    pub(super) fn released(&mut self, now: Nanos) {
        let is_told = self.is_told;
        let trip = self.told_trip();
        *self = Self { began: now, trip, is_told, span: Span { began: now, ..Span::default() }, ..Self::default() };
    }

    /// Sets the reported round trip.
    pub(super) fn takes(&mut self, trip: Nanos) {
        (self.trip, self.is_told) = (trip.max(MIN_TRIP), true);
    }

    /// A turn permitted the response up to `target`.
    pub(super) fn turned(&mut self, target: u64, now: Nanos) {
        if self.until == 0 && self.trip > Nanos::ZERO {
            (self.until, self.began) = (target, now);
        }
    }

    /// Units taken in grew from `before` to `received`, with a far queue of `delay`. Returns whether a round has ended that was
    /// limited by the window alone.
    pub(super) fn came(&mut self, before: u64, received: u64, delay: Nanos, now: Nanos) -> bool {
        let took = (now - self.began).max(MIN_TRIP);
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
        self.limited = took.0 <= (self.trip + delay).0.saturating_mul(MAX_TRIPS);
        self.limited
    }

    /// The reported round trip, or else the least time of a round or the first answer; 0 before anything was received.
    pub(super) const fn trip(&self) -> Nanos {
        self.trip
    }

    /// The round trip reported by the environment, else 0: a guess may include a server's long processing time.
    pub(super) const fn told_trip(&self) -> Nanos {
        if self.is_told { self.trip } else { Nanos::ZERO }
    }

    /// Whether a longer window would be used, as far as known.
    pub(super) const fn is_limited(&self) -> bool {
        self.limited
    }

    /// Whether at least half of this window was received in a round trip, for a response of which `received` units were taken
    /// in.
    pub(super) fn brought(&self, received: u64, window: u64) -> bool {
        self.span.last.max(received - self.span.from) >= window / 2
    }

    /// The window has changed: past rounds say nothing about it.
    pub(super) fn forget(&mut self) {
        (self.until, self.limited) = (0, false);
    }
}

impl Span {
    /// Starts the next span if this one has lasted for `long`; a flight is never split from its first segments.
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
        // Three round trips are attributed to the window, a fourth is not.
        round.turned(12_000, MS(200));
        assert!(round.came(9_000, 12_000, MS(0), MS(500)));
        round.turned(15_000, MS(500));
        assert!(!round.came(12_000, 15_000, MS(0), MS(801)) && !round.is_limited());
        // The queue's delay is not the sender's.
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
        // It is remembered for one more span.
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
