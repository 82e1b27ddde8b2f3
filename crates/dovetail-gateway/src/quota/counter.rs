//! What one user, or one class, has used of a quota in its period.
//!
//! The store adds up what processes tell it, since for a while there are two when one takes over. So a counter has what the
//! store said last, and what it was not told yet or did not confirm.

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

    /// A new period begins.
    pub(super) fn reset(&self) {
        self.stored.take();
        self.sent.take();
        self.pending.take();
    }

    /// What the store is to be told now, if there is anything.
    pub(super) fn send(&self) -> Option<u64> {
        let bytes = self.pending.take();
        self.sent.set(bytes);
        (bytes > 0).then_some(bytes)
    }

    /// The store has what was sent; what it has in all.
    pub(super) fn confirmed(&self, stored: u64) {
        self.sent.take();
        self.stored.set(stored);
    }

    /// The store does not have what was sent.
    pub(super) fn failed(&self) {
        self.add(self.sent.take());
    }
}
