//! A maximum rate for classes, around any policy.
//!
//! A weight is a floor: what a class does not use goes to others. Some classes, such as updates or a guest network, should have
//! a ceiling as well, whatever capacity is spare. [`Capped`] stands between the environment and a policy, and hides from the
//! policy what a class over its rate may not have yet. The policy decides among everything that it knows of, so the rest of the
//! link goes to others as if the held requests did not exist.
//!
//! Each class with a rate has a bucket of tokens, one per unit:
//!
//! ```text
//! level grows by rate · dt, up to rate · BURST           one is served while level >= 0
//! ```
//!
//! Arriving requests, and responses with units waiting, are *served* in order of their user's service in this class, the least
//! first, so that a user with many requests gets no more than one with few. Among one user's, new requests go before responses
//! while fewer than four responses are in flight, and after them from then on, or none would ever end. When served, a request
//! is passed to the policy, which releases it when it sees fit; a response with *leave* gets a quantum of it as its turn, and
//! any other is reported to the policy as ready. Of the units that the policy permits, a capped response is handed a quantum at
//! a time; the rest is its leave, for when it is served again.
//!
//! # What is charged
//!
//! The units that a response may have brought over the link by then, as in `grants`: its *target*, the units handed to it plus
//! its window, or its length if that is known and less. (Only the units handed if the policy sets no windows.) A quantum, and
//! for a request the window, is charged when it is passed to the policy, and settled at the turn; units beyond the target, and
//! unrequested ones, are charged when they arrive; and the units that an ended response did not bring are refunded to the class
//! that paid, as long as the level is no more than what the rate brings in `BACK`, or in `BURST` if there are no windows. Let
//! `l` be the largest single charge. Then the charges to a class in any interval of length `t`, less refunds, are at most
//!
//! ```text
//! rate · (t + BURST) + l                under a policy without windows
//! rate · (t + BACK) + l                 under one with windows
//! ```
//!
//! since each charge begins with a level of at least 0, and no level is higher. Everything is charged before it arrives: more
//! can arrive in an interval only by what was charged before it, a turn and a window for each request that the policy knew of.
//! `BURST` is 250 ms and `BACK` 10 s.
//!
//! Units that are unread in a window have already crossed the link. So a capped response's window begins with what its class's
//! rate brings in 340 ms, or with the policy's initial window if that is less; it grows as the policy's does, up to its class's
//! part of the longest. Its turns are a quantum, or what the rate brings in 100 ms if that is less. What a response was
//! permitted before its class had a rate is not held back.
//!
//! # Cost
//!
//! O(log users) for each event of a class with a rate, O(classes) for a turn while something is held, and O(1) on top of the
//! policy's cost for everything else.
//!
//! # Worked example
//!
//! A link of 100,000 units a second and a class that may have 20,000 of them. Under `none`, which holds nothing back, its
//! response is handed what 100 ms bring, 2,000, at its release and twice again: the bucket has 5,000, and is overdrawn by
//! 1,000. The next turn is due when these have been refilled, after 50 ms.
//!
//! ```
//! use dovetail_sched::{
//!     Nanos, Weight,
//!     request::{Capped, ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
//! };
//!
//! let setup = RequestSetup::for_bytes(100_000.0);
//! let mut capped = Capped::new("none".parse::<RequestSpec>()?.build(&setup)?, &setup);
//! capped.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
//! capped.set_cap(ClassId(0), Some(20_000.0), Nanos::ZERO);
//! capped.set_user(UserId(0), ClassId(0), Nanos::ZERO);
//! capped.enqueue(&Request { id: RequestId(0), user: UserId(0), length: None }, Nanos::ZERO);
//! for turn in 0..3 {
//!     let given = capped.dequeue(Nanos::ZERO).expect("the bucket is not empty");
//!     assert_eq!((given.releases, given.units), (turn == 0, 2_000));
//!     capped.received(RequestId(0), 2_000, Nanos::ZERO);
//!     capped.ready(RequestId(0), Nanos::ZERO);
//! }
//! assert!(capped.dequeue(Nanos::ZERO).is_none());
//! let opens = capped.poll_at().expect("one is held");
//! assert_eq!(opens, Nanos::from_millis(50));
//! assert_eq!(capped.dequeue(opens).map(|turn| turn.units), Some(2_000));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod bucket;
mod held;
mod response;

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use self::{
    bucket::Bucket,
    held::{Held, Next},
    response::Response,
};
use super::{
    Accounts, ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSetup, Turn, UserId, accounts::slot_mut,
};
use crate::{Knobs, Nanos, PolicyError, Weight};

