//! A tournament with eight players a match (Knuth, *The art of computer programming* 3, section 5.4.1).
//!
//! Every id has its key at its own place, eight neighbours are a family, the least of a family goes on to the next round, and
//! the last round has the least of all. When a key changes, the matches on its way are replayed, no others. Nothing ever moves,
//! so the whole way is known, and loaded, before the first match is over; of a million players all but two or three lines of it
//! are in the caches. A heap, in contrast, has to record the place of every flow that it moves.
//!
//! The successor of the least is not known until the least's family has been compared, and of a million players that is one of
//! the lines that are in no cache. So the least is *called* before it is taken: its line is prefetched, and its family sits out
//! of all rounds. The best of the others comes after it in most cases, and its line is prefetched as well, two turns early.
//! When the called one is taken, the least that its family has left joins the rounds again: mostly one match.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use super::key::{Entry, Number};
use crate::prefetch::prefetch;

/// Eight keys are one cache line.
const ARITY: usize = 8;

/// Up to this many families fit in the core's own cache, where nothing has to be known early: half a megabyte, 65,536 ids.
const MAX_IN_CACHE: usize = 8192;

/// Keys by id. It takes 10 bytes for every id up to the largest ever inserted, or 19 if a key has over 64 bits.
#[derive(Debug, Clone)]
pub(super) struct Tournament<T> {
    // The keys of all ids, in order.
    players: Vec<Family<T>>,
    // In each round, the winners of the families of the round before; the last has one family.
    rounds: Vec<Round<T>>,
    // The least in the rounds.
    first: Entry<T>,
    // The least of all at the time of the call, if one is called; of its family, only ids set since are in the rounds.
    called: Entry<T>,
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
        Self { players: Vec::new(), rounds: Vec::new(), first: Entry::VACANT, called: Entry::VACANT }
    }
}

impl<T: Number> Tournament<T> {
    /// The id's key or mark; [`Number::NONE`] if nothing was ever set.
    #[inline]
    pub(super) fn get(&self, id: u32) -> T {
        self.players.get(id as usize / ARITY).map_or(T::NONE, |Family(keys)| keys[id as usize % ARITY])
    }

