//! Which responses have been silent for too long.
//!
//! The shortest first leaves a long response without a turn for as long as shorter ones come, and a client that waits
//! for it gives up: programs that download take this many seconds without a byte for a broken connection. So a response
//! that has begun, has units waiting and had no turn for 12 s goes first among its user's requests, and of its class's
//! where its user may go.
//!
//! Where hundreds have begun that would be no order at all but all in turn, at the cost of every short one. So it is given no
//! more than a sign of life (`response.rs`), and such turns have a 256th of the link at most, the one silent for longest
//! first: at 2 Mbit/s that is enough for thirty responses of known length or four others, at 10 Mbit/s for 150 or 20. Of more,
//! silences are longer.
//!
//! Responses are listed as their units begin to wait, and a turn takes one off by its number. As times only grow the list is
//! in order, and each step is O(1), amortised.

use alloc::collections::VecDeque;

use crate::{Nanos, request::RequestId};

/// Less than the 15 s that pip waits for a byte; curl and browsers wait longer.
const LONGEST: Nanos = Nanos::from_secs(12);

/// The part of the link that their turns may have: one of so many.
const PART: u64 = 256;

/// Responses whose units wait, by when they began to.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    waits: VecDeque<Waits>,
    // When the next may go before others.
    free_at: Nanos,
}

#[derive(Debug, Clone, Copy)]
struct Waits {
    request: RequestId,
    /// The number of its last turn.
    served: u64,
    until: Nanos,
}

impl Overdue {
    /// Units of a response begin to wait, whose last turn had this number.
    pub(super) fn waits(&mut self, request: RequestId, served: u64, now: Nanos) {
        self.waits.push_back(Waits { request, served, until: now + LONGEST });
    }

    /// A response that has waited for too long, if it had no turn since, and the number of its last.
    pub(super) fn next(&mut self, now: Nanos) -> Option<(RequestId, u64)> {
        let first = self.waits.front().filter(|waits| waits.until.max(self.free_at) <= now)?;
        let found = (first.request, first.served);
        self.waits.pop_front();
        Some(found)
    }

    /// It had not, and goes before others. `turn`: how long the link takes for what it is given.
    pub(super) fn goes(&mut self, turn: Nanos, now: Nanos) {
        self.free_at = now + Nanos(turn.0.saturating_mul(PART));
    }

    /// Forgets those that had a turn, as `is_over` says: at the front, and all where there are far more than the responses that
    /// are released.
    pub(super) fn forget(&mut self, released: usize, is_over: impl Fn(RequestId, u64) -> bool) {
        while self.waits.front().is_some_and(|waits| is_over(waits.request, waits.served)) {
            self.waits.pop_front();
        }
        if self.waits.len() > 4 * (released + 16) {
            self.waits.retain(|waits| !is_over(waits.request, waits.served));
        }
    }
}
