//! A request scheduler at work: connects it to tokio's clock, named users, and waiting tasks.
//!
//! A [`RequestScheduler`] is informed of events and decides which request is next. A [`Dispatcher`] connects it to a program: a
//! task with a request takes a [`Ticket`], waits until it is released, reports what it received and asks how much more it may
//! take. Dropping a ticket cancels its request, so nothing stays counted because a program forgot it.
//!
//! ```text
//! Dispatcher::arrive -> Ticket::released().await -> Ticket::{length, allowed, received, ready} -> Ticket::end, or dropped
//! ```
//!
//! Time is tokio's, so that tests can pause it. A single mutex guards everything; it is never held while a task is woken.
//!
//! ```
//! use dovetail_sched::{Weight, request::{ClassId, RequestSetup, RequestSpec}};
//! use dovetail_tower::Dispatcher;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dispatcher = Dispatcher::new(&"msf-rs".parse::<RequestSpec>()?, &RequestSetup::for_bytes(239_000.0), &[Weight::ONE])?;
//! tokio::spawn(dispatcher.drive());
//! let first = dispatcher.arrive(&"ann", ClassId(0), None, "a".into());
//! let second = dispatcher.arrive(&"bob", ClassId(0), None, "b".into());
//! first.released().await;
//! assert!(!second.is_released(), "the window is one response at first");
//! first.received(5_000);
//! first.end();
//! second.released().await;
//! # Ok(())
//! # }
//! ```

mod limits;
mod live;
mod released;
mod shadow;
mod spent;
mod state;
mod ticket;
mod users;
mod view;
mod waiters;

use std::{
    fmt,
    future::Future,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard},
};

use dovetail_sched::{
    Nanos, PolicyError, Weight,
    request::{Capped, ClassId, FarDelay, FarQueue, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec},
};
use slab::Slab;
use tokio::{
    select,
    time::{Duration, Instant, sleep_until},
};

pub use self::{
    limits::{Overloaded, WaitLimits},
    spent::{Spending, Spent},
    ticket::Ticket,
    view::{ClassView, LiveView, Stage, Totals, UserView, View},
};

/// How long a delay that was told is valid, as for the policies.
const FRESH: Nanos = Nanos::from_secs(2);
use self::{
    live::Live,
    shadow::{Owner, Shadow},
    state::{Account, Shared, State},
    users::Users,
};

/// A queue of requests, released by a policy. Clones share the same dispatcher.
///
/// `K` identifies users: an address, or an authenticated name.
pub struct Dispatcher<K>(Arc<Shared<K>>);

impl<K> Clone for Dispatcher<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Dispatcher<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> Dispatcher<K> {
    /// A dispatcher with one class per weight, numbered from 0.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy cannot be built from the setup, or there is no class.
    pub fn new(policy: &RequestSpec, setup: &RequestSetup, classes: &[Weight]) -> Result<Self, PolicyError> {
        if classes.is_empty() {
            return Err(PolicyError::unfit("users need at least one class to be in"));
        }
        let mut scheduler = Capped::new(policy.build(setup)?, setup);
        for (class, &weight) in (0..).zip(classes) {
            scheduler.set_class(ClassId(class), weight, Nanos::ZERO);
        }
        let state = State {
            scheduler,
            policy: policy.clone(),
            setup: *setup,
            live: Slab::new(),
            users: Users::default(),
            classes: classes.iter().map(|&weight| Account { weight, ..Account::default() }).collect(),
            far: FarQueue::default(),
            told: None,
            shadow: Shadow::default(),
            armed: Nanos::MAX,
            units: 0,
        };
        Ok(Self(Arc::new(Shared { began: Instant::now(), state: Mutex::new(state), rearmed: Arc::default() })))
    }

    /// Hands out turns as they become due. Spawn it once; it ends when the dispatcher and its tickets are dropped.
    pub fn drive(&self) -> impl Future<Output = ()> + use<K> {
        // It holds no strong reference while waiting, so the dispatcher can be dropped meanwhile, which also wakes it.
        let dispatcher = Arc::downgrade(&self.0);
        let began = self.0.began;
        let rearmed = Arc::clone(&self.0.rearmed);
        async move {
            loop {
                let Some(armed) = dispatcher.upgrade().map(|shared| shared.lock().armed) else { return };
                if armed == Nanos::MAX {
                    rearmed.notified().await;
                    continue;
                }
                select! {
                    () = sleep_until(began + Duration::from_nanos(armed.0)) => {
                        let Some(shared) = dispatcher.upgrade() else { return };
                        let mut state = shared.lock();
                        state.armed = Nanos::MAX;
                        // The loop reads the next wake-up time in any case.
                        let _ = shared.give(state);
                    }
                    () = rearmed.notified() => {}
                }
            }
        }
    }

