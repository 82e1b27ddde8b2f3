//! How the window of a response grows at a turn.
//!
//! A window grows while it is what limits its sender (`round.rs`), and never shrinks: one that was offered cannot be withdrawn.
//! Let `W` be the window and `B` the *bandwidth-delay product*: the link's capacity times the round trip that the environment
//! reported. The first row that applies decides:
//!
//! | `W` grows by | when |
//! |---|---|
//! | `W`, up to `B` | the class or user has *lost* units, `W < B` is in use, and an initial window has been granted |
//! | `W / 4` | the class or user has lost units or is *ahead*, `W` limits the sender, and four windows have been granted |
//! | half a quantum | the link has *room*, the sender is *far*, and `W > B / 2` |
//! | a quantum | the sender is far, and the link has room, or the sender is *farthest* and its turn preceded others of its user |
//! | a quantum | `W` limits the sender, the link has room, and `W < B` or the far queue has *settled* |
//!
//! - **Lost** units are those that a class or user could have received, but did not for want of candidates (`classes.rs`,
//!   `users.rs`). A response whose window is shorter than its share times its round trip is a candidate too rarely, and would stay
//!   below its weight however long it lasts. For responses that end within four windows it is not worth it.
//! - **Ahead**: the turn preceded users who have had less, or others still repay such turns to a user without another candidate.
//!   Such turns last only while the response is a candidate.
//! - **Room**: no request waits after the turn, the far queue is shorter than a quarter of `delay`, and half the bucket is left or
//!   little is *in flight* (charged and not arrived, over all responses): less than half of what the pace carries in this round
//!   trip. Responses from far away arrive in bursts, which empty the bucket although the link idles between them. A response
//!   alone thus doubles its window in each round trip, until the link is full.
//! - **Far**: `W < B / 4` is in use. A sender in slow start doubles what it sends in each round trip, and the window has to be there
//!   before.
//! - **Farthest**: a dozen initial windows are less than `B`. Then *far* means `W < 3/4 B`, and the window is in use from the
//!   start. Bursts from there are far queues of their own: while less than `B / 2` is in flight the queue says nothing, and
//!   beyond that it may be as long as `delay`. Beyond `B / 2` the window grows by half a quantum, since twice as much at once is a
//!   queue as long.
//! - **Settled**: `W` fills the link, and the far queue has been shorter than a quarter of `delay` for a round trip since the window
//!   last grew. If it grew after every dip, the queue would keep what each growth lets in.

use super::response::Response;
use crate::request::RequestSetup;

/// Initial windows that fill a link, unless servers are farther away (`RequestSetup::for_bytes`).
const DOZEN: f64 = 12.0;
/// The part of the bandwidth-delay product up to which windows of the farthest servers grow fast. Beyond it the far queue would
/// overflow, which costs more round trips than the growth saves.
pub(super) const FILLED: f64 = 0.75;
/// A smaller part of the bandwidth-delay product is the window of a response from far away.
const QUARTER: f64 = 0.25;

/// What a window's growth depends on, beside the response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    /// The class or user has lost units.
    pub(super) has_lost: bool,
    /// The turn preceded users who have had less, or others repay such turns.
    pub(super) is_ahead: bool,
    /// The link carries more than is requested.
    pub(super) has_room: bool,
    /// The bandwidth-delay product, in units; 0 if the round trip is unknown.
    pub(super) product: f64,
    /// The far queue has been short for a whole round trip since the window last grew.
    pub(super) is_settled: bool,
    /// A dozen initial windows are less than the product.
    pub(super) is_farthest: bool,
    /// The turn preceded others of the same user.
    pub(super) is_preferred: bool,
}

/// How much a window grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// By its own size, up to the bandwidth-delay product.
    Double,
    /// By a quarter of itself.
    Quarter,
    /// By half a turn.
    HalfQuantum,
    /// By a turn.
    Quantum,
}

/// Whether a dozen initial windows are less than a bandwidth-delay product.
pub(super) fn is_farthest(setup: &RequestSetup, product: f64) -> bool {
    setup.window as f64 * DOZEN < product
}

