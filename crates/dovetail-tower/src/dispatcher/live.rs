//! A request while it lasts.

use std::{
    sync::Arc,
    task::{Context, Waker},
};

use dovetail_sched::{Nanos, request::UserId};

use super::spent::{Doing, Spending, Timesheet};

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
    /// Whether its client has not taken what it received.
    pub(super) untaken: bool,
    pub(super) timesheet: Timesheet,
    /// Where that goes when it is over.
    pub(super) spending: Option<Arc<Spending>>,
    pub(super) waker: Option<Waker>,
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
            untaken: false,
            timesheet,
            spending: None,
            waker: None,
        }
    }
}

impl Live {
    /// What it is doing.
    pub(super) fn doing(&self) -> Doing {
        match self.released {
            None => Doing::Waiting,
            Some(_) if self.untaken => Doing::Client,
            Some(_) if self.ready => Doing::Waiting,
            Some(_) if self.received == 0 => Doing::Server,
            Some(_) => Doing::Receiving,
        }
    }

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
