//! One user's or class's usage of a quota in its period.
//!
//! The store adds up what processes report, since there are two for a while when one takes over. So a counter consists of the
//! sum last reported by the store, and of what it has not been told or has not confirmed yet.

use std::cell::Cell;

/// Bytes used, in three parts.
#[derive(Debug, Default)]
pub(super) struct Counter {
    stored: Cell<u64>,
    sent: Cell<u64>,
    pending: Cell<u64>,
}

impl Counter {
    pub(super) fn stored(bytes: u64) -> Self {
        Self { stored: Cell::new(bytes), ..Self::default() }
    }

    pub(super) fn used(&self) -> u64 {
        self.stored.get().saturating_add(self.sent.get()).saturating_add(self.pending.get())
    }

    pub(super) fn add(&self, bytes: u64) {
        self.pending.set(self.pending.get().saturating_add(bytes));
    }

    /// Resets for a new period.
    pub(super) fn reset(&self) {
        self.stored.take();
        self.sent.take();
        self.pending.take();
    }

    /// Takes what the store has to be told, if anything.
    pub(super) fn send(&self) -> Option<u64> {
        let bytes = self.pending.take();
        self.sent.set(bytes);
        (bytes > 0).then_some(bytes)
    }

    /// The store has confirmed what was sent; `stored` is its sum. What was reset meanwhile is of an earlier period.
    pub(super) fn confirmed(&self, stored: u64) {
        if self.sent.take() > 0 {
            self.stored.set(stored);
        }
    }

    /// Whether the store has some of it, or may have.
    pub(super) fn is_in_store(&self) -> bool {
        self.stored.get() > 0 || self.sent.get() > 0
    }

    /// The store has failed to write what was sent.
    pub(super) fn failed(&self) {
        self.add(self.sent.take());
    }
}
