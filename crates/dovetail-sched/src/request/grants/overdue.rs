//! Which responses have been silent for too long.
//!
//! Shortest-first leaves a long response without a turn for as long as shorter ones arrive, and a client that waits for it
//! times out: download programs take this many seconds without a byte for a broken connection. So a response that has begun,
//! has units waiting and had no turn for 12 s goes first among its user's requests, and among its class's if its user may go.
//!
//! With hundreds of begun responses, that alone would replace the order by plain turns, at the cost of every short response. So
//! an overdue response gets only a sign of life (`response.rs`), and such turns have at most a 256th of the link, the one
//! silent for longest first: at 2 Mbit/s that is enough for thirty responses of known length or four others, at 10 Mbit/s for
//! 150 or 20. If there are more, silences are longer.
//!
//! Responses are listed as their units begin to wait, and a turn removes one from the list by changing its number. As times
//! only grow the list is in order, and each step is O(1), amortised.

use alloc::collections::VecDeque;

use crate::{Nanos, request::RequestId};

/// Less than the 15 s that pip waits for a byte; curl and browsers wait longer.
const MAX_WAIT: Nanos = Nanos::from_secs(12);

/// The reciprocal of the part of the link that such turns may have.
const PART: u64 = 256;

/// Responses with units waiting, by when they began to wait.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    waits: VecDeque<Waits>,
    // When the next may go before others.
    free_at: Nanos,
}

#[derive(Debug, Clone, Copy)]
struct Waits {
    request: RequestId,
    /// The number of the response's last turn.
    served: u64,
    until: Nanos,
}

impl Overdue {
    /// Units of a response begin to wait; its last turn had the number `served`.
    pub(super) fn waits(&mut self, request: RequestId, served: u64, now: Nanos) {
        self.waits.push_back(Waits { request, served, until: now + MAX_WAIT });
    }

    /// Takes a response that has waited for too long, unless it had a turn since; with the number of its last turn.
    pub(super) fn next(&mut self, now: Nanos) -> Option<(RequestId, u64)> {
        let first = self.waits.front().filter(|waits| waits.until.max(self.free_at) <= now)?;
        let found = (first.request, first.served);
        self.waits.pop_front();
        Some(found)
    }

    /// That response had none, and goes before others. `turn`: how long the link takes for its units.
    pub(super) fn goes(&mut self, turn: Nanos, now: Nanos) {
        self.free_at = now + Nanos(turn.0.saturating_mul(PART));
    }

    /// Forgets responses that had a turn since, according to `is_over`: those at the front, and all once there are far more
    /// entries than released responses.
    pub(super) fn forget(&mut self, released: usize, is_over: impl Fn(RequestId, u64) -> bool) {
        while self.waits.front().is_some_and(|waits| is_over(waits.request, waits.served)) {
            self.waits.pop_front();
        }
        if self.waits.len() > 4 * (released + 16) {
            self.waits.retain(|waits| !is_over(waits.request, waits.served));
        }
    }
}
