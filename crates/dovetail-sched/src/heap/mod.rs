//! A priority queue of flows with keys that change.
//!
//! Timestamp policies keep every backlogged flow in order of a virtual time that moves when the flow is served. Ties go to the
//! lower flow id, so that a run is the same on every machine. Other things with dense ids, such as groups of flows, are ordered
//! the same way.
//!
//! | module | contents |
//! |---|---|
//! | [`few`] | up to some hundred flows: a four-ary heap, which stays in the caches next to the core |
//! | [`knockout`] | up to some thousand: the same families, in which a flow's way to the root is fixed |
//! | [`many`] | more: a [`tournament`] of all, which moves nothing, behind a [`near`] row of the next flows |
//! | [`more`] | chooses between these two |
//! | [`key`] | keys and ids |
//!
//! The three forms differ in speed only.

mod few;
mod key;
mod knockout;
mod many;
mod more;
mod near;
mod tournament;

use alloc::boxed::Box;
use core::marker::PhantomData;

pub use key::{DenseId, HeapKey, Number};

use crate::FlowId;
pub(crate) use many::AHEAD;

use few::Few;
use key::Entry;
use more::More;

/// A min-heap of flows, each at most once, by a non-negative finite key.
pub type FlowHeap = IndexedHeap<FlowId, f64>;

/// Above this size, 8 KiB, a knockout is faster. The heap is used again at a quarter of it, so that the changes in between pay
/// for the switch.
const FEW_MAX: usize = 4 * knockout::MIN_LEN;

/// A min-heap of things with dense ids, each at most once, by a key.
#[derive(Debug, Clone)]
pub struct IndexedHeap<I, K: HeapKey> {
    few: Few,
    // In use while there are many entries.
    more: Option<Box<More<K::Number>>>,
    // The same, empty, kept after there were many: growing again does not allocate.
    spare: Option<Box<More<K::Number>>>,
    order: PhantomData<(I, K)>,
}

impl<I, K: HeapKey> Default for IndexedHeap<I, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, K: HeapKey> IndexedHeap<I, K> {
    /// An empty heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { few: Few::new(), more: None, spare: None, order: PhantomData }
    }

    /// The number of flows in the heap.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.more {
            None => self.few.len(),
            Some(more) => more.len(),
        }
    }

    /// Whether the heap is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<I: DenseId, K: HeapKey> IndexedHeap<I, K> {
    #[inline(always)]
    fn entry((id, key): (I, K)) -> Entry<K::Number> {
        Entry::new(key.to_number(), id.to_index())
    }

    #[inline(always)]
    fn of_entry(entry: Entry<K::Number>) -> (I, K) {
        (I::from_index(entry.id), K::from_number(entry.key))
    }

    /// The flow with the least key, and the key.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(I, K)> {
        let first = match &self.more {
            None => self.few.first(),
            Some(more) => more.first(),
        };
        first.map(Self::of_entry)
    }

    /// The flow's key, if it is in the heap.
    #[inline]
    #[must_use]
    pub fn key(&self, id: I) -> Option<K> {
        let id = id.to_index();
        let key = match &self.more {
            None => self.few.key(id),
            Some(more) => more.key(id),
        };
        key.map(K::from_number)
    }

    /// Whether the flow is in the heap.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: I) -> bool {
        let id = id.to_index();
        match &self.more {
            None => self.few.contains(id),
            Some(more) => more.contains(id),
        }
    }

    /// Sets the flow's key, adding the flow if it is not in the heap. O(log n) amortised.
    #[inline]
    pub fn set(&mut self, id: I, key: K) {
        let entry = Self::entry((id, key));
        match &mut self.more {
            Some(more) => more.set(entry),
            None => {
                if self.few.set(entry) && self.few.len() > FEW_MAX {
                    self.become_more();
                }
            }
        }
    }

    /// Removes the flow, if it is in the heap. O(log n) amortised.
    #[inline]
    pub fn remove(&mut self, id: I) {
        let id = id.to_index();
        match &mut self.more {
            Some(more) => {
                if more.remove(id) {
                    self.become_few();
                }
            }
            None => self.few.remove(id),
        }
    }

    /// Removes the flow with the least key and returns both. O(log n) amortised.
    #[inline]
    pub fn pop(&mut self) -> Option<(I, K)> {
        let (id, key) = self.peek()?;
        self.remove(id);
        Some((id, key))
    }

    /// Removes all flows. O(n log n).
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    /// The flows and keys, in no particular order. O(largest id).
    pub fn iter(&self) -> impl Iterator<Item = (I, K)> + '_ {
        let more = self.more.iter().flat_map(|more| more.iter());
        self.few.iter().chain(more).map(Self::of_entry)
    }

    /// The flow `ahead` places after the least, if already known: at least up to [`AHEAD`] if there are many flows, else none.
    #[inline]
    pub(crate) fn upcoming(&self, ahead: usize) -> Option<I> {
        self.more.as_ref()?.upcoming(ahead).map(I::from_index)
    }

    /// Prefetches the flow's entry.
    #[inline]
    pub(crate) fn prefetch(&self, id: I) {
        match &self.more {
            Some(more) => more.prefetch(id.to_index()),
            None => self.few.prefetch(id.to_index()),
        }
    }

    #[cold]
    #[inline(never)]
    fn become_more(&mut self) {
        let mut more = self.spare.take().unwrap_or_default();
        more.take(&mut self.few);
        self.more = Some(more);
    }

    #[cold]
    #[inline(never)]
    fn become_few(&mut self) {
        let Some(mut more) = self.more.take() else { return };
        more.give(&mut self.few);
        self.spare = Some(more);
    }
}

