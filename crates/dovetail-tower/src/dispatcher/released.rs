//! Waiting for a request's release, by any number of tasks.

use std::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use slab::Slab;

use super::state::Shared;

/// The tasks that wait for a request's release.
#[derive(Debug, Default)]
pub(super) struct Waiters(Slab<Waker>);

impl Waiters {
    /// Removes all tasks, to be woken.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        mem::take(&mut self.0).into_iter().map(|(_, waker)| waker)
    }
}

/// One task's wait for the release of request `id`. It is among the request's waiters until the release, or until it is
/// dropped.
pub(super) struct Released<'a, K> {
    shared: &'a Shared<K>,
    id: usize,
    // Its place among the waiters.
    at: Option<usize>,
}

impl<'a, K> Released<'a, K> {
    pub(super) const fn new(shared: &'a Shared<K>, id: usize) -> Self {
        Self { shared, id, at: None }
    }
}

impl<K> Future for Released<'_, K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Cloned and dropped while the dispatcher is unlocked: a waker may hold the last reference to a task with a ticket.
        let waker = cx.waker().clone();
        let mut state = self.shared.lock();
        let live = &mut state.live[self.id];
        if live.released.is_some() {
            drop(state);
            self.at = None;
            return Poll::Ready(());
        }
        let before = match self.at.and_then(|at| live.waiters.0.get_mut(at)) {
            Some(registered) => Some(mem::replace(registered, waker)),
            None => {
                let at = live.waiters.0.insert(waker);
                drop(state);
                self.at = Some(at);
                return Poll::Pending;
            }
        };
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<K> Drop for Released<'_, K> {
    fn drop(&mut self) {
        let Some(at) = self.at else { return };
        // None are left after the release.
        let waker = self.shared.lock().live[self.id].waiters.0.try_remove(at);
        drop(waker);
    }
}
