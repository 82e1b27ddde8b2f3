//! Which of a class's requests goes next: fair between users, short before long.
//!
//! A user's *service* `S` is what their requests were charged, in units. `T` is their class's virtual time, `L` the least `S` of
//! the class's users who have candidates, and of these
//!
//! ```text
//! T <- max(T, L)                             whenever the class may go
//! behind:   L + slack/2 < T                  the user who has L goes, with the least rank of their candidates
//! eligible: S <= T + slack                   else the least rank among the eligible users' candidates goes
//! leading:  S + left <= T + lead             but a candidate goes before that one if its rank + (S - L)/2 is less
//! S <- max(S, T)                             when the user had no request and has one now
//! S <- max(S, T - slack - lag)               whenever the user has candidates
//! ```
//!
//! With `slack` 0 no user goes who is ahead of `T`, with `inf` the request with the least rank goes, whichever user's it
//! is. The user with the least service is always eligible.
//!
//! `lead` is eight times the slack. A page of a megabyte goes before downloads with all of its responses, though its user is soon
//! ahead by more than the slack: each of them ends within the lead, and counts as larger by half of what the user is
//! ahead. What is left of a download is more than the lead, so downloads share as if there were none. And who has responses
//! as short goes before those who are far ahead. A response whose length is not known leads until it has had the slack.
//!
//! `T` is not held back by users who have no candidates for a moment: for a user with only one response that is so after
//! every turn. Others may be `slack` ahead of them by then, and that is not lost: they are behind, and go first as soon
//! as they can. What they were behind by more than that and `lag` is *lost* when they are put forward, and with longer
//! windows they would have had it. That is remembered until a window of theirs grows or they catch up: a response that others
//! kept waiting does not show at its next turn that its window is too short.
//!
//! A user with candidates is in three queues of their class: by service with all others; by their least rank if they are
//! eligible, else by service with those who are ahead; and by rank and service if they are leading, else by where their response
//! would end. When `T` moves, those whom it reaches become eligible or leading: each got ahead by a turn or a charge of their
//! own, so that is O(log n) for each of these.

use alloc::vec::Vec;

use super::{
    super::accounts::place,
    forest::{Forest, Queue},
    order::Rank,
};
use crate::request::{ClassId, RequestId, UserId};

/// How many times the slack a user may lead others by: with the default 2 MB, a page of the web.
const LEADS: u64 = 8;

/// Users' services and candidates, by class.
#[derive(Debug)]
pub(super) struct Users {
    slack: u64,
    lead: u64,
    lag: u64,
    users: Vec<User>,
    classes: Vec<Class>,
    candidates: Forest<Rank>,
    by_service: Forest<u64>,
    eligible: Forest<Rank>,
    ahead: Forest<u64>,
    leading: Forest<Rank>,
    far: Forest<u64>,
    n_candidates: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct User {
    service: u64,
    candidates: Queue,
    // They were further behind than the lag, and are still behind.
    lost: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    time: u64,
    by_service: Queue,
    eligible: Queue,
    ahead: Queue,
    leading: Queue,
    far: Queue,
}

impl Users {
    /// `slack` and `lag` in units.
    pub(super) const fn new(slack: u64, lag: u64) -> Self {
        Self {
            slack,
            lead: slack.saturating_mul(LEADS),
            lag,
            users: Vec::new(),
            classes: Vec::new(),
            candidates: Forest::new(),
            by_service: Forest::new(),
            eligible: Forest::new(),
            ahead: Forest::new(),
            leading: Forest::new(),
            far: Forest::new(),
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
        self.leave(user, from);
        let left = place(&mut self.classes, from.0).time;
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
        let (least, service) = self.by_service.peek(line.by_service)?;
        let is_behind = service.saturating_add(self.slack / 2) < line.time;
        line.time = line.time.max(service);
        while let Some((user, service)) = self.ahead.peek(line.ahead)
            && service <= line.time.saturating_add(self.slack)
        {
            self.ahead.remove(&mut line.ahead, user);
            let (_, rank) = self.candidates.peek(self.users[user as usize].candidates)?;
            self.eligible.set(&mut line.eligible, user, rank);
        }
        while let Some((user, ends)) = self.far.peek(line.far)
            && ends <= line.time.saturating_add(self.lead)
        {
            self.far.remove(&mut line.far, user);
            let entry = &self.users[user as usize];
            let (_, rank) = self.candidates.peek(entry.candidates)?;
            self.leading.set(&mut line.leading, user, rank.later(entry.service / 2));
        }
        let first = self.eligible.peek(line.eligible).filter(|_| !is_behind).map_or(least, |(user, _)| user);
        let (request, rank) = self.candidates.peek(self.users[first as usize].candidates)?;
        if let Some((user, late)) = self.leading.peek(line.leading)
            && late < rank.later(service / 2)
        {
            let (request, rank) = self.candidates.peek(self.users[user as usize].candidates)?;
            return Some((rank, RequestId(request)));
        }
        Some((rank, RequestId(request)))
    }

    /// Users are put forward to `lag` units behind from now on.
    pub(super) const fn set_lag(&mut self, lag: u64) {
        self.lag = lag;
    }

    pub(super) const fn slack(&self) -> u64 {
        self.slack
    }

    /// Whether the user was further behind than the lag since they caught up, or a window grew for that.
    pub(super) fn has_lost(&self, user: UserId) -> bool {
        self.users.get(user.0 as usize).is_some_and(|user| user.lost)
    }

    /// A window of the user's grew for what they lost.
    pub(super) fn makes_good(&mut self, user: UserId) {
        place(&mut self.users, user.0).lost = false;
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
            self.leave(user, class);
            return;
        };
        let floor = line.time.saturating_sub(self.lag.saturating_add(self.slack));
        if entry.service < floor {
            (entry.service, entry.lost) = (floor, true);
        }
        entry.lost &= entry.service < line.time;
        self.by_service.set(&mut line.by_service, user.0, entry.service);
        if entry.service <= line.time.saturating_add(self.slack) {
            self.ahead.remove(&mut line.ahead, user.0);
            self.eligible.set(&mut line.eligible, user.0, rank);
        } else {
            self.eligible.remove(&mut line.eligible, user.0);
            self.ahead.set(&mut line.ahead, user.0, entry.service);
        }
        let is_long = rank.is_guess && rank.left > self.slack;
        let ends = if is_long { u64::MAX } else { entry.service.saturating_add(rank.left) };
        if ends <= line.time.saturating_add(self.lead) {
            self.far.remove(&mut line.far, user.0);
            self.leading.set(&mut line.leading, user.0, rank.later(entry.service / 2));
        } else {
            self.leading.remove(&mut line.leading, user.0);
            self.far.set(&mut line.far, user.0, ends);
        }
    }

