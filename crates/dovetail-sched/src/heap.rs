//! A priority queue of flows with keys that change.
//!
//! Timestamp policies keep every backlogged flow in order of a virtual time that moves when the flow is served. This is
//! a four-ary heap over `(key, flow)` with each flow's position beside it: a key moves in O(log n) without a search,
//! and four children share a cache line where two would touch two. Ties go to the lower flow id, so that a run is the
//! same on every machine.

use alloc::vec::Vec;

use crate::FlowId;

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// A min-heap of flows, each at most once, by a non-negative finite key.
#[derive(Debug, Default, Clone)]
pub struct FlowHeap {
    items: Vec<Item>,
    position: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    // The bits of a non-negative float order as the float does, and compare as an integer.
    key_bits: u64,
    flow: u32,
}

impl FlowHeap {
    /// An empty heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { items: Vec::new(), position: Vec::new() }
    }

    /// How many flows are in it.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no flow is in it.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The flow with the least key, and the key.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(FlowId, f64)> {
        self.items.first().map(|item| (FlowId(item.flow), f64::from_bits(item.key_bits)))
    }

    /// The flow's key, if it is in the heap.
    #[inline]
    #[must_use]
    pub fn key(&self, flow: FlowId) -> Option<f64> {
        let at = self.position_of(flow)?;
        Some(f64::from_bits(self.items[at].key_bits))
    }

    /// Whether the flow is in the heap.
    #[inline]
    #[must_use]
    pub fn contains(&self, flow: FlowId) -> bool {
        self.position_of(flow).is_some()
    }

    /// Puts the flow at `key` (at least 0, not NaN), whether it was in the heap or not. O(log n).
    #[inline]
    pub fn set(&mut self, flow: FlowId, key: f64) {
        debug_assert!(key >= 0.0, "a heap's key is a non-negative number, not {key}");
        // Adding 0 turns -0.0 into 0.0, whose bits are in order.
        let item = Item { key_bits: (key + 0.0).to_bits(), flow: flow.0 };
        match self.position_of(flow) {
            Some(at) => {
                let old = self.items[at];
                if item < old { self.sift_up(at, item) } else { self.sift_down(at, item) }
            }
            None => {
                if flow.index() >= self.position.len() {
                    self.position.resize(flow.index() + 1, ABSENT);
                }
                self.items.push(item);
                self.sift_up(self.items.len() - 1, item);
            }
        }
    }

    /// Takes the flow out, if it was in. O(log n).
    #[inline]
    pub fn remove(&mut self, flow: FlowId) {
        let Some(at) = self.position_of(flow) else { return };
        self.position[flow.index()] = ABSENT;
        let last = self.items.pop().expect("the heap has the flow at `at`");
        if at < self.items.len() {
            if at > 0 && last < self.items[(at - 1) / ARITY] {
                self.sift_up(at, last)
            } else {
                self.sift_down(at, last)
            }
        }
    }

    /// Takes the flow with the least key out. O(log n).
    #[inline]
    pub fn pop(&mut self) -> Option<(FlowId, f64)> {
        let (flow, key) = self.peek()?;
        self.remove(flow);
        Some((flow, key))
    }

    /// The flows and keys, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, f64)> + '_ {
        self.items.iter().map(|item| (FlowId(item.flow), f64::from_bits(item.key_bits)))
    }

    #[inline]
    fn position_of(&self, flow: FlowId) -> Option<usize> {
        match self.position.get(flow.index()) {
            None | Some(&ABSENT) => None,
            Some(&at) => Some(at as usize),
        }
    }

    #[inline]
    fn place(&mut self, at: usize, item: Item) {
        self.items[at] = item;
        self.position[item.flow as usize] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize, item: Item) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            let above = self.items[parent];
            if above <= item {
                break;
            }
            self.place(at, above);
            at = parent;
        }
        self.place(at, item);
    }

    fn sift_down(&mut self, mut at: usize, item: Item) {
        loop {
            let first = at * ARITY + 1;
            let end = (first + ARITY).min(self.items.len());
            let Some(children) = self.items.get(first..end) else { break };
            let mut least = item;
            let mut to = at;
            for (offset, &child) in children.iter().enumerate() {
                if child < least {
                    least = child;
                    to = first + offset;
                }
            }
            if to == at {
                break;
            }
            self.place(at, least);
            at = to;
        }
        self.place(at, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(ops in prop::collection::vec((0u32..40, prop::option::of(0u32..1000)), 1..300)) {
            let mut heap = FlowHeap::new();
            let mut model = BTreeMap::new();
            for (flow, key) in ops {
                match key {
                    Some(key) => {
                        heap.set(FlowId(flow), f64::from(key));
                        model.insert(flow, key);
                    }
                    None => {
                        heap.remove(FlowId(flow));
                        model.remove(&flow);
                    }
                }
                let least = model.iter().map(|(&flow, &key)| (key, flow)).min();
                prop_assert_eq!(heap.peek(), least.map(|(key, flow)| (FlowId(flow), f64::from(key))));
                prop_assert_eq!(heap.len(), model.len());
            }
            let mut drained = std::vec::Vec::new();
            while let Some((flow, key)) = heap.pop() {
                drained.push((key as u32, flow.0));
            }
            let mut expected: std::vec::Vec<_> = model.iter().map(|(&flow, &key)| (key, flow)).collect();
            expected.sort_unstable();
            prop_assert_eq!(drained, expected);
        }
    }
}
