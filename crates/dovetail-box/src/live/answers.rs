//! Answers to the senders of packets that end here, and how many there are.

use dovetail_sched::Nanos;

use crate::wire::{
    icmp_error::{Message, Silent},
    token_bucket::TokenBucket,
};

/// A token takes this long to come, and a bucket holds this many: what Linux permits itself (`net.ipv4.icmp_msgs_per_sec` and
/// `icmp_msgs_burst`). RFC 4443, 2.4 (f) demands a limit and leaves its size open.
const EVERY: Nanos = Nanos::from_millis(1);
const BURST: u32 = 50;

/// Errors of ICMP of one kind so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerCounters {
    /// That were sent.
    pub sent: u64,
    /// Packets whose senders were told nothing, since there were too many.
    pub limited: u64,
}

/// Errors of ICMP so far, by what senders were told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswersCounters([AnswerCounters; Message::KINDS]);

impl AnswersCounters {
    /// With the name of each kind.
    #[must_use]
    pub fn by_kind(&self) -> [(&'static str, AnswerCounters); Message::KINDS] {
        let [too_long, hop_limit, no_route] = self.0;
        [("too_long", too_long), ("hop_limit", hop_limit), ("no_route", no_route)]
    }
}

/// What makes answers.
#[derive(Debug)]
pub(super) struct Answers {
    /// One for each kind: a flood of one is not to silence another.
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
    /// The answer that `make` writes to a packet which ends at `now`, if that may be answered, and there were not too many.
    /// In a flood nothing is made.
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
