//! ICMP errors to the senders of dropped packets, with rate limits.

use dovetail_sched::Nanos;

use crate::wire::{
    icmp_error::{Message, Silent},
    token_bucket::TokenBucket,
};

/// A token is added at this interval, and a bucket holds this many: Linux's own limits (`net.ipv4.icmp_msgs_per_sec` and
/// `icmp_msgs_burst`). RFC 4443, 2.4 (f) demands a limit but leaves its size open.
const EVERY: Nanos = Nanos::from_millis(1);
const BURST: u32 = 50;

/// ICMP errors of one kind so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerCounters {
    /// Errors sent.
    pub sent: u64,
    /// Dropped packets whose senders were not told because of the rate limit.
    pub limited: u64,
}

/// ICMP errors so far, by kind of message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswersCounters([AnswerCounters; Message::KINDS]);

impl AnswersCounters {
    /// The counters with the name of each kind.
    #[must_use]
    pub fn by_kind(&self) -> [(&'static str, AnswerCounters); Message::KINDS] {
        let [too_long, hop_limit, no_route] = self.0;
        [("too_long", too_long), ("hop_limit", hop_limit), ("no_route", no_route)]
    }
}

/// Builds ICMP errors within the rate limits.
#[derive(Debug)]
pub(super) struct Answers {
    /// One per kind: a flood of one must not suppress another.
    buckets: [TokenBucket; Message::KINDS],
    counters: AnswersCounters,
    frame: Vec<u8>,
}

impl Default for Answers {
    fn default() -> Self {
        let bucket = TokenBucket::new(EVERY, BURST);
        Self { buckets: [bucket; Message::KINDS], counters: AnswersCounters::default(), frame: Vec::new() }
    }
}

impl Answers {
    /// Writes an ICMP error with `make` for a packet dropped at `now`, if it may be answered and the rate limit permits.
    /// Nothing is written once the limit is reached.
    pub(super) fn answer(
        &mut self,
        message: Message,
        now: Nanos,
        make: impl FnOnce(&mut Vec<u8>) -> Result<(), Silent>,
    ) -> Option<&[u8]> {
        let (bucket, counters) = (&mut self.buckets[message.kind()], &mut self.counters.0[message.kind()]);
        if !bucket.refill_and_check(now) {
            counters.limited += 1;
            return None;
        }
        make(&mut self.frame).ok()?;
        bucket.take(now);
        counters.sent += 1;
        Some(&self.frame)
    }

    pub(super) fn counters(&self) -> AnswersCounters {
        self.counters
    }
}
