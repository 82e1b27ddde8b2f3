//! Event queue: a four-ary heap of (time, event).
//!
//! The usual step is to replace the earliest event by its successor, which is one walk down the heap.

use std::{hint::select_unpredictable, mem};

const ARITY: usize = 4;

/// An event's time and number as one integer, so that they compare in one step. The bits of a non-negative float order like
/// the float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    fn new(time: f64, event: u32) -> Self {
        debug_assert!(time >= 0.0, "{time} is no time");
        // Adding 0 turns -0.0 into 0.0.
        Self(u128::from((time + 0.0).to_bits()) << 32 | u128::from(event))
    }
}

/// Fills the unused places of the last family: later than every event.
const NEVER: Entry = Entry(u128::MAX);

/// Events by time, ties by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Agenda {
    // The root is in place 3, and the children of place `i` form family `i - 2`: four entries compared without bounds checks.
    families: Vec<[Entry; ARITY]>,
    len: usize,
}

const ROOT: usize = ARITY - 1;

impl Agenda {
    /// The earliest event.
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        let entry = self.families.first()?[ROOT];
        (entry != NEVER).then_some((f64::from_bits((entry.0 >> 32) as u64), entry.0 as u32))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn push(&mut self, time: f64, event: u32) {
        let entry = Entry::new(time, event);
        let mut at = ROOT + self.len;
        if at / ARITY >= self.families.len() {
            self.families.push([NEVER; ARITY]);
        }
        self.len += 1;
        while at > ROOT {
            let parent = at / ARITY + ROOT - 1;
            let above = self.families[parent / ARITY][parent % ARITY];
            if above <= entry {
                break;
            }
            self.families[at / ARITY][at % ARITY] = above;
            at = parent;
        }
        self.families[at / ARITY][at % ARITY] = entry;
    }

    /// Replaces the earliest event.
    #[inline]
    pub(super) fn replace_first(&mut self, time: f64, event: u32) {
        self.sink(Entry::new(time, event));
    }

    /// Removes the earliest event.
    pub(super) fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let end = ROOT + self.len;
        let last = mem::replace(&mut self.families[end / ARITY][end % ARITY], NEVER);
        if end > ROOT {
            self.sink(last);
        }
    }

    /// Lets `entry` sink from the root.
    #[inline]
    fn sink(&mut self, entry: Entry) {
        let families = &mut self.families[..];
        let mut at = ROOT;
        while let Some(&[a, b, c, d]) = families.get(at + 1 - ROOT) {
            let (least, child) = lesser(lesser((a, 0), (b, 1)), lesser((c, 2), (d, 3)));
            if entry <= least {
                break;
            }
            families[at / ARITY][at % ARITY] = least;
            at = (at + 1 - ROOT) * ARITY + child;
        }
        families[at / ARITY][at % ARITY] = entry;
    }
}

/// The lesser of two; branchless, since the result is unpredictable.
#[inline]
fn lesser(a: (Entry, usize), b: (Entry, usize)) -> (Entry, usize) {
    select_unpredictable(b.0 < a.0, b, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(steps in prop::collection::vec((0u8..3, 0u32..50), 1..400)) {
            let mut agenda = Agenda::default();
            let mut model: BTreeSet<(u32, u32)> = BTreeSet::new();
            for (event, (step, time)) in steps.into_iter().enumerate() {
                let event = event as u32;
                match step {
                    1 if !model.is_empty() => {
                        agenda.pop();
                        model.pop_first();
                    }
                    2 if !model.is_empty() => {
                        agenda.replace_first(f64::from(time), event);
                        model.pop_first();
                        model.insert((time, event));
                    }
                    _ => {
                        agenda.push(f64::from(time), event);
                        model.insert((time, event));
                    }
                }
                let first = model.first().map(|&(time, event)| (f64::from(time), event));
                prop_assert_eq!(agenda.first(), first);
            }
        }
    }
}