/// A request policy with maximum rates for classes.
#[derive(Debug)]
pub struct Capped {
    policy: Box<dyn RequestScheduler>,
    setup: RequestSetup,
    accounts: Accounts,
    responses: Vec<Response>,
    // By class; `None` for a class without a rate.
    buckets: Vec<Option<Bucket>>,
    held: Held,
    // Turns from leave that the policy granted earlier.
    turns: VecDeque<Turn>,
}

/// A turn is at most what its class's rate brings in this time.
const TURN: Nanos = Nanos::from_millis(100);
/// An initial window is at most what its class's rate brings in this time.
const FIRST: Nanos = Nanos::from_millis(340);

impl Capped {
    /// Wraps a policy that was built with this setup. At first no class has a rate.
    #[must_use]
    pub fn new(policy: Box<dyn RequestScheduler>, setup: &RequestSetup) -> Self {
        Self {
            policy,
            setup: *setup,
            accounts: Accounts::default(),
            responses: Vec::new(),
            buckets: Vec::new(),
            held: Held::default(),
            turns: VecDeque::new(),
        }
    }

    /// Sets the maximum rate of a class, in units per second, or removes it. Ignored if the rate is [out of
    /// range](RequestSetup::is_rate). Responses in flight keep what they were permitted.
    pub fn set_cap(&mut self, class: ClassId, units_per_s: Option<f64>, now: Nanos) {
        let has_windows = self.policy.first_window().is_some();
        match units_per_s {
            None => *slot_mut(&mut self.buckets, class.0) = None,
            Some(rate) if RequestSetup::is_rate(rate) => match slot_mut(&mut self.buckets, class.0) {
                Some(bucket) => bucket.set_rate(rate, now),
                none => *none = Some(Bucket::new(rate, has_windows, now)),
            },
            Some(_) => {}
        }
    }

    /// The maximum rate of a class, in units per second.
    #[must_use]
    pub fn cap(&self, class: ClassId) -> Option<f64> {
        self.bucket(class).map(Bucket::rate)
    }

    /// Whether the request is held back by its class's rate.
    #[must_use]
    pub fn holds(&self, request: RequestId) -> bool {
        self.held.contains(request)
    }

    fn bucket(&self, class: ClassId) -> Option<&Bucket> {
        self.buckets.get(class.0 as usize)?.as_ref()
    }

    fn bucket_mut(&mut self, class: ClassId) -> Option<&mut Bucket> {
        self.buckets.get_mut(class.0 as usize)?.as_mut()
    }

    fn who(&self, request: RequestId) -> Option<(UserId, ClassId)> {
        let user = self.accounts.user(request)?;
        Some((user, self.accounts.class_of(user)?))
    }

    /// The units that a turn of this class permits.
    fn quantum(&self, class: ClassId) -> u64 {
        let most = self.setup.quantum;
        self.bucket(class).map_or(most, |bucket| bucket.brings(TURN).clamp(1, most))
    }

    /// The window of a response of this class, if the policy's is `of_policy`.
    fn window(&self, class: ClassId, of_policy: u64) -> u64 {
        let RequestSetup { rate, window, longest_window, .. } = self.setup;
        let Some(bucket) = self.bucket(class).filter(|_| of_policy != u64::MAX) else { return of_policy };
        let first = bucket.brings(FIRST).min(window);
        let longest = (longest_window as f64 * (bucket.rate() / rate).min(1.0)) as u64;
        // The policy's window has grown by what was missing.
        first.saturating_add(of_policy.saturating_sub(window)).min(longest.max(first))
    }

