//! Few flows: a four-ary heap with each flow's position beside it. A key moves in O(log n) without a search, and the four
//! children to choose from are one cache line.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use super::key::{Entry, Number};
use crate::prefetch::prefetch;

pub(super) const ARITY: usize = 4;
pub(super) const ABSENT: u32 = u32::MAX;

/// A min-heap, for one kind of key. It takes 4 bytes for every id up to the largest ever inserted, and 16 for each entry.
#[derive(Debug, Clone)]
pub(super) struct Few {
    // The root is at place 3, and the children of place `i` are exactly family `i - 2`: 4 to 7, 8 to 11 and so on.
    pub(super) families: Vec<Family>,
    pub(super) len: usize,
    pub(super) position: Vec<u32>,
}

pub(super) const ROOT: usize = 3;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Family(pub(super) [Item; ARITY]);

/// A key and an id in one number with the same order: one wide comparison needs no branch between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item(u128);

/// Fills the unused places of the last family; larger than every item.
pub(super) const VACANT: Item = Item(u128::MAX);

impl Item {
    #[inline]
    pub(super) fn new<T: Number>(entry: Entry<T>) -> Self {
        let number: u128 = entry.key.into();
        debug_assert!(number < 1 << 96);
        Self(number << 32 | u128::from(entry.id))
    }

    #[inline]
    pub(super) fn entry<T: Number>(self) -> Entry<T> {
        Entry { key: T::from_wide(self.0 >> 32), id: self.0 as u32 }
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0 as u32) as usize
    }
}

impl Few {
    pub(super) const fn new() -> Self {
        Self { families: Vec::new(), len: 0, position: Vec::new() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn first<T: Number>(&self) -> Option<Entry<T>> {
        // Tests `len`: comparing the item with a vacant one would load it whole, and stall on the stores of its halves.
        let family = self.families.first().filter(|_| self.len > 0)?;
        Some(family.0[ROOT].entry())
    }

    #[inline]
    pub(super) fn key<T: Number>(&self, id: u32) -> Option<T> {
        Some(self.item(self.position_of(id)?).entry().key)
    }

    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.position_of(id).is_some()
    }

    /// Returns whether the id is new.
    #[inline(always)]
    pub(super) fn set<T: Number>(&mut self, entry: Entry<T>) -> bool {
        let item = Item::new(entry);
        let Some(at) = self.position_of(entry.id) else {
            self.join(item);
            return true;
        };
        self.shift(at, item);
        false
    }

    // Not inlined, like `join`: each alone keeps its working values in registers.
    #[inline(never)]
    fn shift(&mut self, at: usize, item: Item) {
        // The first flow can only move down.
        if at > ROOT && item < self.item(at) {
            self.rise(at, item);
        } else {
            self.sift_down(at, item);
        }
    }

    #[inline(never)]
    pub(super) fn join(&mut self, item: Item) {
        if item.index() >= self.position.len() {
            self.position.resize(item.index() + 1, ABSENT);
        }
        let at = ROOT + self.len;
        if at / ARITY >= self.families.len() {
            self.families.push(Family([VACANT; ARITY]));
        }
        self.len += 1;
        self.sift_up(at, item);
    }

    /// Rare, since keys mostly grow.
    #[cold]
    #[inline(never)]
    fn rise(&mut self, at: usize, item: Item) {
        self.sift_up(at, item);
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, id: u32) {
        let Some(at) = self.position_of(id) else { return };
        self.position[id as usize] = ABSENT;
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

    /// All entries, in no particular order.
    #[inline]
    pub(super) fn iter<T: Number>(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        let items = self.families[..self.used()].iter().flat_map(|family| family.0);
        items.filter(|&item| item != VACANT).map(Item::entry)
    }

    /// Subtracts `by` from all keys, none of which may be less. O(n).
    pub(super) fn lower(&mut self, by: u64) {
        for item in self.families.iter_mut().flat_map(|family| &mut family.0) {
            if *item != VACANT {
                let Entry { key, id } = item.entry::<u64>();
                debug_assert!(key >= by);
                *item = Item::new(Entry { key: key.saturating_sub(by), id });
            }
        }
    }

    /// Prefetches the id's position.
    #[inline]
    pub(super) fn prefetch(&self, id: u32) {
        prefetch(&self.position, id as usize);
    }

    #[inline]
    pub(super) fn position_of(&self, id: u32) -> Option<usize> {
        match self.position.get(id as usize) {
            None | Some(&ABSENT) => None,
            Some(&at) => Some(at as usize),
        }
    }

    /// The number of families that are not entirely vacant; vacant ones are kept for later flows.
    #[inline]
    fn used(&self) -> usize {
        (ROOT + self.len).div_ceil(ARITY).min(self.families.len())
    }

    #[inline]
    pub(super) fn item(&self, at: usize) -> Item {
        self.families[at / ARITY].0[at % ARITY]
    }

    #[inline]
    pub(super) fn place(&mut self, at: usize, item: Item) {
        self.families[at / ARITY].0[at % ARITY] = item;
        self.position[item.index()] = at as u32;
    }

    #[inline(always)]
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

    #[inline(always)]
    fn sift_down(&mut self, mut at: usize, item: Item) {
        // Vacant families are skipped: after there were many flows, most ways down would end in one.
        let used = self.used();
        while let Some(&Family([a, b, c, d])) = self.families[..used].get(at + 1 - ROOT) {
            // Which child is least is unpredictable: two rounds of selection, no branch to mispredict.
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

#[inline]
pub(super) fn parent(at: usize) -> usize {
    at / ARITY + ROOT - 1
}

#[inline(always)]
fn lesser(a: (Item, usize), b: (Item, usize)) -> (Item, usize) {
    select_unpredictable(b.0 < a.0, b, a)
}
