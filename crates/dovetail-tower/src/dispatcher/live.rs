//! The state of a request from arrival to end.

use std::{
    sync::Arc,
    task::{Context, Waker},
};

use dovetail_sched::{Nanos, request::UserId};

use super::{
    spent::{Doing, Spending, Timesheet},
    waiters::Waiters,
};

/// The dispatcher's record of a request.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) user: UserId,
    pub(super) label: Arc<str>,
    pub(super) arrived: Nanos,
    pub(super) released: Option<Nanos>,
    pub(super) length: Option<u64>,
    pub(super) received: u64,
    /// When units last arrived.
    pub(super) moved: Option<Nanos>,
    /// Units that may be taken in and have not been yet.
    pub(super) allowed: u64,
    pub(super) window: u64,
    /// Whether the scheduler has been told that units wait.
    pub(super) ready: bool,
    /// Whether its client has yet to take what was received.
    pub(super) client_blocked: bool,
    pub(super) timesheet: Timesheet,
    /// Where its time is added when it ends.
    pub(super) spending: Option<Arc<Spending>>,
    /// The task that polled last.
    pub(super) waker: Option<Waker>,
    /// The tasks that await its release.
    pub(super) waiters: Waiters,
}

impl Live {
    pub(super) fn new(user: UserId, length: Option<u64>, label: Arc<str>, timesheet: Timesheet, now: Nanos) -> Self {
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
            client_blocked: false,
            timesheet,
            spending: None,
            waker: None,
            waiters: Waiters::default(),
        }
    }
}

impl Live {
    /// What it is doing now.
    pub(super) fn doing(&self) -> Doing {
        match self.released {
            None => Doing::Waiting,
            Some(_) if self.client_blocked => Doing::Client,
            Some(_) if self.ready => Doing::Waiting,
            Some(_) if self.received == 0 => Doing::Server,
            Some(_) => Doing::Receiving,
        }
    }

    /// Registers the task to be woken at the next turn. Returns the waker it replaces: dropping that may end a task that holds
    /// a ticket, so drop it only after unlocking the dispatcher.
    #[must_use]
    pub(super) fn wait(&mut self, cx: &Context<'_>) -> Option<Waker> {
        match &self.waker {
            Some(waker) if waker.will_wake(cx.waker()) => None,
            _ => self.waker.replace(cx.waker().clone()),
        }
    }
}
