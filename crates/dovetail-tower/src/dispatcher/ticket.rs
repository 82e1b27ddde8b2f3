//! A request's place at the dispatcher.

use std::{
    fmt,
    hash::Hash,
    sync::Arc,
    task::{Context, Poll},
};

use dovetail_sched::{
    Nanos,
    request::{RequestId, RequestScheduler},
};

use super::{
    released::Released,
    shadow::Owner,
    spent::{Spending, Spent},
    state::Shared,
};

/// A request's place at the dispatcher. Dropped before its [`end`](Ticket::end), the request is cancelled.
pub struct Ticket<K> {
    shared: Arc<Shared<K>>,
    id: usize,
    is_over: bool,
}

impl<K> fmt::Debug for Ticket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> Ticket<K> {
    /// Sets the response's length in units, as stated by its sender, or as observed once all that is left is waiting.
    pub fn length(&self, units: u64) {
        let (mut state, now) = self.shared.enter();
        state.live[self.id].length = Some(units);
        state.scheduler.length(self.request(), units, now);
        self.shared.pump(state);
    }
}

impl<K> Ticket<K> {
    pub(super) fn new(shared: Arc<Shared<K>>, id: usize) -> Self {
        Self { shared, id, is_over: false }
    }

    fn request(&self) -> RequestId {
        RequestId(self.id as u32)
    }

    /// Reports that the response's connection offers its sender a window of this many units, whatever turns permit.
    pub fn offers(&self, window: u64) {
        let (mut state, now) = self.shared.enter();
        let live = &mut state.live[self.id];
        live.window = live.window.max(window);
        state.scheduler.offers(self.request(), window, now);
        self.shared.pump(state);
    }

    /// Reports the round-trip time of the response's connection.
    pub fn round_trip(&self, takes: Nanos) {
        let (mut state, now) = self.shared.enter();
        state.scheduler.round_trip(self.request(), takes, now);
        self.shared.pump(state);
    }

    /// Reports how long after its next turn the response's first units reach the link, as far as known.
    pub fn distance(&self, takes: Nanos) {
        let (mut state, now) = self.shared.enter();
        state.scheduler.distance(self.request(), takes, now);
        self.shared.pump(state);
    }

    /// Waits until the request is released. Any number of tasks may wait.
    pub async fn released(&self) {
        Released::new(&self.shared, self.id).await;
    }

    /// Whether the request is released; if not, the task is woken when it is. A ticket remembers only the task that polled it
    /// last, with this or [`poll_allowed`](Self::poll_allowed).
    pub fn poll_released(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        let live = &mut state.live[self.id];
        if live.released.is_some() {
            return Poll::Ready(());
        }
        let before = live.wait(cx);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Whether the request is released.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.shared.lock().live[self.id].released.is_some()
    }

    /// Units of the response that may be taken in now; [`u64::MAX`] means all of it.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.shared.lock().live[self.id].allowed
    }

    /// Units that may be in flight beyond those that may be taken in.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.shared.lock().live[self.id].window
    }

    /// Units of the response that may be taken in, and the window. If there are none, tells the scheduler that units wait and
    /// registers the task to be woken at the next turn, instead of any that polled before.
    pub fn poll_allowed(&self, cx: &mut Context<'_>) -> Poll<(u64, u64)> {
        let (mut state, now) = self.shared.enter();
        let live = &mut state.live[self.id];
        if live.allowed > 0 {
            return Poll::Ready((live.allowed, live.window));
        }
        let before = live.wait(cx);
        if !live.ready && live.released.is_some() {
            live.ready = true;
            state.turn(self.id, now);
            state.scheduler.ready(self.request(), now);
            self.shared.pump(state);
        } else {
            drop(state);
        }
        drop(before);
        Poll::Pending
    }

    /// Reports that this many more units of the response were taken in.
    pub fn received(&self, units: u64) {
        if units == 0 {
            return;
        }
        let (mut guard, now) = self.shared.enter();
        let state = &mut *guard;
        let live = &mut state.live[self.id];
        live.received = live.received.saturating_add(units);
        live.moved = Some(now);
        if live.allowed != u64::MAX {
            live.allowed = live.allowed.saturating_sub(units);
        }
        let number = live.user;
        let user = state.users.at_mut(number);
        let of_class = &mut state.classes[user.class.0 as usize].units;
        for sum in [&mut user.units, of_class, &mut state.units] {
            *sum = sum.saturating_add(units);
        }
        let owner = Owner { class: Some(user.class), user: Some(number) };
        state.carries(owner, units, now);
        state.turn(self.id, now);
        state.scheduler.received(self.request(), units, now);
        self.shared.pump(guard);
    }

    /// Reports that this many units of the response have arrived and were not taken in yet.
    pub fn unread(&self, units: u64) {
        let (mut state, now) = self.shared.enter();
        state.scheduler.unread(self.request(), units, now);
        self.shared.pump(state);
    }

    /// Reports whether received units are waiting for the request's client to take them; that time counts as the client's.
    pub fn client_blocked(&self, is_blocked: bool) {
        let (mut state, now) = self.shared.enter();
        state.live[self.id].client_blocked = is_blocked;
        state.turn(self.id, now);
    }

    /// What the request has spent its time on so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let (mut state, now) = self.shared.enter();
        state.settle(now);
        state.spent(&state.live[self.id], now)
    }

    /// Adds the request's time to `spending` when it ends.
    pub fn record_into(&self, spending: &Arc<Spending>) {
        self.shared.lock().live[self.id].spending = Some(Arc::clone(spending));
    }

    /// Ends the response: complete, or aborted by its sender.
    pub fn end(mut self) {
        self.over(true);
    }

    /// When the request arrived and when it was released, in the dispatcher's time.
    #[must_use]
    pub fn times(&self) -> (Nanos, Option<Nanos>) {
        let state = self.shared.lock();
        let live = &state.live[self.id];
        (live.arrived, live.released)
    }

    fn over(&mut self, ended: bool) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let (mut guard, now) = self.shared.enter();
        let state = &mut *guard;
        // Its waker is dropped only after unlocking the dispatcher: that may end a task that holds a ticket of its own.
        let live = state.live.remove(self.id);
        state.settle(now);
        let spent = state.spent(&live, now);
        if let Some(spending) = &live.spending {
            spending.add(&spent);
        }
        let was_released = live.released.is_some();
        let account = &mut state.classes[state.users.at(live.user).class.0 as usize];
        account.requests.over(was_released);
        account.spent = account.spent.and(&spent);
        if ended {
            state.scheduler.ended(self.request(), now);
        } else {
            account.cancelled += 1;
            state.scheduler.cancel(self.request(), now);
        }
        state.users.over(live.user, was_released, now);
        self.shared.pump(guard);
    }
}

impl<K> Drop for Ticket<K> {
    fn drop(&mut self) {
        self.over(false);
    }
}
