//! Disjoint ranges of numbers: those that overlap or touch are one.

use alloc::collections::BTreeMap;

/// Each operation takes logarithmic time, and so much again for each range that it removes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    // Start to end.
    ranges: BTreeMap<u64, u64>,
    // The sum of their lengths.
    length: u64,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many numbers are in them.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// Adds a range; returns the one that it is part of then, and whether any of it is new.
    pub(crate) fn insert(&mut self, mut start: u64, mut end: u64) -> ((u64, u64), bool) {
        let mut is_new = true;
        if let Some((&from, &to)) = self.ranges.range(..=start).next_back()
            && to >= start
        {
            is_new = to < end;
            (start, end) = (from, end.max(to));
        }
        while let Some((&from, &to)) = self.ranges.range(start..=end).next() {
            end = end.max(to);
            self.ranges.remove(&from);
            self.length -= to - from;
        }
        self.ranges.insert(start, end);
        self.length += end - start;
        ((start, end), is_new)
    }

    /// Removes the ranges that begin at `at` or before it; returns where the last of them ends, if behind `at`, and goes on from
    /// there.
    pub(crate) fn take_from(&mut self, mut at: u64) -> u64 {
        while let Some(range) = self.ranges.first_entry().filter(|range| *range.key() <= at) {
            self.length -= range.get() - range.key();
            at = at.max(range.remove());
        }
        at
    }

    /// Removes all numbers below `at`.
    pub(crate) fn forget_before(&mut self, at: u64) {
        if self.ranges.first_key_value().is_some_and(|(&from, _)| from < at) {
            let end = self.take_from(at);
            if end > at {
                self.insert(at, end);
            }
        }
    }

    /// The range that contains a number.
    pub(crate) fn around(&self, at: u64) -> Option<(u64, u64)> {
        let (&from, &to) = self.ranges.range(..=at).next_back()?;
        (at < to).then_some((from, to))
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeSet, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the set of all their numbers.
        #[test]
        fn they_are_a_set(steps in prop::collection::vec((0u8..6, 0u64..60, 1u64..8), 0..80)) {
            let (mut ranges, mut plain) = (Ranges::default(), BTreeSet::new());
            for (step, at, long) in steps {
                let end_of = |plain: &BTreeSet<u64>| (at..).find(|number| !plain.contains(number)).unwrap_or(at);
                match step {
                    0 => {
                        let end = end_of(&plain);
                        prop_assert_eq!(ranges.take_from(at), end);
                        plain.retain(|&number| number > end);
                    }
                    1 => {
                        ranges.forget_before(at);
                        plain.retain(|&number| number >= at);
                    }
                    _ => {
                        let new = (at..at + long).map(|number| plain.insert(number)).filter(|&is_new| is_new).count() > 0;
                        let (range, is_new) = ranges.insert(at, at + long);
                        prop_assert_eq!((Some(range), is_new), (ranges.around(at), new));
                    }
                }
                prop_assert_eq!((ranges.length(), ranges.is_empty()), (plain.len() as u64, plain.is_empty()));
                let around = ranges.around(at);
                prop_assert_eq!(around.is_some(), plain.contains(&at));
                if let Some((from, to)) = around {
                    prop_assert!((from..to).all(|number| plain.contains(&number)));
                    prop_assert!(!plain.contains(&to) && (from == 0 || !plain.contains(&(from - 1))));
                }
                let all: Vec<u64> = (0..70).filter(|&number| ranges.around(number).is_some()).collect();
                prop_assert!(all.iter().eq(plain.iter()));
            }
        }
    }
}
