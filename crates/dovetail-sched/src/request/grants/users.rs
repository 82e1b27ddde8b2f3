//! Which of a class's requests goes next: fair between users, short before long.
//!
//! A user's *service* `S` is what their requests were charged, in units. `T` is their class's virtual time, and of the class's
//! users who have candidates
//!
//! ```text
//! T <- max(T, least S)                       whenever the class may go
//! behind:   S + slack/2 < T                  of these the user with the least goes, with the least rank of their candidates
//! eligible: S <= T + slack                   else the least rank among the eligible users' candidates goes
//! S <- max(S, T)                             when the user had no request and has one now
//! S <- max(S, T - slack - lag)               whenever the user has candidates
//! ```
//!
//! With `slack` 0 no user goes who is ahead of `T`, with `inf` the request with the least rank goes, whichever user's it
//! is. The user with the least service is always eligible.
//!
//! `T` is not held back by users who have no candidates for a moment: for a user with only one response that is so after
//! every turn. Others may be `slack` ahead of them by then, and that is not lost: they are behind, and go first as soon
//! as they can. What they were behind by more than that and `lag` is lost when they are put forward, and with longer
//! windows they would have had it.
//!
//! A user with candidates is in two queues of their class: by service with all others, and by their least rank if they are
//! eligible, else by service with those who are ahead. When `T` moves, those whom it reaches become eligible: each got ahead
//! by a turn or a charge of their own, so that is O(log n) for each of these.

use alloc::vec::Vec;

use super::{
    super::accounts::place,
    forest::{Forest, Queue},
    order::Rank,
};
use crate::request::{ClassId, RequestId, UserId};

/// Users' services and candidates, by class.
#[derive(Debug)]
pub(super) struct Users {
    slack: u64,
    lag: u64,
    users: Vec<User>,
    classes: Vec<Class>,
    candidates: Forest<Rank>,
    by_service: Forest<u64>,
    eligible: Forest<Rank>,
    ahead: Forest<u64>,
    n_candidates: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct User {
    service: u64,
    candidates: Queue,
    // They were further behind than the lag.
    lost: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    time: u64,
    by_service: Queue,
    eligible: Queue,
    ahead: Queue,
}

impl Users {
    /// `slack` and `lag` in units.
    pub(super) const fn new(slack: u64, lag: u64) -> Self {
        Self {
            slack,
            lag,
            users: Vec::new(),
            classes: Vec::new(),
            candidates: Forest::new(),
            by_service: Forest::new(),
            eligible: Forest::new(),
            ahead: Forest::new(),
            n_candidates: 0,
        }
    }

    /// The user had no request and has one now.
    pub(super) fn began(&mut self, user: UserId, class: ClassId) {
        let time = place(&mut self.classes, class.0).time;
        let user = place(&mut self.users, user.0);
        user.service = user.service.max(time);
    }

    /// The user's id is free.
    pub(super) fn forget(&mut self, user: UserId) {
        let user = place(&mut self.users, user.0);
        (user.service, user.lost) = (0, false);
    }

    /// The user is of another class. Their lead is kept there.
    pub(super) fn moved(&mut self, user: UserId, from: ClassId, to: ClassId) {
        let left = place(&mut self.classes, from.0);
        self.by_service.remove(&mut left.by_service, user.0);
        self.eligible.remove(&mut left.eligible, user.0);
        self.ahead.remove(&mut left.ahead, user.0);
        let left = left.time;
        let joined = place(&mut self.classes, to.0).time;
        let entry = place(&mut self.users, user.0);
        entry.service = joined.saturating_add(entry.service.saturating_sub(left));
        self.order(user, to);
    }

    /// The user's requests were charged so much more.
    pub(super) fn charge(&mut self, user: UserId, class: ClassId, units: u64) {
        let entry = place(&mut self.users, user.0);
        entry.service = entry.service.saturating_add(units);
        self.order(user, class);
    }

    /// The user's requests were charged so much less.
    pub(super) fn refund(&mut self, user: UserId, class: ClassId, units: u64) {
        let entry = place(&mut self.users, user.0);
        entry.service = entry.service.saturating_sub(units);
        self.order(user, class);
    }

    /// The request may have a turn, and has this rank.
    pub(super) fn put(&mut self, request: RequestId, user: UserId, class: ClassId, rank: Rank) {
        self.n_candidates += usize::from(!self.candidates.contains(request.0));
        let entry = place(&mut self.users, user.0);
        self.candidates.set(&mut entry.candidates, request.0, rank);
        self.order(user, class);
    }

    /// The request may not have a turn.
    pub(super) fn take(&mut self, request: RequestId, user: UserId, class: ClassId) {
        self.n_candidates -= usize::from(self.candidates.contains(request.0));
        let entry = place(&mut self.users, user.0);
        self.candidates.remove(&mut entry.candidates, request.0);
        self.order(user, class);
    }

