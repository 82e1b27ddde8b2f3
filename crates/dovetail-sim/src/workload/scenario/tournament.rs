//! Selects the listed flow with the next packet: a tree of losers (Knuth, *The art of computer programming*, vol. 3, section
//! 5.4.1).
//!
//! Every source has a leaf. An inner node keeps the later of the two events that met there, and the top the earliest of all.
//! In the usual step the earliest event is replaced by its source's next: one walk from that source's leaf to the top. The
//! path is known in advance, no branch depends on a time, and a node is 16 bytes.

use std::hint::select_unpredictable;

/// The next packet of a source. The bits of a non-negative float order like the float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: u64,
    source: u64,
}

/// No event has arrived here yet.
const VACANT: Event = Event { time: u64::MAX, source: u64::MAX };

/// A source without further events.
const NEVER: Event = Event { time: u64::MAX, source: 0 };

impl Event {
    #[inline]
    fn new(time: f64, source: u32) -> Self {
        debug_assert!(time >= 0.0, "{time} is no time");
        // Adding 0 turns -0.0 into 0.0.
        Self { time: (time + 0.0).to_bits(), source: source.into() }
    }

    /// Both as one number, so that events compare in one step.
    #[inline]
    fn order(self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.source)
    }
}

/// Selects one of two; branchless, since the result is unpredictable. By halves: a minimum of wide integers would become a
/// branch.
#[inline]
fn either(first: bool, a: Event, b: Event) -> Event {
    Event { time: select_unpredictable(first, a.time, b.time), source: select_unpredictable(first, a.source, b.source) }
}

/// The next events of sources, by time, ties by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Tournament {
    // The earliest event, followed by the inner nodes: node `i` is the parent of nodes `2i` and `2i + 1`, and source `s`
    // corresponds to node `len + s`. The length is a power of two, so that all paths have the same length, which the
    // processor predicts.
    nodes: Vec<Event>,
}

impl Tournament {
    /// The first event of every source, or none.
    pub(super) fn new(first: impl ExactSizeIterator<Item = Option<f64>>) -> Self {
        let leaves = if first.len() == 0 { 0 } else { first.len().next_power_of_two() };
        let mut nodes = vec![VACANT; leaves];
        for (source, time) in first.chain(core::iter::repeat(None)).take(leaves).enumerate() {
            let mut event = time.map_or(NEVER, |time| Event::new(time, source as u32));
            let mut at = (leaves + source) / 2;
            // Of the two events that reach a node, the first waits there for the second.
            while at > 0 && nodes[at] != VACANT {
                (nodes[at], event) = (nodes[at].max(event), nodes[at].min(event));
                at /= 2;
            }
            nodes[at] = event;
        }
        Self { nodes }
    }

    /// The earliest event.
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        let event = *self.nodes.first()?;
        (event.time != NEVER.time).then_some((f64::from_bits(event.time), event.source as u32))
    }

    /// Removes the events of all sources.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// `source`, whose event is the earliest, has its next event at `time`.
    #[inline]
    pub(super) fn replace_first(&mut self, source: u32, time: f64) {
        self.play(source, Event::new(time, source));
    }

    /// `source`, whose event is the earliest, has no more events.
    pub(super) fn end_first(&mut self, source: u32) {
        self.play(source, NEVER);
    }

    #[inline]
    fn play(&mut self, source: u32, mut event: Event) {
        let nodes = &mut self.nodes[..];
        let mut at = (nodes.len() + source as usize) / 2;
        while at > 0 {
            let other = nodes[at];
            let other_is_first = other.order() < event.order();
            nodes[at] = either(other_is_first, event, other);
            event = either(other_is_first, other, event);
            at /= 2;
        }
        nodes[0] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(
            first in prop::collection::vec(prop::option::of(0u32..20), 0..70),
            steps in prop::collection::vec(prop::option::weighted(0.9, 0u32..50), 1..400),
        ) {
            let times = first.iter().map(|time| time.map(f64::from));
            let mut tournament = Tournament::new(times);
            let mut model: BTreeSet<(u32, u32)> =
                (0..).zip(&first).filter_map(|(source, time)| Some(((*time)?, source))).collect();
            for step in steps {
                let expected = model.pop_first();
                prop_assert_eq!(tournament.first(), expected.map(|(time, source)| (f64::from(time), source)));
                let Some((time, source)) = expected else { break };
                match step {
                    Some(later) => {
                        tournament.replace_first(source, f64::from(time + later));
                        model.insert((time + later, source));
                    }
                    None => tournament.end_first(source),
                }
            }
            tournament.clear();
            prop_assert_eq!(tournament.first(), None);
        }
    }
}
