//! What a request waited for, counted while it lasts.
//!
//! From its arrival to its end a request is at every instant in the first of these states that applies:
//!
//! | state | its time goes to |
//! |---|---|
//! | it is queued for release | its own user, another user of its class, or another class: that whose units the link carries, as its [`Shadow`](super::shadow::Shadow) has it; or *pace* if it is idle |
//! | what it received has not been taken by its client | *client* |
//! | units of its response wait for a turn | as while it is queued |
//! | nothing of its response has been received | *server*: the way up, the connection, the server |
//! | otherwise | *receiving*: units come, or its server pauses |
//!
//! which divides its time without remainder. For whom it waits is counted by three sums, of the shadow's time for its user, for
//! its class and in all: they are noted as it begins to wait and subtracted as it ends to. So an event costs O(1),
//! and a request 104 bytes.

use std::sync::{Mutex, PoisonError};

use dovetail_sched::{Nanos, request::ClassId};

/// What a request's time was spent on, without remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Waiting at the dispatcher while units came for other requests of the same user.
    pub own_user: Nanos,
    /// Waiting while units came for other users of the same class.
    pub own_class: Nanos,
    /// Waiting while units came for other classes, or unrequested ones of no known class.
    pub other_classes: Nanos,
    /// Waiting while no units came.
    pub pace: Nanos,
    /// Released, and nothing received.
    pub server: Nanos,
    /// Waiting until its client took what had been received.
    pub client: Nanos,
    /// Receiving, or waiting for its server to go on.
    pub receiving: Nanos,
}

impl Spent {
    /// From the arrival on.
    #[must_use]
    pub fn total(&self) -> Nanos {
        let Self { own_user, own_class, other_classes, pace, server, client, receiving } = *self;
        own_user + own_class + other_classes + pace + server + client + receiving
    }

    /// Together with another's.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            own_user: self.own_user + other.own_user,
            own_class: self.own_class + other.own_class,
            other_classes: self.other_classes + other.other_classes,
            pace: self.pace + other.pace,
            server: self.server + other.server,
            client: self.client + other.client,
            receiving: self.receiving + other.receiving,
        }
    }
}

/// Where requests leave what their time was spent on when they are over.
#[derive(Debug, Default)]
pub struct Spending(Mutex<Spent>);

impl Spending {
    /// Of all requests so far.
    #[must_use]
    pub fn sum(&self) -> Spent {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, spent: &Spent) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = sum.and(spent);
    }
}

/// What a request is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits at the dispatcher.
    Waiting,
    Client,
    Server,
    Receiving,
}

/// The shadow's time so far: for a user, for their class, and in all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    pub(super) class: ClassId,
    pub(super) user: Nanos,
    pub(super) of_class: Nanos,
    pub(super) all: Nanos,
}

/// A request's timesheet.
#[derive(Debug)]
pub(super) struct Timesheet {
    spent: Spent,
    doing: Doing,
    // Since when it is doing that, and what the shadow had carried by then.
    since: Nanos,
    before: Carried,
}

impl Timesheet {
    /// It waits from now on.
    pub(super) fn new(carried: Carried, now: Nanos) -> Self {
        Self { spent: Spent::default(), doing: Doing::Waiting, since: now, before: carried }
    }

    /// The class whose time it needs to be told.
    pub(super) fn class(&self) -> ClassId {
        self.before.class
    }

    /// What it spent until now. `carried`: of the [`class`](Self::class) that it began to wait in.
    pub(super) fn spent(&self, carried: &Carried, now: Nanos) -> Spent {
        let time = now - self.since;
        let mut spent = self.spent;
        match self.doing {
            Doing::Waiting => {
                let Carried { user, of_class, all, .. } = self.before;
                // A user who changes class meanwhile takes what came for them along.
                let all = (carried.all - all).min(time);
                let own_user = (carried.user - user).min(all);
                let own_class = ((carried.of_class - of_class) - own_user).min(all - own_user);
                spent.own_user += own_user;
                spent.own_class += own_class;
                spent.other_classes += all - own_user - own_class;
                spent.pace += time - all;
            }
            Doing::Client => spent.client += time,
            Doing::Server => spent.server += time,
            Doing::Receiving => spent.receiving += time,
        }
        spent
    }

    /// It does this from now on. `until`: of the class that it began to wait in, `from`: of the one that it is of.
    pub(super) fn turns(&mut self, doing: Doing, [until, from]: [&Carried; 2], now: Nanos) {
        self.spent = self.spent(until, now);
        self.doing = doing;
        self.since = now;
        self.before = *from;
    }

    pub(super) fn doing(&self) -> Doing {
        self.doing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_few_words() {
        assert_eq!(size_of::<Timesheet>(), 104);
    }
}
