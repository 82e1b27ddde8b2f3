//! Accounts for what a request spends its time on, from its arrival to its end.
//!
//! At every instant, a request is in the first of these states that applies:
//!
//! | state | its time goes to |
//! |---|---|
//! | queued for release | own user, own class or other classes, by the [`Shadow`](super::shadow::Shadow); *pace* if it is idle |
//! | its client has not taken what was received | *client* |
//! | units of its response wait for a turn | the same as while it is queued |
//! | nothing of its response has been received | *server*: the way up, the connection, the server |
//! | otherwise | *receiving*: units arrive, or its server pauses |
//!
//! The states divide its time without remainder. To attribute waiting time, the shadow keeps three sums: the time that the link
//! spent on its user, on its class and in total. They are noted when a wait begins and subtracted when it ends, so an event
//! costs O(1), and a request takes 104 bytes.

use std::sync::{Mutex, PoisonError};

use dovetail_sched::{Nanos, request::ClassId};

/// What a request's time was spent on, without remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Waiting at the dispatcher while units arrived for other requests of the same user.
    pub own_user: Nanos,
    /// Waiting while units arrived for other users of the same class.
    pub own_class: Nanos,
    /// Waiting while units arrived for other classes, or unrequested ones of no known class.
    pub other_classes: Nanos,
    /// Waiting while no units arrived.
    pub pace: Nanos,
    /// Released, with nothing received yet.
    pub server: Nanos,
    /// Waiting for its client to take what had been received.
    pub client: Nanos,
    /// Receiving, or waiting for its server to continue.
    pub receiving: Nanos,
}

impl Spent {
    /// The time since arrival.
    #[must_use]
    pub fn total(&self) -> Nanos {
        let Self { own_user, own_class, other_classes, pace, server, client, receiving } = *self;
        own_user + own_class + other_classes + pace + server + client + receiving
    }

    /// The sum of both.
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

/// Collects what finished requests spent their time on.
#[derive(Debug, Default)]
pub struct Spending(Mutex<Spent>);

impl Spending {
    /// The total over all finished requests.
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

/// The link time counted by the shadow so far: for a user, for their class, and in total.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    pub(super) class: ClassId,
    pub(super) user: Nanos,
    pub(super) of_class: Nanos,
    pub(super) all: Nanos,
}

/// A request's account of its time.
#[derive(Debug)]
pub(super) struct Timesheet {
    spent: Spent,
    doing: Doing,
    // Since when it has been doing that, and what the shadow had counted by then.
    since: Nanos,
    before: Carried,
}

impl Timesheet {
    /// A timesheet for a request that starts out waiting.
    pub(super) fn new(carried: Carried, now: Nanos) -> Self {
        Self { spent: Spent::default(), doing: Doing::Waiting, since: now, before: carried }
    }

    /// The class whose [`Carried`] it needs at its next change.
    pub(super) fn class(&self) -> ClassId {
        self.before.class
    }

    /// What it has spent until now. `carried` is that of the [`class`](Self::class) in which the wait began.
    pub(super) fn spent(&self, carried: &Carried, now: Nanos) -> Spent {
        let time = now - self.since;
        let mut spent = self.spent;
        match self.doing {
            Doing::Waiting => {
                let Carried { user, of_class, all, .. } = self.before;
                // If the user has changed class meanwhile, `carried.user` includes time that `carried.of_class` does not.
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

    /// Switches to `doing`. `until` is that of the class in which the wait began, `from` that of the current one.
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
