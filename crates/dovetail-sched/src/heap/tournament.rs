//! A tournament of eight players a match (Knuth, *The art of computer programming* 3, section 5.4.1).
//!
//! Every id has its key at its own place, eight neighbours are a family, the least of a family goes on to the next round,
//! and the last round has the least of all. A key that changes has the matches on its way replayed, no others. Nothing
//! ever moves, so the whole way is known, and loaded, before the first match is over; of a million players all but two or
//! three lines of it are in the caches. A heap has to write down the place of every flow that it moves.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use super::key::{Entry, Number};
use crate::prefetch::prefetch;

/// Eight keys are one cache line.
const ARITY: usize = 8;

/// Keys by id. It takes 10 bytes for every id up to the largest that was ever in it, or 19 where a key has over 64 bits.
#[derive(Debug, Clone)]
pub(super) struct Tournament<T> {
    // The keys of all ids, in order.
    players: Vec<Family<T>>,
    // In each round, the winners of the families of the round before; the last has one family.
    rounds: Vec<Round<T>>,
    first: Entry<T>,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Family<T>([T; ARITY]);

#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Ids([u32; ARITY]);

#[derive(Debug, Clone)]
struct Round<T> {
    keys: Vec<Family<T>>,
    ids: Vec<Ids>,
}

impl<T: Number> Default for Tournament<T> {
    fn default() -> Self {
        Self { players: Vec::new(), rounds: Vec::new(), first: Entry::VACANT }
    }
}

impl<T: Number> Tournament<T> {
    /// The least of all; its key is no key where none has one.
    #[inline]
    pub(super) fn first(&self) -> Entry<T> {
        self.first
    }

    /// What stands for the id: [`Number::NONE`] if nothing was ever set.
    #[inline]
    pub(super) fn get(&self, id: u32) -> T {
        self.players.get(id as usize / ARITY).map_or(T::NONE, |Family(keys)| keys[id as usize % ARITY])
    }

    /// All keys by id, and what stands in their place. O(largest id).
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        let keys = self.players.iter().flat_map(|family| family.0);
        (0..).zip(keys).map(|(id, key)| Entry { key, id })
    }

    /// Puts what is no key in the place of what is none either. No match changes by that.
    #[inline]
    pub(super) fn mark(&mut self, id: u32, mark: T) {
        debug_assert!(mark >= T::NEAR && self.get(id) >= T::NEAR);
        *self.player(id) = mark;
    }

    /// Gives the id a key that is less than what it had. O(log of the largest id), and one match for who wins none.
    #[inline]
    pub(super) fn rise(&mut self, entry: Entry<T>) {
        *self.player(entry.id) = entry.key;
        let mut at = entry.id as usize;
        for round in &mut self.rounds {
            at /= ARITY;
            let (Family(keys), Ids(ids)) = (&mut round.keys[at / ARITY], &mut round.ids[at / ARITY]);
            let slot = at % ARITY;
            if entry > (Entry { key: keys[slot], id: ids[slot] }) {
                return;
            }
            keys[slot] = entry.key;
            ids[slot] = entry.id;
        }
        self.first = self.first.min(entry);
    }

    /// Gives the id, which has a key, one that is no less than that, or what is none. O(log of the largest id), and one
    /// match for who had won none.
    #[inline]
    pub(super) fn fall(&mut self, entry: Entry<T>) {
        let mut at = entry.id as usize;
        let mut winner = entry;
        let Family(keys) = &mut self.players[at / ARITY];
        // The least of the others does not hang on the match before, so that the matches of all rounds overlap.
        keys[at % ARITY] = T::NONE;
        let mut others = least(keys, &SLOTS);
        others.id += (at / ARITY * ARITY) as u32;
        keys[at % ARITY] = entry.key;
        for round in &mut self.rounds {
            at /= ARITY;
            let (Family(keys), Ids(ids)) = (&mut round.keys[at / ARITY], &mut round.ids[at / ARITY]);
            let slot = at % ARITY;
            if ids[slot] != entry.id {
                return;
            }
            winner = lesser(winner, others);
            keys[slot] = T::NONE;
            others = least(keys, ids);
            keys[slot] = winner.key;
            ids[slot] = winner.id;
        }
        if self.first.id == entry.id {
            self.first = lesser(winner, others);
        }
    }

    #[inline]
    fn player(&mut self, id: u32) -> &mut T {
        let family = id as usize / ARITY;
        if family >= self.players.len() {
            self.grow(family + 1);
        }
        &mut self.players[family].0[id as usize % ARITY]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, families: usize) {
        self.players.resize(families, Family([T::NONE; ARITY]));
        let (mut entries, mut round) = (families, 0);
        while entries > 1 {
            if round == self.rounds.len() {
                // What was the only family until now.
                let mut only = Round { keys: [Family([T::NONE; ARITY])].into(), ids: [Ids([0; ARITY])].into() };
                only.keys[0].0[0] = self.first.key;
                only.ids[0].0[0] = self.first.id;
                self.rounds.push(only);
            }
            entries = entries.div_ceil(ARITY);
            let Round { keys, ids } = &mut self.rounds[round];
            keys.resize(entries, Family([T::NONE; ARITY]));
            ids.resize(entries, Ids([0; ARITY]));
            round += 1;
        }
    }

    /// Changes all keys in a way that keeps their order. O(largest id).
    pub(super) fn for_each_key(&mut self, mut change: impl FnMut(&mut T)) {
        let rounds = self.rounds.iter_mut().flat_map(|round| &mut round.keys);
        let keys = self.players.iter_mut().chain(rounds).flat_map(|family| &mut family.0);
        keys.chain([&mut self.first.key]).filter(|key| **key < T::NEAR).for_each(&mut change);
    }

    /// Asks the processor to load what a change of the id's key reads and writes.
    #[inline]
    pub(super) fn prefetch(&self, id: u32) {
        let at = id as usize / ARITY;
        prefetch(&self.players, at);
        if let Some(Round { keys, ids }) = self.rounds.first() {
            prefetch(keys, at / ARITY);
            prefetch(ids, at / ARITY);
        }
    }
}

const SLOTS: [u32; ARITY] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The least key and whose it is. Which that is is anyone's guess: three rounds of selection, no branch to mispredict.
/// Ids are in order, so of equal keys the first has the lowest.
#[inline(always)]
fn least<T: Number>(keys: &[T; ARITY], ids: &[u32; ARITY]) -> Entry<T> {
    let of = |slot: usize| Entry { key: keys[slot], id: ids[slot] };
    let pair = |a: Entry<T>, b: Entry<T>| select(b.key < a.key, b, a);
    let (low, high) = (pair(pair(of(0), of(1)), pair(of(2), of(3))), pair(pair(of(4), of(5)), pair(of(6), of(7))));
    pair(low, high)
}

#[inline(always)]
fn lesser<T: Number>(a: Entry<T>, b: Entry<T>) -> Entry<T> {
    select((b.key < a.key) | ((b.key == a.key) & (b.id < a.id)), b, a)
}

#[inline(always)]
fn select<T: Number>(first: bool, a: Entry<T>, b: Entry<T>) -> Entry<T> {
    Entry { key: select_unpredictable(first, a.key, b.key), id: select_unpredictable(first, a.id, b.id) }
}
