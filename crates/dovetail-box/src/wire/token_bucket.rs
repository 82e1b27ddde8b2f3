//! A rate limit: a burst at once, and a rate in the long run.
//!
//! RFC 4443, 2.4 (f) recommends a token bucket for ICMP errors, since traceroute programs send several packets at once, and
//! a limit that spaces answers would answer only the first of them.

use dovetail_sched::Nanos;

/// A bucket of tokens that fills over time. The caller provides the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Interval between tokens.
    every: Nanos,
    /// Capacity, as the time that it takes to fill.
    depth: Nanos,
    /// Fill level, likewise.
    filled: Nanos,
    at: Nanos,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens, refilled with one token per `every` up to that.
    #[must_use]
    pub fn new(every: Nanos, burst: u32) -> Self {
        let depth = Nanos(every.0.saturating_mul(burst.into()));
        Self { every, depth, filled: depth, at: Nanos::ZERO }
    }

    /// Whether there is a token. A time before the last one counts as the last one. Constant time.
    pub fn refill_and_check(&mut self, now: Nanos) -> bool {
        let passed = now.0.saturating_sub(self.at.0);
        self.at = self.at.max(now);
        self.filled = Nanos(self.filled.0.saturating_add(passed)).min(self.depth);
        self.filled >= self.every
    }

    /// Takes a token; returns `false` if there is none. Constant time.
    pub fn take(&mut self, now: Nanos) -> bool {
        let has_any = self.refill_and_check(now);
        if has_any {
            self.filled = Nanos(self.filled.0 - self.every.0);
        }
        has_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Between any two instants it grants at most the burst and the refill in between, and never less than a bucket
        /// counted token by token.
        #[test]
        fn no_more_than_a_burst_and_what_has_come(
            every in 1u64..1000,
            burst in 1u32..60,
            pauses in prop::collection::vec(0u64..3000, 1..200),
        ) {
            let mut bucket = TokenBucket::new(Nanos(every), burst);
            let (mut now, mut taken) = (0, Vec::new());
            let (mut naive, mut rest, mut before) = (u64::from(burst), 0, 0);
            for pause in pauses {
                now += pause;
                // The naive bucket has whole tokens and a fraction of the next.
                rest += now - before;
                before = now;
                while rest >= every && naive < u64::from(burst) {
                    (naive, rest) = (naive + 1, rest - every);
                }
                if naive == u64::from(burst) {
                    rest = 0;
                }
                let took = bucket.take(Nanos(now));
                prop_assert_eq!(took, naive > 0);
                if took {
                    naive -= 1;
                    taken.push(now);
                }
            }
            for (at, &first) in taken.iter().enumerate() {
                for (more, &last) in taken[at..].iter().enumerate() {
                    prop_assert!(more as u64 <= u64::from(burst) + (last - first) / every);
                }
            }
        }
    }

    #[test]
    fn time_does_not_run_back_and_nothing_overflows() {
        let mut bucket = TokenBucket::new(Nanos(10), 1);
        assert_eq!([100, 90, 109, 110, 50].map(|at| bucket.take(Nanos(at))), [true, false, false, true, false]);
        let mut bucket = TokenBucket::new(Nanos::MAX, u32::MAX);
        assert_eq!([0, u64::MAX].map(|at| bucket.take(Nanos(at))), [true, true]);
    }
}
