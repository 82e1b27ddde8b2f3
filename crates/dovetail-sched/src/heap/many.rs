//! Many flows: a [`Tournament`] of all but the next ones, which are in the [`Near`] row.
//!
//! Data that is in memory but not in a cache takes time to load, so the next flows have to be known early. The row has the next
//! sixteen flows or more in order, and a flow that joins it, because the first has left, has that long for its state to be
//! fetched. The row also hides the tournament's latency: no packet waits for its last match.

use super::{
    key::{Entry, Number},
    near::{CAPACITY, Near},
    tournament::Tournament,
};

/// The number of flows known after the first, if there are that many.
pub(crate) const AHEAD: usize = 15;

/// A min-heap for many ids.
#[derive(Debug, Clone)]
pub(super) struct Many<T: Number> {
    // No entry of the tournament is less than one in the row, and the tournament is empty if the row is.
    near: Near<T>,
    rest: Tournament<T>,
    len: usize,
}

impl<T: Number> Default for Many<T> {
    fn default() -> Self {
        Self { near: Near::EMPTY, rest: Tournament::default(), len: 0 }
    }
}

impl<T: Number> Many<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Entry<T>> {
        self.near.get(0)
    }

    #[inline]
    pub(super) fn upcoming(&self, ahead: usize) -> Option<u32> {
        self.near.get(ahead).map(|entry| entry.id)
    }

    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.rest.get(id) != T::NONE
    }

    #[inline]
    pub(super) fn key(&self, id: u32) -> Option<T> {
        let key = self.rest.get(id);
        if key < T::NEAR { Some(key) } else { self.near.key(id) }
    }

    #[inline(never)]
    pub(super) fn set(&mut self, entry: Entry<T>) {
        let before = self.rest.get(entry.id);
        if before == T::NEAR {
            self.near.remove(entry.id);
        } else if before == T::NONE {
            self.len += 1;
        }
        let is_near = self.near.last().is_none_or(|last| entry < last);
        match (is_near, before < T::NEAR) {
            (false, true) if entry.key >= before => self.rest.fall(entry),
            (false, _) => self.rest.rise(entry),
            (true, true) => {
                self.rest.fall(Entry { key: T::NEAR, id: entry.id });
                self.join(entry);
            }
            (true, false) => {
                self.rest.mark(entry.id, T::NEAR);
                self.join(entry);
            }
        }
        self.fill();
    }

    #[inline(never)]
    pub(super) fn remove(&mut self, id: u32) {
        let before = self.rest.get(id);
        if before == T::NONE {
            return;
        }
        self.len -= 1;
        if before == T::NEAR {
            self.near.remove(id);
            self.rest.mark(id, T::NONE);
            self.fill();
        } else {
            self.rest.fall(Entry { key: T::NONE, id });
        }
    }

    /// Adds the entry, which is already marked, to the row.
    #[inline]
    fn join(&mut self, entry: Entry<T>) {
        if self.near.len() == CAPACITY
            && let Some(last) = self.near.pop_last()
        {
            self.rest.rise(last);
        }
        self.near.insert(entry);
    }

    /// Fills the row from the tournament.
    #[inline]
    fn fill(&mut self) {
        while self.near.len() <= AHEAD {
            let Some(first) = self.rest.take_first(T::NEAR) else { break };
            self.near.push(first);
        }
    }

    /// All entries, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.rest.iter().filter(|entry| entry.key < T::NEAR).chain(self.near.iter())
    }

    /// Prefetches what a change of the id's key needs.
    #[inline]
    pub(super) fn prefetch(&self, id: u32) {
        self.rest.prefetch(id);
    }
}

impl Many<u64> {
    /// Subtracts `by` from all keys, none of which may be less. O(largest id).
    pub(super) fn lower(&mut self, by: u64) {
        let lower = |key: &mut u64| {
            debug_assert!(*key >= by);
            *key = key.saturating_sub(by);
        };
        self.near.for_each_key(lower);
        self.rest.for_each_key(lower);
    }
}
