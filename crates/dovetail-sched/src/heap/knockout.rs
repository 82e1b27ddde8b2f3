//! From some hundred flows to some thousand: a knockout with four players a match, stored in the families of the former heap.
//!
//! How far a flow moves down a heap is unpredictable, and each level waits for the one above. Here the flows are in the places
//! of the first round, and every place before it has the least of the family behind it. A key that changes has the matches on
//! its way to the root replayed. That way is known before the first match is over, the others of each family are compared
//! before their opponent is known, and the length of the way does not depend on keys: there is almost nothing to mispredict,
//! and no flow moves.
//!
//! Flows that come and go change little of a heap, and all of a knockout, so few flows, which often do, are better kept in a
//! heap.

use alloc::vec::Vec;
use core::{hint::select_unpredictable, ops::Range};

use super::{
    few::{ABSENT, ARITY, Family, Few, Item, ROOT, VACANT, parent},
    key::{Entry, Number},
};

/// With fewer entries than this it becomes a heap again.
pub(super) const MIN_LEN: usize = 128;

/// The first places of rounds, counted from the last match.
const FOURTH: usize = behind(behind(behind(behind(ROOT))));
const FIFTH: usize = behind(FOURTH);

/// A knockout, for one kind of key. It takes 4 bytes for every id up to the largest ever inserted, and at most 86 for each of
/// the largest number of entries at once.
#[derive(Debug, Clone)]
pub(super) struct Knockout {
    // The families, in another order than while there are few.
    few: Few,
    // The places of the first round, and which of them are free.
    players: Range<usize>,
    free: Vec<u32>,
}

impl Knockout {
    pub(super) const fn new() -> Self {
        Self { few: Few::new(), players: 0..0, free: Vec::new() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.few.len()
    }

    #[inline]
    pub(super) fn first<T: Number>(&self) -> Option<Entry<T>> {
        self.few.first()
    }

    #[inline]
    pub(super) fn key<T: Number>(&self, id: u32) -> Option<T> {
        self.few.key(id)
    }

    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.few.contains(id)
    }

    /// Takes all flows of a heap, which is empty then.
    pub(super) fn take(&mut self, heap: &mut Few) {
        core::mem::swap(&mut self.few, heap);
        self.grow(ROOT);
    }

    /// Moves all entries back to a heap; there must be fewer than [`MIN_LEN`].
    pub(super) fn give(&mut self, heap: &mut Few) {
        let mut left = [VACANT; MIN_LEN];
        let items = self.families().iter().flat_map(|family| family.0).filter(|&item| item != VACANT);
        left.iter_mut().zip(items).for_each(|(left, item)| *left = item);
        self.few.families.fill(Family([VACANT; ARITY]));
        let items = core::mem::take(&mut self.few.len);
        core::mem::swap(&mut self.few, heap);
        left[..items].iter().for_each(|&item| heap.join(item));
    }

    #[inline]
    pub(super) fn set<T: Number>(&mut self, entry: Entry<T>) {
        let item = Item::new(entry);
        match self.few.position_of(entry.id) {
            Some(at) => replay(&mut self.few.families, at, item),
            None => self.join(item),
        }
    }

    #[inline(never)]
    fn join(&mut self, item: Item) {
        if item.index() >= self.few.position.len() {
            self.few.position.resize(item.index() + 1, ABSENT);
        }
        if self.free.is_empty() {
            self.grow(self.players.start);
        }
        let Some(at) = self.free.pop() else { return };
        self.few.len += 1;
        self.few.position[item.index()] = at;
        replay(&mut self.few.families, at as usize, item);
    }

    /// Moves all entries, stored contiguously from place `from`, to a round with more places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, from: usize) {
        let len = self.few.len;
        self.players = FOURTH..FIFTH;
        while self.players.len() <= len {
            self.players = behind(self.players.start)..behind(self.players.end);
        }
        let families = self.few.families.len().max(self.players.end / ARITY);
        self.few.families.resize(families, Family([VACANT; ARITY]));
        // From the last on, because old and new places overlap.
        for nth in (0..len).rev() {
            self.few.place(self.players.start + nth, self.few.item(from + nth));
        }
        for at in (ROOT..self.players.start).rev() {
            let Family([a, b, c, d]) = self.few.families[behind(at) / ARITY];
            self.few.families[at / ARITY].0[at % ARITY] = lesser(lesser(a, b), lesser(c, d));
        }
        self.free.clear();
        self.free.extend((self.players.start + len..self.players.end).rev().map(|at| at as u32));
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        let Some(at) = self.few.position_of(id) else { return };
        self.few.position[id as usize] = ABSENT;
        self.few.len -= 1;
        self.free.push(at as u32);
        replay(&mut self.few.families, at, VACANT);
    }

    /// The families of the first round.
    fn families(&self) -> &[Family] {
        &self.few.families[self.players.start / ARITY..self.players.end / ARITY]
    }

    /// All entries, in no particular order.
    pub(super) fn iter<T: Number>(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        let items = self.families().iter().flat_map(|family| family.0);
        items.filter(|&item| item != VACANT).map(Item::entry)
    }

    /// Subtracts `by` from all keys, none of which may be less. O(n).
    pub(super) fn lower(&mut self, by: u64) {
        self.few.lower(by);
    }

    /// Prefetches the id's position.
    #[inline]
    pub(super) fn prefetch(&self, id: u32) {
        self.few.prefetch(id);
    }
}

/// The first place of the family behind this one.
const fn behind(at: usize) -> usize {
    (at + 1 - ROOT) * ARITY
}

/// Puts the item at a player's place and replays its matches. O(log of the places).
#[inline(always)]
fn replay(families: &mut [Family], mut at: usize, mut item: Item) {
    // Unrolled, at most six rounds: in a loop the compiler would branch instead of selecting.
    (at, item) = play(families, at, item);
    // A player that had lost the first match, and loses it again, changes nothing further up.
    if families[at / ARITY].0[at % ARITY] == item {
        return;
    }
    if at >= FIFTH {
        (at, item) = play(families, at, item);
    }
    if at >= FOURTH {
        (at, item) = play(families, at, item);
    }
    (at, item) = play(families, at, item);
    (at, item) = play(families, at, item);
    (_, item) = play(families, at, item);
    families[ROOT / ARITY].0[ROOT % ARITY] = item;
}

/// Plays the match of `item` at this place; returns the winner's next place, and the winner.
#[inline(always)]
fn play(families: &mut [Family], at: usize, item: Item) -> (usize, Item) {
    let Family(family) = &mut families[at / ARITY];
    let place = at % ARITY;
    family[place] = item;
    let others = lesser(lesser(family[place ^ 1], family[place ^ 2]), family[place ^ 3]);
    (parent(at), lesser(item, others))
}

/// The lesser of two; which that is is unpredictable.
#[inline(always)]
fn lesser(a: Item, b: Item) -> Item {
    select_unpredictable(b < a, b, a)
}
