//! Out-of-order data, and the SACK ranges to report for it.
//!
//! Adjacent ranges are merged. An acknowledgement reports the ranges that changed last, the latest first (RFC 2018, section
//! 4). For each, one place inside it is remembered, since ranges grow and merge.

use alloc::boxed::Box;

use crate::{ranges::Ranges, segment::Blocks};

/// Number of ranges remembered, the latest first.
const RECENT: usize = Blocks::MAX_BLOCKS;

/// The ranges behind a hole. Most connections never have any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Apart(Option<Box<Kept>>);

#[derive(Debug, Clone, Default)]
struct Kept {
    ranges: Ranges,
    // One place in each range that changed last.
    recent: [u64; RECENT],
}

impl Apart {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|all| all.ranges.is_empty())
    }

    /// Out-of-order bytes, held behind a hole.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |all| all.ranges.length())
    }

    /// Adds a range that arrived; everything before `nxt` is in order. False if all of its bytes had arrived before.
    pub(crate) fn insert(&mut self, start: u64, end: u64, nxt: u64) -> bool {
        let all = self.0.get_or_insert_default();
        let ((start, _), is_new) = all.ranges.insert(start, end);
        all.remember(start, nxt);
        is_new
    }

    /// Everything before `nxt` arrived in order: returns where the in-order data ends once ranges that touch it are added.
    pub(crate) fn join(&mut self, nxt: u64) -> u64 {
        let Some(all) = &mut self.0 else { return nxt };
        let nxt = all.ranges.take_from(nxt);
        if all.ranges.is_empty() {
            self.0 = None;
        }
        nxt
    }

    /// Index, among the ranges that changed last (latest first), of the one that this range would extend; their number if
    /// none.
    pub(crate) fn place_of(&self, start: u64, end: u64) -> usize {
        self.latest().take_while(|&(from, to)| start > to || from > end).count()
    }

    /// The ranges that changed last, the latest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut told = [(0, 0); RECENT];
        let all = self.0.iter().filter(|all| !all.ranges.is_empty());
        all.flat_map(|all| all.recent.iter().map(|&place| all.ranges.around(place)).enumerate()).filter_map(
            move |(at, range)| {
                let range = range.filter(|range| !told.contains(range))?;
                told[at] = range;
                Some(range)
            },
        )
    }
}

impl Kept {
    /// Moves a range to the front of those that changed last.
    fn remember(&mut self, at: u64, nxt: u64) {
        let range = self.ranges.around(at);
        let others = self.recent.into_iter().filter(|&other| self.ranges.around(other) != range && other > nxt);
        let mut recent = [0; RECENT];
        recent[0] = at;
        recent[1..].iter_mut().zip(others).for_each(|(place, other)| *place = other);
        self.recent = recent;
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::*;

    fn told(apart: &Apart) -> Vec<(u64, u64)> {
        apart.latest().collect()
    }

    #[test]
    fn ranges_that_touch_are_one_and_the_latest_is_told_first() {
        let mut apart = Apart::default();
        assert!(apart.insert(10, 20, 1));
        assert!(apart.insert(30, 40, 1));
        assert_eq!(told(&apart), [(30, 40), (10, 20)]);
        assert!(apart.insert(20, 25, 1));
        assert_eq!(told(&apart), [(10, 25), (30, 40)]);
        assert!(!apart.insert(12, 24, 1), "all of it was there");
        assert!(apart.insert(25, 30, 1));
        assert_eq!((told(&apart), apart.bytes()), (vec![(10, 40)], 30));
        assert_eq!((apart.join(9), apart.join(10)), (9, 40));
        assert!(apart.is_empty() && told(&apart).is_empty());
        assert!(apart.0.is_none(), "no memory is kept");
    }
}
