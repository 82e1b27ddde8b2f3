//! The next entries, in order.

use super::key::{Entry, Number};

/// The capacity.
pub(super) const CAPACITY: usize = 32;

/// A sorted row of few entries. Mostly the first one leaves, and new ones join at the end.
#[derive(Debug, Clone)]
pub(super) struct Near<T> {
    ring: [Entry<T>; CAPACITY],
    front: usize,
    len: usize,
}

impl<T: Number> Near<T> {
    pub(super) const EMPTY: Self = Self { ring: [Entry::VACANT; CAPACITY], front: 0, len: 0 };

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Entry<T>> {
        (at < self.len).then(|| self.ring[(self.front + at) % CAPACITY])
    }

    #[inline]
    pub(super) fn last(&self) -> Option<Entry<T>> {
        self.get(self.len.wrapping_sub(1))
    }

    pub(super) fn key(&self, id: u32) -> Option<T> {
        self.iter().find(|entry| entry.id == id).map(|entry| entry.key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        (0..self.len).filter_map(|at| self.get(at))
    }

    /// Adds an entry that is no less than the last. The row must not be full.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<T>) {
        debug_assert!(self.len < CAPACITY && self.last().is_none_or(|last| last < entry));
        self.ring[(self.front + self.len) % CAPACITY] = entry;
        self.len += 1;
    }

    /// Inserts the entry at its place. The row must not be full. O(entries behind it).
    pub(super) fn insert(&mut self, entry: Entry<T>) {
        debug_assert!(self.len < CAPACITY);
        let mut at = self.len;
        self.len += 1;
        while at > 0 {
            let before = self.ring[(self.front + at - 1) % CAPACITY];
            if before < entry {
                break;
            }
            self.ring[(self.front + at) % CAPACITY] = before;
            at -= 1;
        }
        self.ring[(self.front + at) % CAPACITY] = entry;
    }

    /// Removes the last entry.
    pub(super) fn pop_last(&mut self) -> Option<Entry<T>> {
        let last = self.last()?;
        self.len -= 1;
        Some(last)
    }

    /// Removes the entry with this id, if present. O(1) for the first.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        if self.len > 0 && self.ring[self.front].id == id {
            self.front = (self.front + 1) % CAPACITY;
            self.len -= 1;
        } else {
            self.remove_within(id);
        }
    }

    #[inline(never)]
    fn remove_within(&mut self, id: u32) {
        let Some(found) = self.iter().position(|entry| entry.id == id) else { return };
        for at in found + 1..self.len {
            self.ring[(self.front + at - 1) % CAPACITY] = self.ring[(self.front + at) % CAPACITY];
        }
        self.len -= 1;
    }

    /// Changes all keys; `change` must keep their order.
    pub(super) fn for_each_key(&mut self, mut change: impl FnMut(&mut T)) {
        for at in 0..self.len {
            change(&mut self.ring[(self.front + at) % CAPACITY].key);
        }
    }
}