    /// Adds a request of a user, of `length` units if that is known. `label` is for monitoring.
    ///
    /// The user is in `class` from now on, with all their requests; a class that does not exist counts as the first. O(log n),
    /// like the policy.
    #[must_use]
    pub fn arrive(&self, who: &K, class: ClassId, length: Option<u64>, label: Arc<str>) -> Ticket<K> {
        self.arrive_from(Nanos::ZERO, who, class, length, label)
    }

    /// Like [`arrive`](Self::arrive), for a request whose response begins to reach the link `distance` after the release, as far
    /// as known ([`Ticket::distance`]).
    #[must_use]
    pub fn arrive_from(
        &self,
        distance: Nanos,
        who: &K,
        class: ClassId,
        length: Option<u64>,
        label: Arc<str>,
    ) -> Ticket<K> {
        let (guard, now) = self.0.enter();
        self.admit(guard, (now, distance), who, class, length, label)
    }

    /// Like [`arrive`](Self::arrive), unless too many requests are queued. A refused request leaves no trace.
    ///
    /// # Errors
    /// [`Overloaded`] if the user, or all users together, have as many requests queued as the limits permit. Costs O(classes)
    /// more.
    pub fn arrive_within(
        &self,
        limits: &WaitLimits,
        who: &K,
        class: ClassId,
        length: Option<u64>,
        label: Arc<str>,
    ) -> Result<Ticket<K>, Overloaded> {
        let (guard, now) = self.0.enter();
        let of_user = guard.users.number(who).map_or(0, |user| guard.users.at(user).requests.waiting);
        let of_all = guard.classes.iter().map(|account| account.requests.waiting).sum();
        limits.check(of_user, of_all)?;
        Ok(self.admit(guard, (now, Nanos::ZERO), who, class, length, label))
    }

    fn admit(
        &self,
        mut guard: MutexGuard<'_, State<K>>,
        (now, distance): (Nanos, Nanos),
        who: &K,
        class: ClassId,
        length: Option<u64>,
        label: Arc<str>,
    ) -> Ticket<K> {
        let state = &mut *guard;
        state.forget(now);
        let class = if (class.0 as usize) < state.classes.len() { class } else { ClassId(0) };
        let user = match state.users.number(who) {
            Some(user) => user,
            None => {
                let user = state.users.meet(who, class, now);
                state.scheduler.set_user(user, class, now);
                user
            }
        };
        state.place(user, class, now);
        let timesheet = state.timesheet(user, now);
        let id = state.live.insert(Live::new(user, length, label, timesheet, now));
        state.users.arrived(user);
        let account = &mut state.classes[class.0 as usize];
        account.requests.waiting += 1;
        account.requested += 1;
        let request = Request { id: RequestId(id as u32), user, length };
        state.scheduler.enqueue(&request, now);
        state.scheduler.distance(request.id, distance, now);
        self.0.pump(guard);
        Ticket::new(Arc::clone(&self.0), id)
    }