impl<I: DenseId> IndexedHeap<I, u64> {
    /// Subtracts `by` from all keys, none of which may be less. O(largest id).
    pub fn lower(&mut self, by: u64) {
        match &mut self.more {
            Some(more) => more.lower(by),
            None => self.few.lower(by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{
        collections::{BTreeMap, BTreeSet},
        vec::Vec,
    };

    #[derive(Debug, Clone)]
    enum Op {
        Set(u32, u32),
        /// The first flow's key grows by this much.
        Serve(u32),
        Remove(u32),
        /// This many flows are added or removed at once.
        Fill(u32),
        Drain(u32),
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let ids = || prop_oneof![0u32..50, 0u32..6000, Just(70_000)];
        let op = prop_oneof![
            4 => (ids(), 0u32..1000).prop_map(|(id, key)| Op::Set(id, key)),
            8 => (0u32..300).prop_map(Op::Serve),
            2 => ids().prop_map(Op::Remove),
            1 => (0u32..6000).prop_map(Op::Fill),
            1 => (0u32..6000).prop_map(Op::Drain),
        ];
        prop::collection::vec(op, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_a_sorted_set(ops in ops()) {
            let mut heap = FlowHeap::new();
            let (mut keys, mut sorted) = (BTreeMap::new(), BTreeSet::new());
            for op in ops {
                let changes: Vec<(u32, Option<u32>)> = match op {
                    Op::Set(id, key) => [(id, Some(key))].into(),
                    Op::Serve(by) => sorted.first().map(|&(key, id)| (id, Some(key + by))).into_iter().collect(),
                    Op::Remove(id) => [(id, None)].into(),
                    Op::Fill(to) => (0..to).map(|id| (id, Some(id * 7 % 501))).collect(),
                    Op::Drain(from) => (from..6000).map(|id| (id, None)).collect(),
                };
                for (id, key) in changes {
                    if let Some(before) = keys.remove(&id) {
                        sorted.remove(&(before, id));
                    }
                    match key {
                        Some(key) => {
                            heap.set(FlowId(id), f64::from(key));
                            keys.insert(id, key);
                            sorted.insert((key, id));
                        }
                        None => heap.remove(FlowId(id)),
                    }
                    prop_assert_eq!(heap.peek(), sorted.first().map(|&(key, id)| (FlowId(id), f64::from(key))));
                    prop_assert_eq!(heap.key(FlowId(id)), key.map(f64::from));
                    prop_assert_eq!(heap.contains(FlowId(id)), key.is_some());
                    prop_assert_eq!(heap.len(), keys.len());
                }
                let upcoming = (0..).map_while(|ahead| heap.upcoming(ahead));
                prop_assert!(upcoming.zip(&sorted).all(|(flow, &(_, id))| flow == FlowId(id)));
            }
            let mut all: Vec<(u32, u32)> = heap.iter().map(|(flow, key)| (flow.0, key as u32)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, keys.into_iter().collect::<Vec<_>>());
            let drained = core::iter::from_fn(|| heap.pop()).map(|(flow, key)| (key as u32, flow.0));
            prop_assert!(drained.eq(sorted));
        }

        #[test]
        fn lowered_keys_keep_their_order(flows in 1u32..6000, by in 0u64..100) {
            let mut heap = IndexedHeap::<FlowId, u64>::new();
            let key = |flow: u32| 100 + u64::from(flow * 7 % 501);
            (0..flows).for_each(|flow| heap.set(FlowId(flow), key(flow)));
            heap.lower(by);
            let mut sorted: Vec<(u64, u32)> = (0..flows).map(|flow| (key(flow) - by, flow)).collect();
            sorted.sort_unstable();
            prop_assert!(core::iter::from_fn(|| heap.pop()).map(|(flow, key)| (key, flow.0)).eq(sorted));
        }
    }

    #[test]
    fn a_cleared_heap_is_as_good_as_new() {
        let mut heap = FlowHeap::new();
        for (round, flows) in [50, 9000, 50].into_iter().enumerate() {
            for flow in 0..flows {
                heap.set(FlowId(flow), f64::from(flow * 7 % 50 * (round as u32 + 1)));
            }
            assert_eq!(heap.iter().count(), flows as usize);
            heap.clear();
            assert!(heap.is_empty() && heap.peek().is_none() && heap.iter().next().is_none());
            assert!((0..flows).all(|flow| !heap.contains(FlowId(flow))));
        }
    }

    #[test]
    fn the_largest_keys_are_keys() {
        for others in [1, 9000] {
            let mut heap = IndexedHeap::<FlowId, u64>::new();
            heap.set(FlowId(0), u64::MAX);
            (1..=others).for_each(|flow| heap.set(FlowId(flow), 7));
            assert!((1..=others).all(|flow| heap.pop() == Some((FlowId(flow), 7))));
            assert_eq!(heap.pop().map(|(flow, _)| flow), Some(FlowId(0)));
            assert!(heap.is_empty());
        }
    }
}