    /// Charges this many units to a class that has a bucket, and to the user's service.
    fn take(&mut self, user: UserId, class: ClassId, units: u64, now: Nanos) -> u64 {
        let Some(bucket) = self.bucket_mut(class) else { return 0 };
        bucket.take(units, now);
        self.held.charge(user, class, |service| service.saturating_add(units));
        units
    }

    /// Has a response charged to its user's class from now on. What another class was charged for turns to come is refunded
    /// there, and the rest stays charged to that one: this class must not have refunds of what it did not pay.
    fn file(&mut self, request: RequestId, user: UserId, class: ClassId, now: Nanos) {
        let response = &mut self.responses[request.0 as usize];
        let before = response.class.replace(class);
        if let Some(before) = before.filter(|&before| before != class) {
            let reserved = core::mem::take(&mut response.reserved);
            response.taken = 0;
            self.give_back(user, before, reserved, now);
        }
    }

    /// Charges a response for the units that it may have brought by now.
    fn charge(&mut self, request: RequestId, user: UserId, class: ClassId, now: Nanos) {
        self.file(request, user, class, now);
        let response = &self.responses[request.0 as usize];
        let target = response.target();
        if target > response.charged {
            let taken = self.take(user, class, target - response.charged, now);
            let response = &mut self.responses[request.0 as usize];
            (response.charged, response.taken) = (target, response.taken.saturating_add(taken));
        } else {
            let over = (response.charged - target).min(response.taken);
            let response = &mut self.responses[request.0 as usize];
            (response.charged, response.taken) = (target, response.taken - over);
            self.give_back(user, class, over, now);
        }
    }

    /// Refunds units to a class that was charged them, which may not be the user's any more.
    fn give_back(&mut self, user: UserId, charged: ClassId, units: u64, now: Nanos) {
        if let Some(bucket) = self.bucket_mut(charged).filter(|_| units > 0) {
            bucket.give(units, now);
            let class = self.accounts.class_of(user).unwrap_or(charged);
            self.held.charge(user, class, |service| service.saturating_sub(units));
        }
    }

    /// Holds the request until its turn in its class.
    fn hold(&mut self, request: RequestId, user: UserId, class: ClassId) {
        let has_begun = self.responses[request.0 as usize].is_told;
        let served = self.bucket(class).map_or(0, Bucket::served);
        self.held.add(request, user, class, has_begun, served);
    }

    fn unhold(&mut self, request: RequestId, user: UserId, class: ClassId) {
        let has_begun = self.responses[request.0 as usize].is_told;
        self.held.remove(request, user, class, has_begun);
    }

    /// Serves what is held of classes whose buckets are open.
    fn serve(&mut self, now: Nanos) {
        for class in (0..self.held.classes() as u32).map(ClassId) {
            while self.bucket_mut(class).is_none_or(|bucket| bucket.is_open(now)) {
                let Some(Next { request, user, service }) = self.held.next(class) else { break };
                if let Some(bucket) = self.bucket_mut(class) {
                    bucket.serves(service);
                }
                self.unhold(request, user, class);
                self.go(request, user, class, now);
            }
        }
    }

    /// Lets a request go on that was held, or need not be.
    fn go(&mut self, request: RequestId, user: UserId, class: ClassId, now: Nanos) {
        let is_capped = self.bucket(class).is_some();
        let quantum = self.quantum(class);
        let first = self.policy.first_window().map_or(0, |first| self.window(class, first));
        let response = &self.responses[request.0 as usize];
        if response.handed == u64::MAX {
            // All of it may be read already.
            self.policy.ready(request, now);
            return;
        }
        if response.leave > 0 {
            let units = self.hand(request, user, class, now);
            let window = self.responses[request.0 as usize].window;
            self.turns.push_back(Turn { request, releases: false, units, window });
            return;
        }
        self.file(request, user, class, now);
        let response = &self.responses[request.0 as usize];
        let reserves = if response.is_told { quantum } else { response.reserve(quantum, first) };
        let reserved = if is_capped { self.take(user, class, reserves, now) } else { 0 };
        let response = &mut self.responses[request.0 as usize];
        response.reserved = response.reserved.saturating_add(reserved);
        response.is_asked = true;
        let offered = core::mem::take(&mut response.is_offered).then_some(response.window);
        let (trip, distance) = (response.trip.take(), response.distance);
        if core::mem::replace(&mut response.is_told, true) {
            self.policy.ready(request, now);
        } else {
            let length = response.total;
            self.policy.enqueue(&Request { id: request, user, length }, now);
            if let Some(window) = offered {
                self.policy.offers(request, window, now);
            }
            if let Some(trip) = trip {
                self.policy.round_trip(request, trip, now);
            }
            self.policy.distance(request, distance, now);
        }
    }

