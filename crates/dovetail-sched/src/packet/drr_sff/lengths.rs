//! Flows by the number of their queued packets, to find the longest queue.
//!
//! McKenney, *Stochastic fairness queueing*, INFOCOM 1990: a list of the queues of each length, and the largest length that has
//! a queue. A queue changes its length by one at a time, but joins and leaves a group at any length; the largest remaining
//! length is then found in a tree of bit sets, with a bit for each length and above it a bit for each word that is not zero.
//! Its height is six words for any length below 2^36, so every operation is O(1).
//!
//! Among queues of the same length, the one that reached it last is chosen.

use alloc::vec::Vec;

use slab::Slab;

use super::ring::{Active, LENGTH, Ring};

const WORD: usize = 64;
const HEIGHT: usize = 6;

/// The active flows of a group by their numbers of packets.
#[derive(Debug)]
pub(super) struct Lengths {
    of_length: Vec<Ring<LENGTH>>,
    occupied: [Vec<u64>; HEIGHT],
}

impl Lengths {
    pub(super) const fn new() -> Self {
        Self { of_length: Vec::new(), occupied: [const { Vec::new() }; HEIGHT] }
    }

    /// A flow with the longest queue.
    pub(super) fn longest(&self) -> Option<u32> {
        let mut place = 0;
        for level in self.occupied.iter().rev() {
            let word = *level.get(place)?;
            place = place * WORD + word.checked_ilog2()? as usize;
        }
        self.of_length[place].first()
    }

    /// Adds `at` with `packets` queued, which must not be 0.
    pub(super) fn insert(&mut self, flows: &mut Slab<Active>, at: u32, packets: u32) {
        let mut place = packets as usize;
        if place >= self.of_length.len() {
            self.of_length.resize(place + 1, Ring::EMPTY);
        }
        self.of_length[place].push_front(flows, at);
        for level in &mut self.occupied {
            let (word, bit) = (place / WORD, 1 << (place % WORD));
            if word >= level.len() {
                level.resize(word + 1, 0);
            }
            level[word] |= bit;
            place = word;
        }
    }

    /// Removes `at`, which had `packets` queued.
    pub(super) fn remove(&mut self, flows: &mut Slab<Active>, at: u32, packets: u32) {
        let mut place = packets as usize;
        self.of_length[place].remove(flows, at);
        if !self.of_length[place].is_empty() {
            return;
        }
        for level in &mut self.occupied {
            let (word, bit) = (place / WORD, 1u64 << (place % WORD));
            level[word] &= !bit;
            if level[word] != 0 {
                return;
            }
            place = word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_longest_is_that_of_a_scan(
            steps in prop::collection::vec((0u32..12, prop_oneof![0u32..6, 60u32..70, 4000u32..5000]), 1..300),
        ) {
            let mut flows = Slab::new();
            for flow in 0..12 {
                flows.insert(Active::new(FlowId(flow), false));
            }
            let mut lengths = Lengths::new();
            // Length, and when the flow reached it.
            let mut model = BTreeMap::new();
            for (number, (at, packets)) in (0..).zip(steps) {
                if let Some((packets, _)) = model.remove(&at) {
                    lengths.remove(&mut flows, at, packets);
                }
                if packets > 0 {
                    lengths.insert(&mut flows, at, packets);
                    model.insert(at, (packets, number));
                }
                let longest = model.iter().max_by_key(|&(_, key)| key).map(|(&at, _)| at);
                prop_assert_eq!(lengths.longest(), longest);
            }
        }
    }
}
