//! Tokens that are due later.
//!
//! What a turn lets in reaches the far queue a round trip later, and servers are 10 ms or 250 ms away. If tokens were spent at
//! the turn, arrivals would be as irregular as the order of near and distant turns: a queue of 60 ms would run empty while what
//! was paid for is on its way, and overflow when it arrives together with what a nearer server sends. So tokens are *booked* for
//! the time at which the units are due, and spent then.
//!
//! ```text
//! T(s)    tokens at a time s: they arrive at the pace, up to half a bucket or a turn's worth, and are spent on what is due
//! N(s)    tokens that bookings after s need beyond those that arrive until then
//! ```
//!
//! A turn whose units are due at `s` may happen if `T(s) > N(s)`. As with a bucket without bookings, its charge may be more than
//! what there is. `T` is a prediction: nearer senders will have spent what a fuller bucket would hold by then. A refund cancels
//! bookings first, from the latest on: beyond a full bucket it would be lost, though tokens are needed later.
//!
//! The far queue smooths what comes within its target `d*`. So units are due only `d*` before they come, and those of servers
//! that are no farther away at the turn. Round trips are measured through that queue: without this, a server whose round trip
//! was measured while it was long seems farther away than it is, others find no tokens while nothing comes, and too many when
//! its units do.
//!
//! Bookings are rounded down to bins of 5 ms, and are 150 ms ahead at most: what is due later counts as due then.
//! A distant class would else find only what nearer ones leave of a future that is hardly known, and get less than its weight.
//! Each call takes constant time, in the number of bins at most.

use crate::Nanos;

/// A twelfth of the usual target of the far queue.
const BIN: Nanos = Nanos::from_millis(5);
const BINS: usize = 31;
/// How far ahead units are booked at most.
const AHEAD: Nanos = Nanos(BIN.0 * (BINS as u64 - 1));

/// Bookings by the time when they are due.
#[derive(Debug)]
pub(super) struct Due {
    bins: [f64; BINS],
    // The number of the current bin, which is empty, and of the last that is not.
    current: u64,
    last: u64,
}

/// A bucket: its tokens now, and at most, and how many arrive per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    pub(super) tokens: f64,
    pub(super) depth: f64,
    pub(super) per_s: f64,
}

impl Due {
    pub(super) const fn new() -> Self {
        Self { bins: [0.0; BINS], current: 0, last: 0 }
    }

    /// Books units that are due `takes` after `now`, unless that is in the current bin. Returns whether it did.
    pub(super) fn book(&mut self, units: f64, takes: Nanos, now: Nanos) -> bool {
        let bin = (now + takes.min(AHEAD)).0 / BIN.0;
        if bin <= self.current {
            return false;
        }
        self.bins[index(bin)] += units;
        self.last = self.last.max(bin);
        true
    }

    /// Cancels up to this many units, those that are due latest first. Returns how many are left.
    pub(super) fn cancel(&mut self, mut units: f64) -> f64 {
        while units > 0.0 && self.last > self.current {
            let bin = &mut self.bins[index(self.last)];
            let less = bin.min(units);
            *bin -= less;
            units -= less;
            if *bin <= 0.0 {
                self.last -= 1;
            }
        }
        units
    }

    /// The next bookings that are due by `until`, and since when. They are no longer booked.
    pub(super) fn next(&mut self, until: Nanos) -> Option<(Nanos, f64)> {
        let until = until.0 / BIN.0;
        while self.current < self.last.min(until) {
            self.current += 1;
            let units = core::mem::take(&mut self.bins[index(self.current)]);
            if units > 0.0 {
                return Some((starts(self.current), units));
            }
        }
        self.current = self.current.max(until);
        None
    }

    /// The tokens for units due `takes` after `now`, beyond what is needed for those due later: `T - N`.
    pub(super) fn free(&self, bucket: Bucket, takes: Nanos, now: Nanos) -> f64 {
        let Bucket { mut tokens, depth, per_s } = bucket;
        let asked = now + takes.min(AHEAD);
        let (mut at, mut bin) = (now, self.current);
        while bin < self.last && starts(bin + 1) <= asked {
            bin += 1;
            tokens = (tokens + per_s * (starts(bin) - at).as_secs_f64()).min(depth) - self.bins[index(bin)];
            at = starts(bin);
        }
        let tokens = (tokens + per_s * (asked - at).as_secs_f64()).min(depth);
        tokens - self.needs(per_s)[(bin - self.current) as usize]
    }

