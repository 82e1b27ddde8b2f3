//! Units that an open response was charged for and that do not come.
//!
//! In a tunnel no length is known, and a response ends with the client's next request. Until then it would keep tokens for all
//! that its sender was permitted to send: on a fast link full of tunnels, a third of them. But what was permitted arrives within
//! a round trip and the far queue's delay, unless the sender has nothing to send.
//!
//! So once an open response that has begun is silent for twice that, the units that it was charged and that have not arrived
//! are *absent*: their tokens return to the bucket. If some of them arrive after all, tokens are spent on them then. A response
//! with units waiting for a turn is not silent, and while nothing arrives at all the link is interrupted, and no silence means
//! anything.
//!
//! ```text
//! charged = arrived + in flight + absent
//! ```
//!
//! Only the link's tokens return. The class and the user are refunded when the response ends.
//!
//! A response is listed when units of it arrive, once, and examined after a while: it is listed again unless it was silent. As
//! that while is the same for all, the list is in order, and each step is O(1). Responses are examined before turns, since only
//! turns need tokens.

use alloc::collections::VecDeque;

use crate::{Nanos, request::RequestId};

/// A shorter silence may be the sender's: it reads from a disk, or asks a database. What is returned much later is lost to
/// requests that wait meanwhile.
const MIN_SILENCE: Nanos = Nanos::from_millis(500);
/// How many times the round trip and the far queue's delay a response has to be silent for: what is lost is sent again after
/// one, and arrives after another.
const TRIPS: u64 = 2;

/// How long a response has to be silent for, if a round trip takes `trip`, with the far queue's delay.
pub(super) fn patience(trip: Nanos) -> Nanos {
    Nanos(trip.0.saturating_mul(TRIPS)).max(MIN_SILENCE)
}

/// Open responses that have begun, by when they are examined.
#[derive(Debug, Default)]
pub(super) struct Absent(VecDeque<Listed>);

/// A response, and when it is examined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) request: RequestId,
    /// The request's number: its id may belong to another by then.
    pub(super) number: u64,
    at: Nanos,
}

impl Absent {
    /// Lists a response of which units have arrived, or that is not silent.
    pub(super) fn list(&mut self, request: RequestId, number: u64, now: Nanos) {
        self.0.push_back(Listed { request, number, at: now + MIN_SILENCE });
    }

    /// How many responses are listed.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a response that is to be examined.
    pub(super) fn next(&mut self, now: Nanos) -> Option<Listed> {
        let first = *self.0.front().filter(|first| first.at <= now)?;
        self.0.pop_front();
        Some(first)
    }
}