    /// The user is in none of the class's queues.
    fn leave(&mut self, user: UserId, class: ClassId) {
        let line = place(&mut self.classes, class.0);
        self.by_service.remove(&mut line.by_service, user.0);
        self.eligible.remove(&mut line.eligible, user.0);
        self.ahead.remove(&mut line.ahead, user.0);
        self.leading.remove(&mut line.leading, user.0);
        self.far.remove(&mut line.far, user.0);
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
            users.put(RequestId(request as u32), UserId(user), CLASS, Rank { key, ..Rank::default() });
        }
        let owner = [0, 0, 1, 2];
        let mut turn = || {
            let request = users.choose(CLASS).expect("a candidate").1.0;
            users.charge(UserId(owner[request as usize]), CLASS, 100);
            request
        };
        (0..turns).map(|_| turn()).collect()
    }

    #[test]
    fn slack_lies_between_a_share_for_every_user_and_the_shortest_of_all() {
        assert_eq!(order(0, 6), [2, 0, 3, 2, 0, 3]);
        assert_eq!(order(100, 7), [2, 2, 0, 0, 3, 2, 0]);
        assert_eq!(order(u64::MAX, 4), [2; 4]);
    }

    /// A user with a download of a megabyte, one with two such, and one with images of 20,000 units, of which the last begins
    /// anew as often as `images` says. Turns of 1,000 units; what each had when the images have ended, or after `turns`.
    fn page(slack: u64, images: u32, turns: usize) -> [u64; 3] {
        let mut users = Users::new(slack, 30_000);
        let rank = |left: u64, number: u64| Rank { key: left, number, left, is_guess: false };
        let owner = [0, 1, 1, 2];
        let mut left = [1_000_000, 1_000_000, 1_000_000, 20_000];
        let (mut had, mut to_come) = ([0; 3], images);
        for request in 0..4 {
            users.put(RequestId(request), UserId(owner[request as usize]), CLASS, rank(left[request as usize], 0));
        }
        for number in 1..=turns {
            let (_, request) = users.choose(CLASS).expect("a candidate");
            let at = request.0 as usize;
            let user = UserId(owner[at]);
            users.take(request, user, CLASS);
            users.charge(user, CLASS, 1_000);
            had[user.0 as usize] += 1_000;
            left[at] -= 1_000;
            if left[at] == 0 && at == 3 {
                to_come -= 1;
                left[at] = 20_000;
            }
            if to_come == 0 {
                break;
            }
            users.put(request, user, CLASS, rank(left[at], number as u64));
        }
        had
    }

    #[test]
    fn a_page_goes_before_downloads_though_its_user_is_far_ahead() {
        // All 600,000 units of it at once, and not a third more than downloads that share.
        assert_eq!(page(100_000, 30, 10_000), [0, 0, 600_000]);
        // With no slack it has its third.
        assert_eq!(page(0, 30, 10_000), [599_000, 599_000, 600_000]);
    }

    #[test]
    fn no_user_gets_farther_ahead_by_short_responses_than_the_lead() {
        let [one, two, short] = page(50_000, 1_000, 1_100);
        assert!(one.abs_diff(two) <= 50_000 + 1_000, "{one} and {two}");
        let ahead = short - one.min(two);
        assert!((400_000 - 20_000..=400_000 + 1_000).contains(&ahead), "{ahead}");
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
