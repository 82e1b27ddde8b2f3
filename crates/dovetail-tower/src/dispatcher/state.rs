//! State shared by all tickets and handles of a dispatcher.

use std::{
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use dovetail_sched::{
    Nanos, Weight,
    request::{Capped, ClassId, FarQueue, RequestScheduler, RequestSetup, RequestSpec, UserId},
};
use slab::Slab;
use tokio::{sync::Notify, time::Instant};

use super::{
    live::Live,
    shadow::{Owner, Shadow},
    spent::{Carried, Spent, Timesheet},
    users::{Requests, Users},
};

pub(super) struct Shared<K> {
    pub(super) began: Instant,
    pub(super) state: Mutex<State<K>>,
    /// Tells the driver to recompute its wake-up time.
    pub(super) rearmed: Arc<Notify>,
}

pub(super) struct State<K> {
    pub(super) scheduler: Capped,
    pub(super) policy: RequestSpec,
    pub(super) setup: RequestSetup,
    pub(super) live: Slab<Live>,
    pub(super) users: Users<K>,
    pub(super) classes: Vec<Account>,
    pub(super) far: FarQueue,
    /// The far queue's delay as last measured by other means, and when.
    pub(super) told: Option<(Nanos, Nanos)>,
    pub(super) shadow: Shadow,
    // When the driver wakes up next.
    pub(super) armed: Nanos,
    // Units received, in total.
    pub(super) units: u64,
}

/// A class's current and past counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    pub(super) weight: Weight,
    pub(super) requests: Requests,
    pub(super) units: u64,
    pub(super) requested: u64,
    pub(super) cancelled: u64,
    /// How long the link carried units for it, according to the shadow.
    pub(super) carried: Nanos,
    /// What its finished requests spent their time on.
    pub(super) spent: Spent,
}

impl<K: Clone + Eq + Hash> State<K> {
    /// Frees the numbers of users who have been idle for long enough.
    pub(super) fn forget(&mut self, now: Nanos) {
        while let Some(user) = self.users.forgotten(now) {
            self.scheduler.forget_user(user);
        }
    }
}

impl<K> State<K> {
    /// Attributes the link's time until now to the users and classes whose units it carried.
    pub(super) fn settle(&mut self, now: Nanos) {
        let Self { shadow, users, classes, .. } = self;
        shadow.settle(now, |owner, time| {
            if let Some(user) = owner.user.and_then(|user| users.get_mut(user)) {
                user.carried += time;
            }
            if let Some(class) = owner.class.and_then(|class| classes.get_mut(class.0 as usize)) {
                class.carried += time;
            }
        });
    }

    /// Records units that were received.
    pub(super) fn carries(&mut self, owner: Owner, units: u64, now: Nanos) {
        self.settle(now);
        self.shadow.carries(owner, Nanos::from_f64(units as f64 / self.setup.rate * 1e9));
    }

    /// What the link has carried so far, according to the shadow, which must be settled.
    fn carried(&self, user: UserId, class: ClassId) -> Carried {
        let of_class = self.classes.get(class.0 as usize).map_or(Nanos::ZERO, |account| account.carried);
        Carried { class, user: self.users.at(user).carried, of_class, all: self.shadow.busy }
    }

    /// A timesheet for a user's request that starts out waiting.
    pub(super) fn timesheet(&mut self, user: UserId, now: Nanos) -> Timesheet {
        self.settle(now);
        Timesheet::new(self.carried(user, self.users.at(user).class), now)
    }

    /// What a request has spent its time on until now. The shadow must be settled.
    pub(super) fn spent(&self, live: &Live, now: Nanos) -> Spent {
        live.timesheet.spent(&self.carried(live.user, live.timesheet.class()), now)
    }

    /// Updates a request's timesheet if what it does has changed.
    pub(super) fn turn(&mut self, id: usize, now: Nanos) {
        let Some(live) = self.live.get(id).filter(|live| live.doing() != live.timesheet.doing()) else { return };
        let (user, before, doing) = (live.user, live.timesheet.class(), live.doing());
        self.settle(now);
        let (until, from) = (self.carried(user, before), self.carried(user, self.users.at(user).class));
        self.live[id].timesheet.turns(doing, [&until, &from], now);
    }

    /// Moves the user to this class, with all their requests.
    pub(super) fn place(&mut self, user: UserId, class: ClassId, now: Nanos) {
        let entry = self.users.at_mut(user);
        let before = std::mem::replace(&mut entry.class, class);
        if before == class {
            return;
        }
        let Requests { waiting, outstanding } = entry.requests;
        let requests = &mut self.classes[before.0 as usize].requests;
        requests.waiting -= waiting;
        requests.outstanding -= outstanding;
        let requests = &mut self.classes[class.0 as usize].requests;
        requests.waiting += waiting;
        requests.outstanding += outstanding;
        self.scheduler.set_user(user, class, now);
    }
}

impl<K> Drop for Shared<K> {
    fn drop(&mut self) {
        self.rearmed.notify_one();
    }
}

impl<K> Shared<K> {
    pub(super) fn now(&self) -> Nanos {
        self.began.elapsed().into()
    }

    /// Locks the state and then reads the clock, so that time never runs backwards between events.
    pub(super) fn enter(&self) -> (MutexGuard<'_, State<K>>, Nanos) {
        let guard = self.lock();
        (guard, self.now())
    }

    // A panic elsewhere cannot leave the state in the middle of an event.
    pub(super) fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out all turns that are due, wakes the tasks concerned, and the driver too if it has to wake earlier than planned.
    pub(super) fn pump(&self, guard: MutexGuard<'_, State<K>>) {
        if self.give(guard) {
            self.rearmed.notify_one();
        }
    }

    /// Hands out all turns that are due and wakes the tasks concerned. Returns whether the driver has to wake earlier than
    /// planned.
    pub(super) fn give(&self, mut guard: MutexGuard<'_, State<K>>) -> bool {
        let now = self.now();
        let state = &mut *guard;
        let mut wake = Vec::<Waker>::new();
        while let Some(turn) = state.scheduler.dequeue(now) {
            let Some(live) = state.live.get_mut(turn.request.0 as usize) else { continue };
            if turn.releases {
                live.released = Some(now);
                let entry = state.users.at_mut(live.user);
                entry.requests.release();
                state.classes[entry.class.0 as usize].requests.release();
                wake.extend(live.waiters.take());
            }
            live.allowed = live.allowed.saturating_add(turn.units);
            live.window = turn.window;
            live.ready = false;
            wake.extend(live.waker.take());
            state.turn(turn.request.0 as usize, now);
        }
        let next = state.scheduler.poll_at().unwrap_or(Nanos::MAX);
        // A policy that keeps answering "now" would never let time pass.
        let next = next.max(now + Nanos(1));
        let is_earlier = next < state.armed;
        if is_earlier {
            state.armed = next;
        }
        drop(guard);
        wake.into_iter().for_each(Waker::wake);
        is_earlier
    }
}