    /// The time since the dispatcher was created.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.now()
    }

    /// Changes a class's weight. Does nothing if there is no such class.
    pub fn set_weight(&self, class: ClassId, weight: Weight) {
        let (mut state, now) = self.0.enter();
        if let Some(account) = state.classes.get_mut(class.0 as usize) {
            account.weight = weight;
            state.scheduler.set_class(class, weight, now);
            self.0.pump(state);
        }
    }

    /// Limits a class to a rate in units per second, or lifts the limit. Does nothing if there is no such class or the rate is
    /// out of range. Allowances that requests in flight already have remain valid.
    pub fn set_cap(&self, class: ClassId, units_per_s: Option<f64>) {
        let (mut state, now) = self.0.enter();
        if (class.0 as usize) < state.classes.len() {
            state.scheduler.set_cap(class, units_per_s, now);
            self.0.pump(state);
        }
    }

    /// Adds a class and returns its number.
    pub fn add_class(&self, weight: Weight) -> ClassId {
        let (mut state, now) = self.0.enter();
        let class = ClassId(state.classes.len() as u32);
        state.classes.push(Account { weight, ..Account::default() });
        state.scheduler.set_class(class, weight, now);
        self.0.pump(state);
        class
    }

    /// Whether each class, by number, has users: some with requests, or who had one within the last minute. O(users + requests).
    #[must_use]
    pub fn used_classes(&self) -> Vec<bool> {
        let (mut state, now) = self.0.enter();
        state.forget(now);
        let mut used = vec![false; state.classes.len()];
        let of_users = state.users.iter().map(|user| user.class);
        // The time of a request whose user was moved is that of the earlier class until its state changes.
        let of_requests = state.live.iter().map(|(_, live)| live.timesheet.class());
        of_users.chain(of_requests).for_each(|class| used[class.0 as usize] = true);
        used
    }

    /// Gives a number that is not [used](Self::used_classes) to another class, whose counts begin at zero. A policy has no means
    /// to remove a class, so this keeps its tables from growing. Does nothing if there is no such class.
    pub fn renew_class(&self, class: ClassId, weight: Weight) {
        let (mut state, now) = self.0.enter();
        if let Some(account) = state.classes.get_mut(class.0 as usize) {
            let Account { requests, carried, .. } = *account;
            *account = Account { weight, requests, carried, ..Account::default() };
            state.scheduler.set_class(class, weight, now);
            self.0.pump(state);
        }
    }

    /// Moves a user to another class, with all their requests, if both are known. O(log n), like the policy.
    pub fn place(&self, who: &K, class: ClassId) {
        let (mut state, now) = self.0.enter();
        if let Some(user) = state.users.number(who).filter(|_| (class.0 as usize) < state.classes.len()) {
            state.place(user, class, now);
            self.0.pump(state);
        }
    }

    /// Moves every known user to the class that `class_of` returns, if there is such a class. O(users).
    pub fn reclassify(&self, class_of: impl Fn(&K) -> ClassId) {
        // `class_of` may use the dispatcher, so it is not locked meanwhile.
        let users: Vec<K> = self.0.enter().0.users.iter().map(|user| user.who.clone()).collect();
        let decided: Vec<_> = users.iter().map(|who| (who, class_of(who))).collect();
        let (mut guard, now) = self.0.enter();
        for (who, class) in decided {
            if let Some(user) = guard.users.number(who).filter(|_| (class.0 as usize) < guard.classes.len()) {
                guard.place(user, class, now);
            }
        }
        self.0.pump(guard);
    }

    /// Sets the link's rate in units per second. Does nothing if the rate is out of range.
    pub fn set_rate(&self, units_per_s: f64) {
        if !RequestSetup::is_rate(units_per_s) {
            return;
        }
        let (mut state, now) = self.0.enter();
        state.setup.rate = units_per_s;
        state.scheduler.set_rate(units_per_s, now);
        self.0.pump(state);
    }

    /// Records unrequested units that came down the link.
    pub fn stray(&self, class: Option<ClassId>, units: u64) {
        let (mut state, now) = self.0.enter();
        state.units = state.units.saturating_add(units);
        if let Some(account) = class.and_then(|class| state.classes.get_mut(class.0 as usize)) {
            account.units = account.units.saturating_add(units);
        }
        state.carries(Owner { class, user: None }, units, now);
        state.scheduler.stray(class, units, now);
        self.0.pump(state);
    }

    /// Records that a probe of the far queue is being sent; returns its number.
    #[must_use]
    pub fn probe(&self) -> u64 {
        let (mut guard, now) = self.0.enter();
        let state = &mut *guard;
        let number = state.far.probe(now);
        state.scheduler.far_queue(state.far.delay(now), now);
        self.0.pump(guard);
        number
    }

    /// Records the answer to a probe of the far queue.
    pub fn probed(&self, number: u64) {
        let (mut guard, now) = self.0.enter();
        let state = &mut *guard;
        state.far.back(number, now);
        state.scheduler.far_queue(state.far.delay(now), now);
        self.0.pump(guard);
    }

    /// Discards earlier measurements: probes take another path from now on.
    pub fn forget_probes(&self) {
        let (mut guard, now) = self.0.enter();
        let state = &mut *guard;
        state.far.forget();
        state.scheduler.far_queue(None, now);
        self.0.pump(guard);
    }

    /// Sets the far queue's delay, measured by other means than probes.
    pub fn far_queue(&self, delay: Option<Nanos>) {
        let (mut state, now) = self.0.enter();
        state.told = delay.map(|delay| (delay, now));
        state.scheduler.far_queue(delay.map(FarDelay::of), now);
        self.0.pump(state);
    }

    /// The far queue's delay, from probes or as last [told](Self::far_queue), unless that is two seconds ago.
    #[must_use]
    pub fn far_delay(&self) -> Option<Nanos> {
        let (state, now) = self.0.enter();
        let told = || state.told.filter(|&(_, at)| now - at < FRESH).map(|(delay, _)| delay);
        state.far.delay(now).map(|far| far.delay).or_else(told)
    }

    /// Tells whether enough is sent up the link unpaced that probes may be measuring the uplink's queue.
    pub fn uplink(&self, is_busy: bool) {
        let (mut state, now) = self.0.enter();
        state.scheduler.uplink(is_busy, now);
        self.0.pump(state);
    }

    /// The number of a user's tickets, queued and released. O(1).
    #[must_use]
    pub fn requests(&self, who: &K) -> usize {
        self.0.lock().users.requests(who)
    }

    /// The number of all tickets, queued and released.
    #[must_use]
    pub fn live(&self) -> usize {
        self.0.lock().live.len()
    }

    /// The policy, and the setup that it was built with.
    #[must_use]
    pub fn policy(&self) -> (RequestSpec, RequestSetup) {
        let state = self.0.lock();
        (state.policy.clone(), state.setup)
    }
}