    /// Hands a response some of its leave, and charges it. Settles what was reserved.
    fn hand(&mut self, request: RequestId, user: UserId, class: ClassId, now: Nanos) -> u64 {
        let is_capped = self.bucket(class).is_some();
        let quantum = if is_capped { self.quantum(class) } else { u64::MAX };
        self.file(request, user, class, now);
        let response = &mut self.responses[request.0 as usize];
        let reserved = core::mem::take(&mut response.reserved);
        response.charged = response.charged.saturating_add(reserved);
        response.taken = response.taken.saturating_add(reserved);
        response.is_asked = false;
        let units = response.hand(quantum);
        self.charge(request, user, class, now);
        units
    }

    /// Translates the policy's turn for the environment; `None` if it has to wait.
    fn translate(&mut self, turn: Turn, now: Nanos) -> Option<Turn> {
        let request = turn.request;
        let Some((user, class)) = self.who(request) else { return Some(turn) };
        let is_capped = self.bucket(class).is_some();
        let window = self.window(class, turn.window);
        let response = &mut self.responses[request.0 as usize];
        response.leave = response.leave.saturating_add(turn.units);
        response.is_released |= turn.releases;
        response.window = response.window.max(window);
        if turn.releases {
            self.held.begun(user);
        }
        if is_capped && !turn.releases && !response.is_asked {
            // The policy granted it unasked: it becomes leave until its class is served.
            return None;
        }
        let units = self.hand(request, user, class, now);
        let window = self.responses[request.0 as usize].window;
        (turn.releases || units > 0).then_some(Turn { units, window, ..turn })
    }

    fn over(&mut self, request: RequestId, has_ended: bool, now: Nanos) {
        let Some((user, class)) = self.who(request) else {
            if has_ended {
                self.policy.ended(request, now)
            } else {
                self.policy.cancel(request, now)
            }
            return;
        };
        self.unhold(request, user, class);
        self.turns.retain(|turn| turn.request != request);
        let response = core::mem::take(&mut self.responses[request.0 as usize]);
        if response.is_released {
            self.held.over(user);
        }
        let unused = if has_ended || !response.is_released {
            response.taken.min(response.charged.saturating_sub(response.received))
        } else {
            // Units in flight arrive nevertheless.
            0
        };
        let charged = response.class.unwrap_or(class);
        self.give_back(user, charged, response.reserved.saturating_add(unused), now);
        self.accounts.left(request);
        match (response.is_told, has_ended) {
            (true, true) => self.policy.ended(request, now),
            (true, false) => self.policy.cancel(request, now),
            (false, _) => {}
        }
    }
}

impl RequestScheduler for Capped {
    fn set_class(&mut self, class: ClassId, weight: Weight, now: Nanos) {
        self.accounts.set_class(class, weight);
        self.policy.set_class(class, weight, now);
    }

    fn set_user(&mut self, user: UserId, class: ClassId, now: Nanos) {
        if let Some(before) = self.accounts.set_user(user, class) {
            self.held.moves(user, before, class);
        }
        self.policy.set_user(user, class, now);
    }

    fn forget_user(&mut self, user: UserId) {
        // The policy does not know of requests that are held.
        if self.accounts.forget_user(user) {
            self.held.forget(user);
            self.policy.forget_user(user);
        }
    }

    fn set_rate(&mut self, units_per_s: f64, now: Nanos) {
        if RequestSetup::is_rate(units_per_s) {
            self.setup.rate = units_per_s;
        }
        self.policy.set_rate(units_per_s, now);
    }

