//! Many flows: a [`Tournament`] of all but those who come next, who wait in the [`Near`] row.
//!
//! Nothing of what lies in memory, and not in a cache, is there at once when it is asked for. So it has to be known early
//! whose turn comes: the row has the next sixteen flows or more in order, and a flow that joins it, because the first has
//! left, has that long for its state to be fetched. That the tournament is a row behind also means that no packet waits
//! for its last match.

use super::{
    key::{Entry, Number},
    near::{MOST, Near},
    tournament::Tournament,
};

/// So many are known after the first, if there are so many.
pub(crate) const AHEAD: usize = 15;

/// A min-heap for many ids.
#[derive(Debug, Clone)]
pub(super) struct Many<T: Number> {
    // No entry in it is less than one in the row, and if the row is empty so is the tournament.
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

    /// The entry, which is marked, joins the row.
    #[inline]
    fn join(&mut self, entry: Entry<T>) {
        if self.near.len() == MOST
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

    /// In no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.rest.iter().filter(|entry| entry.key < T::NEAR).chain(self.near.iter())
    }

    /// Asks the processor to load where the flow is.
    #[inline]
    pub(super) fn prefetch(&self, id: u32) {
        self.rest.prefetch(id);
    }
}

impl Many<u64> {
    /// Lowers all keys by the same, which none is below. O(largest id).
    pub(super) fn lower(&mut self, by: u64) {
        let lower = |key: &mut u64| {
            debug_assert!(*key >= by);
            *key = key.saturating_sub(by);
        };
        self.near.for_each_key(lower);
        self.rest.for_each_key(lower);
    }
}
