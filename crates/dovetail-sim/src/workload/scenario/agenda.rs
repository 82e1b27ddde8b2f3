//! What happens next: a four-ary heap of (time, event).
//!
//! The usual step is to take the earliest event and put its successor in its place, which is one walk down the heap.

const ARITY: usize = 4;

/// An event's time and number as one integer, so that they compare in one step. The bits of a non-negative float order
/// as the float does.
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

/// Events by time, ties by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Agenda {
    entries: Vec<Entry>,
}

impl Agenda {
    /// The earliest event.
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        let entry = self.entries.first()?.0;
        Some((f64::from_bits((entry >> 32) as u64), entry as u32))
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(super) fn push(&mut self, time: f64, event: u32) {
        let entry = Entry::new(time, event);
        let mut at = self.entries.len();
        self.entries.push(entry);
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    /// Puts an event in the place of the earliest one.
    #[inline]
    pub(super) fn replace_first(&mut self, time: f64, event: u32) {
        self.sink(Entry::new(time, event));
    }

    /// Takes the earliest event out.
    pub(super) fn pop(&mut self) {
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sink(last);
        }
    }

    /// Lets `entry` sink from the root.
    #[inline]
    fn sink(&mut self, entry: Entry) {
        let entries = &mut self.entries[..];
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            // The full rows, of which there are most, compare without a bound to test.
            let (least, place) = if let Some(&[a, b, c, d]) = entries.get(first..first + ARITY) {
                let (low, low_at) = if b < a { (b, first + 1) } else { (a, first) };
                let (high, high_at) = if d < c { (d, first + 3) } else { (c, first + 2) };
                if high < low { (high, high_at) } else { (low, low_at) }
            } else {
                let Some(rest) = entries.get(first..).filter(|rest| !rest.is_empty()) else { break };
                let mut best = (rest[0], first);
                for (offset, &other) in rest.iter().enumerate().skip(1) {
                    if other < best.0 {
                        best = (other, first + offset);
                    }
                }
                best
            };
            if entry <= least {
                break;
            }
            entries[at] = least;
            at = place;
        }
        entries[at] = entry;
    }
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