    fn enqueue(&mut self, request: &Request, now: Nanos) {
        let Some(began) = self.accounts.arrived(request.id, request.user) else { return };
        let id = request.id;
        *slot_mut(&mut self.responses, id.0) = Response { total: request.length, ..Response::default() };
        if self.bucket(began.class).is_some() {
            self.hold(id, began.user, began.class);
        } else {
            self.go(id, began.user, began.class, now);
        }
    }

    fn length(&mut self, request: RequestId, units: u64, now: Nanos) {
        let Some((user, class)) = self.who(request) else { return };
        let response = &mut self.responses[request.0 as usize];
        response.total = Some(units);
        let (is_told, is_released) = (response.is_told, response.is_released);
        if is_released {
            self.charge(request, user, class, now);
        }
        if is_told {
            self.policy.length(request, units, now);
        }
    }

    fn received(&mut self, request: RequestId, units: u64, now: Nanos) {
        if let Some((user, class)) = self.who(request) {
            let response = &mut self.responses[request.0 as usize];
            response.received = response.received.saturating_add(units);
            self.charge(request, user, class, now);
        }
        self.policy.received(request, units, now);
    }

    fn unread(&mut self, request: RequestId, units: u64, now: Nanos) {
        self.policy.unread(request, units, now);
    }

    fn ready(&mut self, request: RequestId, now: Nanos) {
        let Some((user, class)) = self.who(request) else { return };
        if !self.responses[request.0 as usize].is_released {
            return;
        }
        if self.bucket(class).is_some() {
            self.hold(request, user, class);
        } else {
            self.go(request, user, class, now);
        }
    }

    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.over(request, true, now);
    }

    fn cancel(&mut self, request: RequestId, now: Nanos) {
        self.over(request, false, now);
    }

    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos) {
        if let Some(bucket) = class.and_then(|class| self.bucket_mut(class)) {
            bucket.take(units, now);
        }
        self.policy.stray(class, units, now);
    }

    fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos) {
        self.policy.far_queue(seen, now);
    }

    fn offers(&mut self, request: RequestId, window: u64, now: Nanos) {
        if let Some((user, class)) = self.who(request) {
            let response = &mut self.responses[request.0 as usize];
            response.window = response.window.max(window);
            response.is_offered = !response.is_told;
            if !response.is_told {
                return;
            }
            if response.is_released {
                self.charge(request, user, class, now);
            }
        }
        self.policy.offers(request, window, now);
    }

    fn round_trip(&mut self, request: RequestId, takes: Nanos, now: Nanos) {
        if self.who(request).is_some() && !self.responses[request.0 as usize].is_told {
            self.responses[request.0 as usize].trip = Some(takes);
            return;
        }
        self.policy.round_trip(request, takes, now);
    }

    fn distance(&mut self, request: RequestId, takes: Nanos, now: Nanos) {
        if self.who(request).is_some() && !self.responses[request.0 as usize].is_told {
            self.responses[request.0 as usize].distance = takes;
            return;
        }
        self.policy.distance(request, takes, now);
    }

    fn uplink(&mut self, is_busy: bool, now: Nanos) {
        self.policy.uplink(is_busy, now);
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Turn> {
        loop {
            if self.held.count() > 0 {
                self.serve(now);
            }
            if let Some(turn) = self.turns.pop_front() {
                return Some(turn);
            }
            let turn = self.policy.dequeue(now)?;
            if let Some(turn) = self.translate(turn, now) {
                return Some(turn);
            }
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        let mut next = self.policy.poll_at();
        if self.held.count() > 0 {
            let waits = (0..self.held.classes() as u32).map(ClassId).filter(|&class| self.held.next(class).is_some());
            let opens = waits.map(|class| self.bucket(class).map_or(Nanos::ZERO, Bucket::opens)).min();
            next = match (next, opens) {
                (Some(next), Some(opens)) => Some(next.min(opens)),
                (next, opens) => next.or(opens),
            };
        }
        next
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.policy.figures(report);
        if self.buckets.iter().any(Option::is_some) {
            report("held_by_rate", self.held.count() as f64);
        }
    }

    fn first_window(&self) -> Option<u64> {
        self.policy.first_window()
    }

    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        self.policy.retune(knobs, now)
    }
}
