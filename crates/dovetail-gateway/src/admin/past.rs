//! Bytes received for each user in the last hour, in steps of ten seconds.
//!
//! Kept for at most [`MAX_USERS`] at a time, the most recently active: four bytes per step, at most 1,440 per user and 720 kB
//! in total. In addition each known user has a counter, as long as the dispatcher remembers them.

use std::collections::{HashMap, VecDeque};

use dovetail_sched::Nanos;
use dovetail_tower::dispatcher::UserView;
use serde::Serialize;

use crate::who::Who;

/// Seconds between two samples.
pub(super) const STEP_S: u64 = 10;
/// Number of samples kept: an hour.
pub(super) const MAX_SAMPLES: usize = 360;
/// Maximum number of users whose past is kept.
pub(super) const MAX_USERS: usize = 500;

/// The past of all users.
#[derive(Debug, Default)]
pub(super) struct Past {
    known: HashMap<Who, u64>,
    users: HashMap<Who, Rates>,
    taken: u64,
    at: Nanos,
}

/// The past of one user.
#[derive(Debug)]
struct Rates {
    bytes_per_s: VecDeque<f32>,
    // The number of the last sample with any bytes.
    last: u64,
}

/// A user's past as presented.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct UserPast {
    /// Seconds between two values.
    step_s: u64,
    /// When the last value was taken, in seconds since the gateway's start.
    at_s: f64,
    /// Values, oldest first.
    bytes_per_s: Vec<f32>,
}

impl Past {
    /// Takes a sample; to be called every ten seconds. O(users).
    pub(super) fn take(&mut self, now: Nanos, users: &[UserView<Who>]) {
        let seconds = (now - self.at).as_secs_f64();
        self.at = now;
        self.taken += 1;
        let mut came: HashMap<&Who, f32> = HashMap::new();
        for user in users {
            let before = self.known.get(&user.who).copied().unwrap_or(0);
            // A user who was forgotten meanwhile starts at zero again.
            let bytes = user.units.checked_sub(before).unwrap_or(user.units);
            if bytes > 0 && seconds > 0.0 {
                came.insert(&user.who, (bytes as f64 / seconds) as f32);
            }
        }
        for (who, rates) in &mut self.users {
            let rate = came.remove(who);
            if rate.is_some() {
                rates.last = self.taken;
            }
            rates.add(rate.unwrap_or(0.0));
        }
        self.users.retain(|_, rates| self.taken - rates.last < MAX_SAMPLES as u64);
        let mut new: Vec<_> = came.into_iter().collect();
        new.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.make_room(new.len());
        new.truncate(MAX_USERS - self.users.len());
        for (who, rate) in new {
            let rates = Rates { bytes_per_s: VecDeque::from([rate]), last: self.taken };
            self.users.insert(who.clone(), rates);
        }
        self.known = users.iter().map(|user| (user.who.clone(), user.units)).collect();
    }

    /// Drops the users who have been silent for longest to make room for `new` ones. Users active at the moment stay.
    fn make_room(&mut self, new: usize) {
        let too_many = (self.users.len() + new).saturating_sub(MAX_USERS);
        if too_many == 0 {
            return;
        }
        let now = self.taken;
        let mut silent: Vec<_> = self
            .users
            .iter()
            .filter(|(_, rates)| rates.last < now)
            .map(|(who, rates)| (rates.last, who.clone()))
            .collect();
        silent.sort_by_key(|(last, _)| *last);
        for (_, who) in silent.into_iter().take(too_many) {
            self.users.remove(&who);
        }
    }

    /// The past of the user with this name or address, whatever the hosts of the requests; without values if nothing is known.
    /// O(users).
    pub(super) fn of(&self, name: &str) -> UserPast {
        let mut newest_first: Vec<f32> = Vec::new();
        for (_, rates) in self.users.iter().filter(|(who, _)| who.is_called(name)) {
            newest_first.resize(newest_first.len().max(rates.bytes_per_s.len()), 0.0);
            newest_first.iter_mut().zip(rates.bytes_per_s.iter().rev()).for_each(|(sum, rate)| *sum += rate);
        }
        let bytes_per_s = newest_first.into_iter().rev().collect();
        UserPast { step_s: STEP_S, at_s: self.at.as_secs_f64(), bytes_per_s }
    }
}

impl Rates {
    fn add(&mut self, rate: f32) {
        if self.bytes_per_s.len() == MAX_SAMPLES {
            self.bytes_per_s.pop_front();
        }
        self.bytes_per_s.push_back(rate);
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::request::ClassId;

    use super::*;

    fn user(number: u32, units: u64) -> UserView<Who> {
        let who = Who::Address(std::net::Ipv4Addr::from(number).into());
        UserView { who, class: ClassId(0), live: 1, units, requests: 1 }
    }

    fn at(step: u64) -> Nanos {
        Nanos::from_secs(STEP_S * step)
    }

    #[test]
    fn a_users_past_is_what_came_in_each_ten_seconds() {
        let mut past = Past::default();
        past.take(at(1), &[user(1, 5_000)]);
        past.take(at(2), &[user(1, 5_000), user(2, 0)]);
        past.take(at(3), &[user(1, 25_000)]);
        past.take(at(4), &[]);
        past.take(at(5), &[user(1, 1_000)]);
        let of = past.of("0.0.0.1");
        assert_eq!((of.bytes_per_s, of.at_s), (vec![500.0, 0.0, 2_000.0, 0.0, 100.0], 50.0));
        assert_eq!(past.of("0.0.0.2").bytes_per_s, Vec::<f32>::new(), "nothing has come");
    }

    #[test]
    fn what_came_from_hosts_with_a_class_of_their_own_is_the_users_too() {
        let mut past = Past::default();
        let own = user(1, 5_000);
        let towards = UserView { who: own.who.towards(ClassId(1)), units: 1_000, ..own.clone() };
        past.take(at(1), std::slice::from_ref(&own));
        past.take(at(2), &[own, towards]);
        assert_eq!(past.of("0.0.0.1").bytes_per_s, [500.0, 100.0]);
    }

    #[test]
    fn an_hour_is_kept_and_who_is_silent_for_longer_is_forgotten() {
        let mut past = Past::default();
        past.take(at(1), &[user(2, 10)]);
        for step in 2..=400 {
            past.take(at(step), &[user(1, 10 * step)]);
        }
        assert_eq!((past.of("0.0.0.1").bytes_per_s.len(), past.users.len()), (MAX_SAMPLES, 1));
    }

    #[test]
    fn no_more_users_than_that_are_kept_and_the_silent_go_first() {
        let mut past = Past::default();
        let all = |from: u32, count: u32, units| (from..from + count).map(|n| user(n, units)).collect::<Vec<_>>();
        past.take(at(1), &all(0, 400, 100));
        past.take(at(2), &[all(100, 300, 200), all(1_000, 200, 100)].concat());
        assert_eq!(past.users.len(), MAX_USERS);
        assert!((100..400).all(|n| past.users.contains_key(&user(n, 0).who)), "who is active stays");
        past.take(at(3), &all(10_000, 9_000, 100));
        assert_eq!(past.users.len(), MAX_USERS);
        past.take(at(4), &all(10_000, 9_000, 300));
        assert!(past.users.len() == MAX_USERS && past.known.len() == 9_000);
    }
}
