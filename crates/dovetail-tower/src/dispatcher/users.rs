//! Maps users to numbers. A number is reused once its owner has been idle for a minute.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use dovetail_sched::{
    Nanos,
    request::{ClassId, UserId},
};
use slab::Slab;

/// How long a user without requests is remembered.
pub(super) const REMEMBERED: Nanos = Nanos::from_secs(60);

/// Users by name and by number. Names are hashed with a secret key, since they come from the network.
#[derive(Debug)]
pub(super) struct Users<K> {
    numbers: HashMap<K, UserId>,
    users: Slab<User<K>>,
    // Users without requests, by when their last one ended. Each is listed once at most, however often they come and go.
    idle: BTreeSet<(Nanos, UserId)>,
}

#[derive(Debug)]
pub(super) struct User<K> {
    pub(super) who: K,
    pub(super) class: ClassId,
    pub(super) requests: Requests,
    pub(super) units: u64,
    pub(super) requested: u64,
    /// How long the link carried units for them, according to the shadow.
    pub(super) carried: Nanos,
    idle_since: Nanos,
}

/// Current requests of a user.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requests {
    pub(super) waiting: u32,
    pub(super) outstanding: u32,
}

impl Requests {
    pub(super) fn in_all(self) -> u32 {
        self.waiting + self.outstanding
    }

    /// Moves one request from queued to in flight.
    pub(super) fn release(&mut self) {
        self.waiting -= 1;
        self.outstanding += 1;
    }

    /// Removes a finished request.
    pub(super) fn over(&mut self, was_released: bool) {
        let count = if was_released { &mut self.outstanding } else { &mut self.waiting };
        *count -= 1;
    }
}

impl<K> Default for Users<K> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), users: Slab::new(), idle: BTreeSet::new() }
    }
}

impl<K: Clone + Eq + Hash> Users<K> {
    /// The user's number, if they are known.
    pub(super) fn number(&self, who: &K) -> Option<UserId> {
        self.numbers.get(who).copied()
    }

    /// Adds a new user.
    pub(super) fn meet(&mut self, who: &K, class: ClassId, now: Nanos) -> UserId {
        let requests = Requests::default();
        let blank =
            User { who: who.clone(), class, requests, units: 0, requested: 0, carried: Nanos::ZERO, idle_since: now };
        let user = UserId(self.users.insert(blank) as u32);
        self.numbers.insert(who.clone(), user);
        self.idle.insert((now, user));
        user
    }

    /// The number of requests that a user has.
    pub(super) fn requests(&self, who: &K) -> usize {
        self.number(who).map_or(0, |user| self.at(user).requests.in_all() as usize)
    }

    /// Forgets a user whose time is over and returns their number, if there is one.
    pub(super) fn forgotten(&mut self, now: Nanos) -> Option<UserId> {
        let &(since, user) = self.idle.first()?;
        if since + REMEMBERED > now {
            return None;
        }
        self.idle.pop_first();
        let entry = self.users.remove(user.0 as usize);
        self.numbers.remove(&entry.who);
        Some(user)
    }
}

impl<K> Users<K> {
    /// Counts one more request of the user, which is queued.
    pub(super) fn arrived(&mut self, user: UserId) {
        let entry = &mut self.users[user.0 as usize];
        if entry.requests.in_all() == 0 {
            self.idle.remove(&(entry.idle_since, user));
        }
        entry.requests.waiting += 1;
        entry.requested += 1;
    }

    /// Removes a finished request of the user.
    pub(super) fn over(&mut self, user: UserId, was_released: bool, now: Nanos) {
        let entry = &mut self.users[user.0 as usize];
        entry.requests.over(was_released);
        if entry.requests.in_all() == 0 {
            entry.idle_since = now;
            self.idle.insert((now, user));
        }
    }

    /// A user who has requests, or had one within the last minute.
    pub(super) fn at(&self, user: UserId) -> &User<K> {
        &self.users[user.0 as usize]
    }

    /// The user with this number, unless forgotten.
    pub(super) fn get_mut(&mut self, user: UserId) -> Option<&mut User<K>> {
        self.users.get_mut(user.0 as usize)
    }

    pub(super) fn at_mut(&mut self, user: UserId) -> &mut User<K> {
        &mut self.users[user.0 as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &User<K>> {
        self.users.iter().map(|(_, user)| user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: ClassId = ClassId(0);

    #[test]
    fn a_user_who_leaves_and_returns_is_noted_once() {
        let mut users = Users::default();
        let user = users.meet(&"ann", CLASS, Nanos::ZERO);
        for second in 0..1_000 {
            users.arrived(user);
            assert!(users.idle.is_empty());
            users.over(user, false, Nanos::from_secs(second));
            assert_eq!(users.idle.len(), 1);
        }
        assert_eq!((users.numbers.len(), users.users.len()), (1, 1));
    }

    #[test]
    fn a_minute_after_the_last_request_the_number_is_free() {
        let mut users = Users::default();
        let (ann, bob) = (users.meet(&"ann", CLASS, Nanos::ZERO), users.meet(&"bob", CLASS, Nanos::ZERO));
        assert_ne!(ann, bob);
        users.arrived(ann);
        users.arrived(bob);
        users.at_mut(ann).requests.release();
        users.over(ann, true, Nanos::from_secs(1));
        let minute = REMEMBERED + Nanos::from_secs(1);
        assert_eq!(users.forgotten(minute - Nanos(1)), None);
        assert_eq!(users.forgotten(minute), Some(ann));
        assert_eq!((users.number(&"ann"), users.number(&"bob")), (None, Some(bob)));
        assert_eq!(users.forgotten(Nanos::MAX), None, "bob still waits");
        assert_eq!(users.meet(&"cid", CLASS, minute), ann);
    }
}