    /// The request of the class that goes next, and its rank.
    pub(super) fn choose(&mut self, class: ClassId) -> Option<(Rank, RequestId)> {
        let line = self.classes.get_mut(class.0 as usize)?;
        let (first, least) = self.by_service.peek(line.by_service)?;
        if least.saturating_add(self.slack / 2) < line.time {
            let (request, rank) = self.candidates.peek(self.users[first as usize].candidates)?;
            return Some((rank, RequestId(request)));
        }
        line.time = line.time.max(least);
        let reach = line.time.saturating_add(self.slack);
        while let Some((user, service)) = self.ahead.peek(line.ahead)
            && service <= reach
        {
            self.ahead.remove(&mut line.ahead, user);
            let (_, rank) = self.candidates.peek(self.users[user as usize].candidates)?;
            self.eligible.set(&mut line.eligible, user, rank);
        }
        let (user, _) = self.eligible.peek(line.eligible)?;
        let (request, rank) = self.candidates.peek(self.users[user as usize].candidates)?;
        Some((rank, RequestId(request)))
    }

    /// Users are put forward to `lag` units behind from now on.
    pub(super) const fn set_lag(&mut self, lag: u64) {
        self.lag = lag;
    }

    pub(super) const fn slack(&self) -> u64 {
        self.slack
    }

    /// Whether the user was further behind than the lag since this was asked last.
    pub(super) fn has_lost(&mut self, user: UserId) -> bool {
        core::mem::take(&mut place(&mut self.users, user.0).lost)
    }

    /// Whether the user has candidates.
    pub(super) fn has_candidates(&self, user: UserId) -> bool {
        self.users.get(user.0 as usize).is_some_and(|user| !user.candidates.is_empty())
    }

    /// Whether a user of the class has candidates.
    pub(super) fn is_candidate(&self, class: ClassId) -> bool {
        self.classes.get(class.0 as usize).is_some_and(|class| !class.by_service.is_empty())
    }

    /// How many requests may have a turn.
    pub(super) const fn candidates(&self) -> usize {
        self.n_candidates
    }

    /// Puts the user where they belong in their class.
    fn order(&mut self, user: UserId, class: ClassId) {
        let line = place(&mut self.classes, class.0);
        let entry = place(&mut self.users, user.0);
        let Some((_, rank)) = self.candidates.peek(entry.candidates) else {
            self.by_service.remove(&mut line.by_service, user.0);
            self.eligible.remove(&mut line.eligible, user.0);
            self.ahead.remove(&mut line.ahead, user.0);
            return;
        };
        let floor = line.time.saturating_sub(self.lag.saturating_add(self.slack));
        if entry.service < floor {
            (entry.service, entry.lost) = (floor, true);
        }
        self.by_service.set(&mut line.by_service, user.0, entry.service);
        if entry.service <= line.time.saturating_add(self.slack) {
            self.ahead.remove(&mut line.ahead, user.0);
            self.eligible.set(&mut line.eligible, user.0, rank);
        } else {
            self.eligible.remove(&mut line.eligible, user.0);
            self.ahead.set(&mut line.ahead, user.0, entry.service);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const CLASS: ClassId = ClassId(0);

    /// User 0 with two requests of ranks 5 and 6, user 1 with one of rank 1, user 2 with one of rank 9. What goes when each
    /// turn costs 100 units and requests stay.
    fn order(slack: u64, turns: usize) -> Vec<u32> {
        let mut users = Users::new(slack, 1000);
        for (request, (user, key)) in [(0, 5), (0, 6), (1, 1), (2, 9)].into_iter().enumerate() {
            users.put(RequestId(request as u32), UserId(user), CLASS, Rank { key, number: 0 });
        }
        let owner = [0, 0, 1, 2];
        let mut turn = || {
            let (_, request) = users.choose(CLASS).expect("a candidate");
            users.charge(UserId(owner[request.0 as usize]), CLASS, 100);
            request.0
        };
        (0..turns).map(|_| turn()).collect()
    }

    #[test]
    fn slack_lies_between_a_share_for_every_user_and_the_shortest_of_all() {
        assert_eq!(order(0, 6), [2, 0, 3, 2, 0, 3]);
        assert_eq!(order(100, 7), [2, 2, 0, 0, 3, 2, 0]);
        assert_eq!(order(u64::MAX, 4), [2; 4]);
    }

    #[test]
    fn who_was_away_is_not_repaid_more_than_the_lag() {
        let mut users = Users::new(0, 300);
        let rank = Rank::default();
        users.put(RequestId(0), UserId(0), CLASS, rank);
        for _ in 0..10 {
            users.choose(CLASS);
            users.charge(UserId(0), CLASS, 100);
        }
        users.choose(CLASS);
        users.put(RequestId(1), UserId(1), CLASS, rank);
        let mut turns = Vec::new();
        for _ in 0..8 {
            let request = users.choose(CLASS).expect("a candidate").1.0;
            users.charge(UserId(request), CLASS, 100);
            turns.push(request);
        }
        // User 0 is at 1,000, as is T, and user 1 starts at 700.
        assert_eq!(turns, [1, 1, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_user_who_moves_takes_their_lead_along() {
        let mut users = Users::new(0, 0);
        let other = ClassId(1);
        users.put(RequestId(0), UserId(0), CLASS, Rank::default());
        users.charge(UserId(0), CLASS, 500);
        users.put(RequestId(1), UserId(1), other, Rank::default());
        users.charge(UserId(1), other, 2000);
        users.choose(other);
        users.moved(UserId(0), CLASS, other);
        assert!(!users.is_candidate(CLASS));
        assert_eq!(users.users[0].service, 2500);
        assert_eq!(users.choose(other).map(|(_, request)| request), Some(RequestId(1)));
    }
}
