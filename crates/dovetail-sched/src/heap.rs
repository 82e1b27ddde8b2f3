//! A priority queue of flows with keys that change.
//!
//! Timestamp policies keep every backlogged flow in order of a virtual time that moves when the flow is served. This is
//! a four-ary heap over `(key, flow)` with each flow's position beside it: a key moves in O(log n) without a search,
//! and the four children to choose from are one cache line. Ties go to the lower flow id, so that a run is the same on
//! every machine. Other things with dense ids, such as groups of flows, are kept in order the same way.

use alloc::vec::Vec;
use core::{fmt, hint::select_unpredictable, marker::PhantomData};

use crate::{FlowId, prefetch::prefetch};

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// A min-heap of flows, each at most once, by a non-negative finite key.
pub type FlowHeap = IndexedHeap<FlowId, f64>;

/// A min-heap of things with dense ids, each at most once, by a key.
#[derive(Debug, Clone)]
pub struct IndexedHeap<I, K> {
    // The root is in place 3, and the children of place `i` are all of family `i - 2`: 4 to 7, 8 to 11 and so on.
    families: Vec<Family>,
    len: usize,
    position: Vec<u32>,
    order: PhantomData<(I, K)>,
}

/// A dense id: an index into tables.
pub trait DenseId: Copy {
    /// The id of this index.
    fn from_index(index: u32) -> Self;
    /// Its index.
    fn to_index(self) -> u32;
}

impl DenseId for FlowId {
    #[inline]
    fn from_index(index: u32) -> Self {
        Self(index)
    }
    #[inline]
    fn to_index(self) -> u32 {
        self.0
    }
}

/// A key that a number below 2^96 can stand for, in the same order.
pub trait HeapKey: Copy + fmt::Debug {
    /// The number.
    fn to_ordered(self) -> u128;
    /// The key that a number stands for.
    fn from_ordered(number: u128) -> Self;
}

/// Non-negative numbers only.
impl HeapKey for f64 {
    #[inline]
    fn to_ordered(self) -> u128 {
        debug_assert!(self >= 0.0, "a heap's key is a non-negative number, not {self}");
        // Adding 0 turns -0.0 into 0.0, whose bits are in order.
        (self + 0.0).to_bits().into()
    }
    #[inline]
    fn from_ordered(number: u128) -> Self {
        Self::from_bits(number as u64)
    }
}

impl HeapKey for u64 {
    #[inline]
    fn to_ordered(self) -> u128 {
        self.into()
    }
    #[inline]
    fn from_ordered(number: u128) -> Self {
        number as u64
    }
}

const ROOT: usize = 3;

/// With more than this, 128 KiB, the lower levels are no longer in the caches next to the core.
const CACHED_FAMILIES: usize = 2048;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Family([Item; ARITY]);

/// A key and a flow in one number that orders as they do: one wide comparison needs no branch between key and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item(u128);

/// Fills the unused places of the last family: above every flow.
const VACANT: Item = Item(u128::MAX);

impl Item {
    #[inline]
    fn new<I: DenseId, K: HeapKey>(key: K, id: I) -> Self {
        let number = key.to_ordered();
        debug_assert!(number < 1 << 96);
        Self(number << 32 | u128::from(id.to_index()))
    }

    #[inline]
    fn key<K: HeapKey>(self) -> K {
        K::from_ordered(self.0 >> 32)
    }

    #[inline]
    fn id<I: DenseId>(self) -> I {
        I::from_index(self.0 as u32)
    }

    #[inline]
    fn index(self) -> usize {
        (self.0 as u32) as usize
    }
}

impl<I, K> Default for IndexedHeap<I, K> {
    fn default() -> Self {
        Self { families: Vec::new(), len: 0, position: Vec::new(), order: PhantomData }
    }
}

