//! More than few flows: a [`Knockout`], or [`Many`].

use super::{
    few::Few,
    key::{Entry, Number},
    knockout::{self, Knockout},
    many::Many,
};

/// At this size the knockout is full, and replaying all matches to grow it is not worthwhile.
const MAX_IN_KNOCKOUT: usize = 4096;

/// Below this, [`Many`] becomes a knockout again: a quarter, so that the changes in between pay for the switch.
const MANY_MIN: usize = MAX_IN_KNOCKOUT / 4;

/// A min-heap for more than few ids.
#[derive(Debug, Clone)]
pub(super) struct More<T: Number> {
    are_many: bool,
    // Every entry is in exactly one of the two.
    knockout: Knockout,
    many: Many<T>,
}

impl<T: Number> Default for More<T> {
    fn default() -> Self {
        Self { are_many: false, knockout: Knockout::new(), many: Many::default() }
    }
}

impl<T: Number> More<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.are_many { self.many.len() } else { self.knockout.len() }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Entry<T>> {
        if self.are_many { self.many.first() } else { self.knockout.first() }
    }

    #[inline]
    pub(super) fn upcoming(&self, ahead: usize) -> Option<u32> {
        if self.are_many { self.many.upcoming(ahead) } else { None }
    }

    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        if self.are_many { self.many.contains(id) } else { self.knockout.contains(id) }
    }

    #[inline]
    pub(super) fn key(&self, id: u32) -> Option<T> {
        if self.are_many { self.many.key(id) } else { self.knockout.key(id) }
    }

    #[inline(never)]
    pub(super) fn set(&mut self, entry: Entry<T>) {
        if self.are_many {
            return self.many.set(entry);
        }
        self.knockout.set(entry);
        if self.knockout.len() >= MAX_IN_KNOCKOUT {
            self.become_many();
        }
    }

    /// Returns whether few are left, so that [`give`](Self::give) should follow.
    #[inline(never)]
    pub(super) fn remove(&mut self, id: u32) -> bool {
        if self.are_many {
            self.many.remove(id);
            if self.many.len() < MANY_MIN {
                self.become_knockout();
            }
            return false;
        }
        self.knockout.remove(id);
        self.knockout.len() < knockout::MIN_LEN
    }

    /// Takes all entries of a heap, which is empty then.
    pub(super) fn take(&mut self, few: &mut Few) {
        self.knockout.take(few);
    }

    /// Moves all entries to an empty heap; there must be few.
    pub(super) fn give(&mut self, few: &mut Few) {
        self.knockout.give(few);
    }

    #[cold]
    #[inline(never)]
    fn become_many(&mut self) {
        self.are_many = true;
        while let Some(entry) = self.knockout.first() {
            self.knockout.remove(entry.id);
            self.many.set(entry);
        }
    }

    #[cold]
    #[inline(never)]
    fn become_knockout(&mut self) {
        self.are_many = false;
        while let Some(entry) = self.many.first() {
            self.many.remove(entry.id);
            self.knockout.set(entry);
        }
    }

    /// All entries, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.knockout.iter().chain(self.many.iter())
    }

    /// Prefetches the id's entry.
    #[inline]
    pub(super) fn prefetch(&self, id: u32) {
        if self.are_many { self.many.prefetch(id) } else { self.knockout.prefetch(id) }
    }
}

impl More<u64> {
    /// Subtracts `by` from all keys, none of which may be less. O(largest id).
    pub(super) fn lower(&mut self, by: u64) {
        if self.are_many { self.many.lower(by) } else { self.knockout.lower(by) }
    }
}