    /// When a turn may happen, from `now` on, whose units are due `takes` later.
    pub(super) fn opens(&self, bucket: Bucket, takes: Nanos, now: Nanos) -> Nanos {
        let Bucket { mut tokens, depth, per_s } = bucket;
        let brings = |from: Nanos, to: Nanos| per_s * (to - from).as_secs_f64();
        let earns = |units: f64| Nanos::from_f64(units / per_s * 1e9) + Nanos(1);
        let needs = self.needs(per_s);
        let takes = takes.min(AHEAD);
        let asked = now + takes;
        let mut at = now;
        for bin in self.current..=self.last {
            let (needs, ends) = (needs[(bin - self.current) as usize], starts(bin + 1));
            tokens -= if bin > self.current { self.bins[index(bin)] } else { 0.0 };
            if ends > asked {
                let from = at.max(asked);
                tokens = (tokens + brings(at, from)).min(depth);
                at = from;
                if tokens > needs {
                    return (at - takes).max(now);
                }
                let opens = at + earns(needs - tokens);
                if needs < depth && opens < ends {
                    return (opens - takes).max(now);
                }
            }
            tokens = (tokens + brings(at, ends)).min(depth);
            at = ends;
        }
        // Nothing is booked from here on.
        let opens = if tokens > 0.0 { at } else { at + earns(-tokens) };
        (opens - takes).max(now)
    }

    /// What bookings need beyond what arrives until they are due, after each bin from the current one on.
    fn needs(&self, per_s: f64) -> [f64; BINS] {
        let brings = per_s * BIN.as_secs_f64();
        let mut needs = [0.0; BINS];
        for bin in (self.current..self.last).rev() {
            let ahead = (bin - self.current) as usize;
            needs[ahead] = (needs[ahead + 1] + self.bins[index(bin + 1)] - brings).max(0.0);
        }
        needs
    }
}

const fn starts(bin: u64) -> Nanos {
    Nanos(bin.saturating_mul(BIN.0))
}

const fn index(bin: u64) -> usize {
    (bin % BINS as u64) as usize
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    /// The same a millisecond at a time, in which one token arrives.
    #[derive(Clone)]
    struct Plain {
        tokens: i64,
        depth: i64,
        now: u64,
        due: BTreeMap<u64, i64>,
    }

    impl Plain {
        fn pass(&mut self, ms: u64) {
            for _ in 0..ms {
                self.now += 1;
                self.tokens = (self.tokens + 1).min(self.depth);
                if self.now.is_multiple_of(5) {
                    self.tokens -= self.due.remove(&(self.now / 5)).unwrap_or(0);
                }
            }
        }

        fn free(&self, takes: u64) -> i64 {
            let mut then = self.clone();
            then.pass(takes.min(150));
            let bin = then.now / 5;
            let (mut booked, mut needs) = (0, 0);
            for (&at, &units) in &then.due {
                booked += units;
                needs = needs.max(booked - 5 * (at - bin) as i64);
            }
            then.tokens - needs
        }
    }

    proptest! {
        #[test]
        fn it_is_a_bucket_whose_bookings_are_spent_when_due(
            depth in 1_i64..100,
            steps in prop::collection::vec((0_u64..40, 0_u64..300, 1_u64..60, any::<bool>()), 1..40),
            takes in 0_u64..300,
        ) {
            let millis = Nanos::from_millis;
            let (mut due, mut plain) = (Due::new(), Plain { tokens: depth, depth, now: 0, due: BTreeMap::new() });
            for (passes, ahead, units, cancels) in steps {
                plain.pass(passes);
                while due.next(millis(plain.now)).is_some() {}
                let mut tokens = plain.tokens;
                if cancels {
                    let left = due.cancel(units as f64);
                    let mut less = units as i64;
                    while less > 0
                        && let Some(mut last) = plain.due.last_entry()
                    {
                        let cancelled = less.min(*last.get());
                        *last.get_mut() -= cancelled;
                        less -= cancelled;
                        if *last.get() == 0 {
                            last.remove();
                        }
                    }
                    prop_assert_eq!(left, less as f64);
                } else if due.book(units as f64, millis(ahead), millis(plain.now)) {
                    *plain.due.entry((plain.now + ahead.min(150)) / 5).or_default() += units as i64;
                } else {
                    tokens -= units as i64;
                }
                plain.tokens = tokens;
                let bucket = Bucket { tokens: tokens as f64, depth: depth as f64, per_s: 1000.0 };
                let free = due.free(bucket, millis(takes), millis(plain.now));
                prop_assert!((free - plain.free(takes) as f64).abs() < 1e-6, "{free} {}", plain.free(takes));
                let opens = due.opens(bucket, millis(takes), millis(plain.now));
                let at = |least: i64| {
                    let mut later = plain.clone();
                    while later.free(takes) < least {
                        later.pass(1);
                    }
                    millis(later.now)
                };
                // From when there is no debt until there is a whole token.
                prop_assert!((at(0)..=at(1)).contains(&opens), "{:?} {opens:?} {:?}", at(0), at(1));
            }
        }
    }
}
