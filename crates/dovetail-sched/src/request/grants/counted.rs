//! Which users' parts count.
//!
//! A class has a part of the link for each active user. A user whose requests are all released and who received nothing for a
//! while, because the servers that they wait for are dead, needs no part: thousands of such users must not multiply their
//! class's share. So they stop counting after `silence` and count again when something happens. A user who received nothing at
//! all of their last response, because it was cancelled or broken off, is *doubted*: with their next requests they count only
//! from the first unit on. Otherwise users who keep requesting from dead servers would always count.
//!
//! Users without candidates are kept in a list in the order of their last events, so the one whose silence ends next is in
//! front. Every step is O(1).

use alloc::vec::Vec;

use super::super::accounts::slot_mut;
use crate::{Nanos, request::UserId};

const NONE: u32 = u32::MAX;

/// Which users count.
#[derive(Debug)]
pub(super) struct Counted {
    silence: Nanos,
    users: Vec<User>,
    // The ends of the list: the user whose last event is oldest, and the latest.
    first: u32,
    last: u32,
    silent: u32,
}

#[derive(Debug, Clone, Copy)]
struct User {
    is: Is,
    doubted: bool,
    heard: Nanos,
    before: u32,
    after: u32,
}

impl Default for User {
    fn default() -> Self {
        Self { is: Is::Idle, doubted: false, heard: Nanos::ZERO, before: NONE, after: NONE }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    /// Has no requests.
    Idle,
    /// Counts, and has candidates.
    Busy,
    /// Counts and is in the list: all requests are released.
    Listed,
    /// Silent for too long, or doubted.
    Silent,
}

impl Counted {
    /// Sets how long a user counts after an event, from now on.
    pub(super) const fn set_silence(&mut self, silence: Nanos) {
        self.silence = silence;
    }

    pub(super) const fn new(silence: Nanos) -> Self {
        Self { silence, users: Vec::new(), first: NONE, last: NONE, silent: 0 }
    }

    /// Records an event of an active user. Returns whether they count again, or for the first time.
    pub(super) fn heard(&mut self, user: UserId) -> bool {
        let entry = slot_mut(&mut self.users, user.0);
        let was = entry.is;
        match was {
            Is::Busy | Is::Listed => return false,
            Is::Idle | Is::Silent if entry.doubted => {
                entry.is = Is::Silent;
                self.silent += u32::from(was == Is::Idle);
                return false;
            }
            Is::Idle | Is::Silent => entry.is = Is::Busy,
        }
        self.silent -= u32::from(was == Is::Silent);
        true
    }

    /// The user received nothing of a response that is over.
    pub(super) fn doubt(&mut self, user: UserId) {
        slot_mut(&mut self.users, user.0).doubted = true;
    }

    /// The user receives something, or the id is another user's from now on.
    pub(super) fn trust(&mut self, user: UserId) {
        slot_mut(&mut self.users, user.0).doubted = false;
    }

    /// Completes the event of an active user; `candidates`: whether they have any.
    pub(super) fn heard_until(&mut self, user: UserId, candidates: bool, now: Nanos) {
        self.unlist(user);
        let last = self.last;
        let entry = &mut self.users[user.0 as usize];
        entry.heard = now;
        if entry.is == Is::Silent {
            return;
        }
        if candidates {
            entry.is = Is::Busy;
            return;
        }
        *entry = User { is: Is::Listed, before: last, after: NONE, ..*entry };
        self.last = user.0;
        match self.users.get_mut(last as usize) {
            Some(before) => before.after = user.0,
            None => self.first = user.0,
        }
    }

    /// The user has no requests any more. Returns whether they counted.
    pub(super) fn idle(&mut self, user: UserId) -> bool {
        self.unlist(user);
        let was = core::mem::replace(&mut slot_mut(&mut self.users, user.0).is, Is::Idle);
        self.silent -= u32::from(was == Is::Silent);
        matches!(was, Is::Busy | Is::Listed)
    }

    /// Whether the user counts.
    pub(super) fn counts(&self, user: UserId) -> bool {
        self.users.get(user.0 as usize).is_some_and(|entry| matches!(entry.is, Is::Busy | Is::Listed))
    }

    /// Takes a user who has been silent for too long; they no longer count.
    pub(super) fn expire(&mut self, now: Nanos) -> Option<UserId> {
        let entry = self.users.get(self.first as usize)?;
        if now - entry.heard < self.silence {
            return None;
        }
        let user = UserId(self.first);
        self.unlist(user);
        self.users[user.0 as usize].is = Is::Silent;
        self.silent += 1;
        Some(user)
    }

    /// The number of active users who do not count.
    pub(super) const fn silent(&self) -> u32 {
        self.silent
    }

    fn unlist(&mut self, user: UserId) {
        let User { is, before, after, .. } = *slot_mut(&mut self.users, user.0);
        if is != Is::Listed {
            return;
        }
        match self.users.get_mut(before as usize) {
            Some(entry) => entry.after = after,
            None => self.first = after,
        }
        match self.users.get_mut(after as usize) {
            Some(entry) => entry.before = before,
            None => self.last = before,
        }
        self.users[user.0 as usize].is = Is::Busy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Nanos = Nanos::from_secs(5);

    fn heard(counted: &mut Counted, user: u32, candidates: bool, second: u64) -> bool {
        let begins = counted.heard(UserId(user));
        counted.heard_until(UserId(user), candidates, Nanos::from_secs(second));
        begins
    }

    #[test]
    fn who_is_silent_for_long_counts_no_more_until_something_happens() {
        let mut counted = Counted::new(SILENCE);
        assert!((0..4).all(|user| heard(&mut counted, user, user == 3, user.into())));
        assert!(!heard(&mut counted, 0, false, 4));
        let mut expired = |second| counted.expire(Nanos::from_secs(second)).map(|user| user.0);
        assert_eq!(
            [expired(5), expired(6), expired(6), expired(8), expired(9)],
            [None, Some(1), None, Some(2), Some(0)]
        );
        // A user with candidates waits for the gateway, not for a server.
        assert_eq!(expired(1000), None);
        assert_eq!(counted.silent(), 3);
        assert!(heard(&mut counted, 2, false, 1000) && counted.counts(UserId(2)));
        assert!(counted.idle(UserId(2)) && counted.idle(UserId(3)));
        assert!(!counted.idle(UserId(0)) && !counted.idle(UserId(1)));
        assert_eq!((counted.first, counted.last, counted.silent()), (NONE, NONE, 0));
    }
}
