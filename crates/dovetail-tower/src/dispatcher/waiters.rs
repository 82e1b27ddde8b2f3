//! The tasks that wait for a request's release.

use std::{mem, task::Waker};

use slab::Slab;

/// The tasks that wait for a request's release, each at a place of its own until then.
#[derive(Debug, Default)]
pub(super) struct Waiters(Slab<Waker>);

impl Waiters {
    /// Registers the task at this place, or at a new one. Returns its place, and the waker that was there.
    pub(super) fn register(&mut self, at: Option<usize>, waker: Waker) -> (usize, Option<Waker>) {
        match at {
            Some(at) => (at, Some(mem::replace(&mut self.0[at], waker))),
            None => (self.0.insert(waker), None),
        }
    }

    /// Removes the task at this place, if it is still there.
    pub(super) fn remove(&mut self, at: usize) -> Option<Waker> {
        self.0.try_remove(at)
    }

    /// Removes all tasks, to be woken.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        mem::take(&mut self.0).into_iter().map(|(_, waker)| waker)
    }
}