    /// All keys and marks by id. O(largest id).
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        let keys = self.players.iter().flat_map(|family| family.0);
        (0..).zip(keys).map(|(id, key)| Entry { key, id })
    }

    /// Replaces one mark by another. No match changes.
    #[inline]
    pub(super) fn mark(&mut self, id: u32, mark: T) {
        debug_assert!(mark >= T::NEAR && self.get(id) >= T::NEAR);
        *self.player(id) = mark;
    }

    /// Takes the least of all, and replaces its key by the mark.
    #[inline]
    pub(super) fn take_first(&mut self, mark: T) -> Option<Entry<T>> {
        debug_assert!(mark >= T::NEAR);
        if self.players.len() > MAX_IN_CACHE {
            return self.take_called(mark);
        }
        let first = self.first;
        if first.key >= T::NEAR {
            return None;
        }
        self.fall(Entry { key: mark, id: first.id });
        self.prefetch(self.first.id);
        Some(first)
    }

    /// Same as [`take_first`](Self::take_first), by calls.
    #[inline]
    fn take_called(&mut self, mark: T) -> Option<Entry<T>> {
        // An id set since may be less, and the called one may have another key by now.
        if self.called >= self.first || self.get(self.called.id) != self.called.key {
            self.recall();
            self.call();
        }
        let least = self.called;
        if least.key >= T::NEAR {
            return None;
        }
        *self.player(least.id) = mark;
        self.recall();
        self.call();
        Some(least)
    }

    /// Returns the called one's family to the rounds.
    #[inline]
    fn recall(&mut self) {
        let called = core::mem::replace(&mut self.called, Entry::VACANT);
        let at = called.id as usize / ARITY;
        if let Some(Family(keys)) = self.players.get(at) {
            let mut least = least(keys, &SLOTS);
            least.id += (at * ARITY) as u32;
            if least.key < T::NEAR {
                self.rise(least);
            }
        }
    }

    /// Calls the first; none may be called. Its family leaves the rounds.
    #[inline]
    fn call(&mut self) {
        let called = self.first;
        if called.key >= T::NEAR {
            return;
        }
        self.called = called;
        self.prefetch(called.id);
        self.first = self.replay(called.id, Entry::VACANT, Entry::VACANT).unwrap_or(Entry::VACANT);
        self.prefetch(self.first.id);
    }

    /// Lowers the id's key. O(log of the largest id), and one match if it wins none.
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

    /// Replaces the id's key by one that is no less, or by a mark. O(log of the largest id), and one match if it had won none.
    #[inline]
    pub(super) fn fall(&mut self, entry: Entry<T>) {
        let (at, winner) = (entry.id as usize, entry);
        // Others of a family that sits out may be less than the winner of a match above it.
        if at / ARITY == self.called.id as usize / ARITY {
            self.recall();
        }
        let Family(keys) = &mut self.players[at / ARITY];
        // The least of the others does not depend on the match before, so that the matches of all rounds overlap.
        keys[at % ARITY] = T::NONE;
        let mut others = least(keys, &SLOTS);
        others.id += (at / ARITY * ARITY) as u32;
        keys[at % ARITY] = entry.key;
        if let Some(first) = self.replay(entry.id, winner, others) {
            self.first = first;
        }
    }

    /// Wherever the id has won, puts the lesser of `winner` and the others of its family in its place. Returns the new first,
    /// or nothing if the id had not won all matches.
    #[inline(always)]
    fn replay(&mut self, id: u32, mut winner: Entry<T>, mut others: Entry<T>) -> Option<Entry<T>> {
        let mut at = id as usize / ARITY;
        for round in &mut self.rounds {
            let (Family(keys), Ids(ids)) = (&mut round.keys[at / ARITY], &mut round.ids[at / ARITY]);
            let slot = at % ARITY;
            if ids[slot] != id {
                return None;
            }
            winner = lesser(winner, others);
            keys[slot] = T::NONE;
            others = least(keys, ids);
            keys[slot] = winner.key;
            ids[slot] = winner.id;
            at /= ARITY;
        }
        (self.first.id == id).then(|| lesser(winner, others))
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
                // The only family so far.
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

    /// Changes all keys; `change` must keep their order. O(largest id).
    pub(super) fn for_each_key(&mut self, mut change: impl FnMut(&mut T)) {
        let rounds = self.rounds.iter_mut().flat_map(|round| &mut round.keys);
        let keys = self.players.iter_mut().chain(rounds).flat_map(|family| &mut family.0);
        keys.chain([&mut self.first.key]).filter(|key| **key < T::NEAR).for_each(&mut change);
    }

    /// Prefetches what a change of the id's key reads and writes.
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

/// The least key and its id. Which that is is unpredictable: three rounds of selection, no branch to mispredict. Ids are in
/// order, so of equal keys the first has the lowest.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Debug, Clone)]
    enum Op {
        Set(u32, u64),
        Remove(u32),
        Take,
    }

    fn ops(ids: u32) -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            3 => (0..ids, 0u64..40).prop_map(|(id, key)| Op::Set(id, key)),
            1 => (0..ids).prop_map(Op::Remove),
            3 => Just(Op::Take),
        ];
        prop::collection::vec(op, 1..600)
    }

    proptest! {
        /// Whether or not the least is called a turn before, and whatever happens to it and its family in between.
        #[test]
        fn takes_the_least(ops in prop_oneof![ops(20), ops(200), ops(3000)], calls: bool) {
            let mut tournament = Tournament::<u64>::default();
            let mut sorted = BTreeSet::new();
            for op in ops {
                match op {
                    Op::Set(id, key) => {
                        let before = tournament.get(id);
                        sorted.remove(&(before, id));
                        sorted.insert((key, id));
                        if before < u64::NEAR && key >= before {
                            tournament.fall(Entry { key, id });
                        } else {
                            tournament.rise(Entry { key, id });
                        }
                    }
                    Op::Remove(id) => {
                        let before = tournament.get(id);
                        if sorted.remove(&(before, id)) {
                            tournament.fall(Entry { key: u64::NONE, id });
                        }
                    }
                    Op::Take => {
                        let taken =
                            if calls { tournament.take_called(u64::NEAR) } else { tournament.take_first(u64::NEAR) };
                        prop_assert_eq!(taken.map(|entry| (entry.key, entry.id)), sorted.pop_first());
                        if let Some(Entry { id, .. }) = taken {
                            prop_assert_eq!(tournament.get(id), u64::NEAR);
                            tournament.mark(id, u64::NONE);
                        }
                    }
                }
            }
        }
    }
}
