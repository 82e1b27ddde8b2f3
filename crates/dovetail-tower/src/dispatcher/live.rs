//! A request while it lasts.

use std::{
    sync::Arc,
    task::{Context, Waker},
};

use dovetail_sched::{Nanos, request::UserId};

/// What the dispatcher knows of a request.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) user: UserId,
    pub(super) label: Arc<str>,
    pub(super) arrived: Nanos,
    pub(super) released: Option<Nanos>,
    pub(super) length: Option<u64>,
    pub(super) received: u64,
    /// When units came last.
    pub(super) moved: Option<Nanos>,
    /// Units that may be taken in and were not.
    pub(super) allowed: u64,
    pub(super) window: u64,
    /// Whether the scheduler knows that units wait.
    pub(super) ready: bool,
    pub(super) waker: Option<Waker>,
}

impl Live {
    pub(super) fn new(user: UserId, length: Option<u64>, label: Arc<str>, now: Nanos) -> Self {
        Self {
            user,
            label,
            arrived: now,
            released: None,
            length,
            received: 0,
            moved: None,
            allowed: 0,
            window: 0,
            ready: false,
            waker: None,
        }
    }
}

impl Live {
    /// The task is to be woken at the next turn. What it was to be woken by before: dropped, that may be the end of a task with
    /// a ticket, so the dispatcher has to be free then.
    #[must_use]
    pub(super) fn wait(&mut self, cx: &Context<'_>) -> Option<Waker> {
        match &self.waker {
            Some(waker) if waker.will_wake(cx.waker()) => None,
            _ => self.waker.replace(cx.waker().clone()),
        }
    }
}