impl<I: DenseId, K: HeapKey> IndexedHeap<I, K> {
    /// An empty heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { families: Vec::new(), len: 0, position: Vec::new(), order: PhantomData }
    }

    /// How many flows are in it.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no flow is in it.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flow with the least key, and the key.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(I, K)> {
        let item = self.families.first()?.0[ROOT];
        (item != VACANT).then(|| (item.id(), item.key()))
    }

    /// The flow's key, if it is in the heap.
    #[inline]
    #[must_use]
    pub fn key(&self, id: I) -> Option<K> {
        Some(self.item(self.position_of(id)?).key())
    }

    /// Whether the flow is in the heap.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: I) -> bool {
        self.position_of(id).is_some()
    }

    /// Puts the flow at `key`, whether it was in the heap or not. O(log n).
    #[inline]
    pub fn set(&mut self, id: I, key: K) {
        let item = Item::new(key, id);
        match self.position_of(id) {
            Some(at) => {
                if item < self.item(at) {
                    self.sift_up(at, item);
                } else {
                    self.sift_down(at, item);
                }
            }
            None => {
                if id.to_index() as usize >= self.position.len() {
                    self.position.resize(id.to_index() as usize + 1, ABSENT);
                }
                let at = ROOT + self.len;
                if at / ARITY >= self.families.len() {
                    self.families.push(Family([VACANT; ARITY]));
                }
                self.len += 1;
                self.sift_up(at, item);
            }
        }
    }

    /// Takes the flow out, if it was in. O(log n).
    #[inline]
    pub fn remove(&mut self, id: I) {
        let Some(at) = self.position_of(id) else { return };
        self.position[id.to_index() as usize] = ABSENT;
        self.len -= 1;
        let end = ROOT + self.len;
        let last = core::mem::replace(&mut self.families[end / ARITY].0[end % ARITY], VACANT);
        if at == end {
            return;
        }
        if at > ROOT && last < self.item(parent(at)) {
            self.sift_up(at, last);
        } else {
            self.sift_down(at, last);
        }
    }

    /// Takes the flow with the least key out. O(log n).
    #[inline]
    pub fn pop(&mut self) -> Option<(I, K)> {
        let (id, key) = self.peek()?;
        self.remove(id);
        Some((id, key))
    }

    /// The flows next to the least: one of them is the least when that is gone.
    #[inline]
    pub fn runners_up(&self) -> impl Iterator<Item = I> + '_ {
        let items = self.families.get(1).into_iter().flat_map(|family| &family.0);
        items.filter(|&&item| item != VACANT).map(|item| item.id())
    }

    /// Asks the processor to load where the flow is.
    #[inline]
    pub(crate) fn prefetch(&self, id: I) {
        prefetch(&self.position, id.to_index() as usize);
    }

    /// Takes all flows out. O(n).
    pub fn clear(&mut self) {
        for family in &mut self.families {
            for item in &mut family.0 {
                if *item != VACANT {
                    self.position[item.index()] = ABSENT;
                    *item = VACANT;
                }
            }
        }
        self.len = 0;
    }

    /// The flows and keys, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (I, K)> + '_ {
        let items = self.families.iter().flat_map(|family| family.0);
        items.filter(|&item| item != VACANT).map(|item| (item.id(), item.key()))
    }

    #[inline]
    fn position_of(&self, id: I) -> Option<usize> {
        match self.position.get(id.to_index() as usize) {
            None | Some(&ABSENT) => None,
            Some(&at) => Some(at as usize),
        }
    }

    #[inline]
    fn item(&self, at: usize) -> Item {
        self.families[at / ARITY].0[at % ARITY]
    }

    #[inline]
    fn place(&mut self, at: usize, item: Item) {
        self.families[at / ARITY].0[at % ARITY] = item;
        self.position[item.index()] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize, item: Item) {
        while at > ROOT {
            let above = self.item(parent(at));
            if above <= item {
                break;
            }
            self.place(at, above);
            at = parent(at);
        }
        self.place(at, item);
    }

    #[inline]
    fn sift_down(&mut self, at: usize, item: Item) {
        if self.families.len() > CACHED_FAMILIES {
            self.sift_down_as::<true>(at, item);
        } else {
            self.sift_down_as::<false>(at, item);
        }
    }

    fn sift_down_as<const OUT_OF_CACHE: bool>(&mut self, mut at: usize, item: Item) {
        while let Some(&Family([a, b, c, d])) = self.families.get(at + 1 - ROOT) {
            if OUT_OF_CACHE {
                // The families of the four lie side by side: asked for before it is known which is needed.
                let first = (at + 1 - ROOT) * ARITY + 1 - ROOT;
                (first..first + ARITY).for_each(|family| prefetch(&self.families, family));
            }
            // Which child is least is anyone's guess: two rounds of selection, no branch to mispredict.
            let (least, child) = lesser(lesser((a, 0), (b, 1)), lesser((c, 2), (d, 3)));
            if item <= least {
                break;
            }
            self.place(at, least);
            at = (at + 1 - ROOT) * ARITY + child;
        }
        self.place(at, item);
    }
}

impl<I: DenseId> IndexedHeap<I, u64> {
    /// Lowers all keys by the same, which none is below. O(n).
    pub fn lower(&mut self, by: u64) {
        for item in self.families.iter_mut().flat_map(|family| &mut family.0) {
            if *item != VACANT {
                debug_assert!(item.key::<u64>() >= by);
                *item = Item::new(item.key::<u64>().saturating_sub(by), item.id::<I>());
            }
        }
    }
}

#[inline]
fn parent(at: usize) -> usize {
    at / ARITY + ROOT - 1
}

#[inline(always)]
fn lesser(a: (Item, usize), b: (Item, usize)) -> (Item, usize) {
    select_unpredictable(b.0 < a.0, b, a)
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
                let mut rest = model.iter().map(|(&flow, &key)| (key, flow)).collect::<std::vec::Vec<_>>();
                rest.sort_unstable();
                if let Some(&(_, second)) = rest.get(1) {
                    prop_assert!(heap.runners_up().any(|flow| flow == FlowId(second)));
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

    #[test]
    fn a_cleared_heap_is_as_good_as_new() {
        let mut heap = FlowHeap::new();
        for round in 1..4 {
            for flow in 0..50 {
                heap.set(FlowId(flow), f64::from(flow * 7 % 50 * round));
            }
            assert_eq!(heap.iter().count(), 50);
            heap.clear();
            assert!(heap.is_empty() && heap.peek().is_none() && heap.iter().next().is_none());
            assert!((0..50).all(|flow| !heap.contains(FlowId(flow))));
        }
    }
}
