//! Waiting for a request's release, by any number of tasks.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::state::Shared;

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
        // A waker's own code runs while the dispatcher is unlocked.
        let waker = cx.waker().clone();
        let mut state = self.shared.lock();
        let live = &mut state.live[self.id];
        if live.released.is_some() {
            drop(state);
            self.at = None;
            return Poll::Ready(());
        }
        let (at, before) = live.waiters.register(self.at, waker);
        // Dropping a waker may end a task that holds a ticket, so the dispatcher is unlocked first.
        drop(state);
        drop(before);
        self.at = Some(at);
        Poll::Pending
    }
}

impl<K> Drop for Released<'_, K> {
    fn drop(&mut self) {
        let Some(at) = self.at else { return };
        // None are left after the release. The waker is dropped after unlocking.
        let waker = self.shared.lock().live[self.id].waiters.remove(at);
        drop(waker);
    }
}