impl Response {
    /// How its window grows at this turn, if it does.
    pub(super) fn growth(&self, setup: &RequestSetup, cause: &Cause) -> Option<Growth> {
        if self.rest().is_some() || self.window >= setup.longest_window {
            return None;
        }
        let Cause { has_lost, is_ahead, has_room, product, is_settled, is_farthest, is_preferred } = *cause;
        let window = self.window as f64;
        let is_limited = self.round.is_limited();
        let begins = is_farthest && self.granted <= setup.window.max(self.offered);
        let is_used = is_limited || begins || self.round.brought(self.received, self.window);
        let is_far = is_used && window < product * if is_farthest { FILLED } else { QUARTER };
        if has_lost && is_used && window < product && self.granted >= setup.window {
            Some(Growth::Double)
        } else if (has_lost || is_ahead) && is_limited && self.granted / 4 >= self.window {
            Some(Growth::Quarter)
        } else if has_room && is_far && window > product / 2.0 {
            Some(Growth::HalfQuantum)
        } else if is_far && (has_room || is_farthest && is_preferred)
            || is_limited && has_room && (window < product || is_settled)
        {
            Some(Growth::Quantum)
        } else {
            None
        }
    }

    /// Makes its window grow.
    pub(super) fn grow(&mut self, growth: Growth, setup: &RequestSetup, product: f64) {
        let quantum = setup.quantum;
        let more = match growth {
            Growth::Double => self.window.min((product as u64).saturating_sub(self.window)).max(quantum),
            Growth::Quarter => {
                self.round.forget();
                (self.window / 4).max(quantum)
            }
            Growth::HalfQuantum => quantum / 2,
            Growth::Quantum => quantum,
        };
        self.window = self.window.saturating_add(more).min(setup.longest_window);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::round::Round, *};
    use crate::Nanos;

    #[test]
    fn a_window_that_fills_the_link_grows_on_only_once_the_queue_has_settled() {
        let setup = RequestSetup { rate: 1e6, quantum: 100, window: 1_000, longest_window: 1 << 20, overhead: 0 };
        let mut round = Round::default();
        round.takes(Nanos::from_millis(600));
        round.released(Nanos::ZERO);
        round.came(0, 1, Nanos::ZERO, Nanos(1));
        round.turned(2, Nanos(1));
        assert!(round.came(1, 2, Nanos::ZERO, Nanos(2)));
        let grows = |window, has_room, is_settled| {
            let response = Response { granted: 1 << 20, window, round, ..Response::default() };
            let cause = Cause {
                has_lost: false,
                is_ahead: false,
                has_room,
                product: 6_000.0,
                is_settled,
                is_farthest: false,
                is_preferred: false,
            };
            let growth = response.growth(&setup, &cause);
            assert!(matches!(growth, None | Some(Growth::Quantum)));
            growth.is_some()
        };
        assert!(grows(5_999, true, false) && !grows(6_000, true, false));
        assert!(grows(6_000, true, true) && !grows(6_000, false, true));
    }

    #[test]
    fn windows_grow_by_what_they_are_named_for() {
        let setup = RequestSetup { rate: 1e6, quantum: 100, window: 1_000, longest_window: 10_000, overhead: 0 };
        let grown = |growth, window| {
            let mut response = Response { window, ..Response::default() };
            response.grow(growth, &setup, 6_000.0);
            response.window
        };
        assert_eq!((grown(Growth::Double, 2_000), grown(Growth::Double, 4_000)), (4_000, 6_000));
        assert_eq!(grown(Growth::Double, 5_950), 6_050, "a quantum at least");
        assert_eq!((grown(Growth::Quarter, 2_000), grown(Growth::Quarter, 80)), (2_500, 180));
        assert_eq!((grown(Growth::HalfQuantum, 2_000), grown(Growth::Quantum, 2_000)), (2_050, 2_100));
        assert_eq!(grown(Growth::Quantum, 9_950), 10_000, "the longest window");
    }
}
