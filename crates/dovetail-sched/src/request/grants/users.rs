//! Which of a class's requests goes next: fair between users, short before long.
//!
//! A user's *service* `S` is what their requests were charged, in units, and `D` the part of it that was *lent*: charged for
//! turns by the third rule below. `T` is their class's virtual time, and `L` the least `S` of the class's users who have
//! candidates:
//!
//! ```text
//! T <- max(T, L - D)                         whenever the class may go, D being that of the user who has L
//! behind:   L + slack/2 < T                  the user who has L goes, with the least rank of their candidates
//! eligible: S <= T + slack                   else the least rank among the eligible users' candidates goes
//! leading:  S + left <= T + user-lead        but a candidate goes before that one if its rank + (S - min(L, T))/2 is less
//! S <- max(S, T)                             when the user had no request and has one now
//! S <- max(S, T - slack - lag)               whenever the user has candidates
//! D <- min(D, S - T)                         before S changes, and 0 at a turn of a user who alone has requests
//! ```
//!
//! With `slack` 0 no user goes who is ahead of `T`, with `inf` the request with the least rank goes, whichever user's it is. If
//! all users are ahead of `T` by more than the slack, the one with the least service goes.
//!
//! `T` does not wait for users who momentarily have no candidates: for a user with only one response that is so after every
//! turn. Others may be `slack` ahead of them by then, and that is not lost: they are behind, and go first as soon as they can.
//! What they were behind by more than that and `lag` is lost when they are put forward; with longer windows they would have had
//! it.
//!
//! With a `user-lead` a page of a megabyte is ahead of other users' downloads by all of it, although its user is soon ahead by
//! more than the slack: each of its responses ends within the lead, and counts as larger by half of what the user is ahead.
//! What is left of a download is more than the lead, so downloads share as if there were none. A response of unknown length is
//! assumed to have half as much left as it has had so far: of sizes with a tail index of 1.7 every other one ends before that.
//! So it leads until its user is ahead by about two thirds of the lead (a page in an HTTP/2 tunnel by 1.3 MB), and never again,
//! since eight tunnels would otherwise lead on and on, each by a little less, until each has had the whole lead. `T` stays
//! where it would be without such turns: if it moved up to leading users whenever others momentarily have no candidate, the
//! amount by which those are behind would be lost, and the leading users would lead anew, for ever. So what was lent is repaid
//! in full before the user leads again. A user who is alone owes nothing. A user who is being repaid gets longer windows if
//! windows are what limits them: with windows that bring little more than a share, repaying takes minutes.
//!
//! A user with candidates is in two or three queues of their class: by service with all others; by their least rank if they are
//! eligible, else by service with those who are ahead; and with a `user-lead` by rank and service if they are leading, else by
//! where their response would end. When `T` moves, users whom it reaches become eligible or leading: each got ahead by a turn
//! or a charge of their own, so that is O(log n) for each of these.

use alloc::vec::Vec;

use super::{
    super::accounts::slot_mut,
    forest::{Forest, Queue},
    order::Rank,
};
use crate::request::{ClassId, RequestId, UserId};

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
    // The part of the service charged for turns before others who had had less.
    lent: u64,
    candidates: Queue,
    // They were further behind than the lag.
    lost: bool,
    // Their last turn was before others who had had less.
    leads: bool,
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

/// The next turn of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) request: RequestId,
    pub(super) rank: Rank,
    /// Whether it goes before the one that the class's other rules put first.
    pub(super) leads: bool,
    /// Whether other users are so far ahead that they were lent turns, and must repay them.
    pub(super) is_owed: bool,
}

impl User {
    /// Limits what is still lent to what the user is ahead.
    fn settle(&mut self, time: u64) {
        self.lent = self.lent.min(self.service.saturating_sub(time));
    }
}

impl Users {
    /// All arguments are in units.
    pub(super) const fn new(slack: u64, lead: u64, lag: u64) -> Self {
        Self {
            slack,
            lead,
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
        let time = slot_mut(&mut self.classes, class.0).time;
        let user = slot_mut(&mut self.users, user.0);
        user.service = user.service.max(time);
    }

    /// The user's id is free.
    pub(super) fn forget(&mut self, user: UserId) {
        let user = slot_mut(&mut self.users, user.0);
        (user.service, user.lent, user.lost, user.leads) = (0, 0, false, false);
    }

    /// The user moves to another class, and keeps their lead there.
    pub(super) fn moved(&mut self, user: UserId, from: ClassId, to: ClassId) {
        self.leave(user, from);
        let left = slot_mut(&mut self.classes, from.0).time;
        let joined = slot_mut(&mut self.classes, to.0).time;
        let entry = slot_mut(&mut self.users, user.0);
        entry.settle(left);
        entry.service = joined.saturating_add(entry.service.saturating_sub(left));
        self.order(user, to);
    }

    /// Charges the user's requests.
    pub(super) fn charge(&mut self, user: UserId, class: ClassId, units: u64) {
        let time = slot_mut(&mut self.classes, class.0).time;
        let entry = slot_mut(&mut self.users, user.0);
        entry.settle(time);
        entry.service = entry.service.saturating_add(units);
        if entry.leads {
            entry.lent = entry.lent.saturating_add(units);
        }
        self.order(user, class);
    }

    /// Refunds the user's requests.
    pub(super) fn refund(&mut self, user: UserId, class: ClassId, units: u64) {
        let time = slot_mut(&mut self.classes, class.0).time;
        let entry = slot_mut(&mut self.users, user.0);
        entry.settle(time);
        entry.service = entry.service.saturating_sub(units);
        entry.lent = entry.lent.saturating_sub(units);
        self.order(user, class);
    }

    /// Whether the user would be ahead by more than the lead at the end of a response with `left` units left.
    pub(super) fn is_too_long(&self, left: u64, user: UserId, class: ClassId) -> bool {
        let time = self.classes.get(class.0 as usize).map_or(0, |class| class.time);
        let service = self.users.get(user.0 as usize).map_or(0, |user| user.service);
        service.saturating_add(left) > time.saturating_add(self.lead)
    }

    /// The request may have a turn, with this rank.
    pub(super) fn put(&mut self, request: RequestId, user: UserId, class: ClassId, rank: Rank) {
        self.n_candidates += usize::from(!self.candidates.contains(request.0));
        let entry = slot_mut(&mut self.users, user.0);
        self.candidates.set(&mut entry.candidates, request.0, rank);
        self.order(user, class);
    }

    /// The request may not have a turn.
    pub(super) fn take(&mut self, request: RequestId, user: UserId, class: ClassId) {
        self.n_candidates -= usize::from(self.candidates.contains(request.0));
        let entry = slot_mut(&mut self.users, user.0);
        self.candidates.remove(&mut entry.candidates, request.0);
        self.order(user, class);
    }

    /// Chooses the class's next request.
    pub(super) fn choose(&mut self, class: ClassId) -> Option<Choice> {
        let line = self.classes.get_mut(class.0 as usize)?;
        let (least, service) = self.by_service.peek(line.by_service)?;
        let is_behind = service.saturating_add(self.slack / 2) < line.time;
        line.time = line.time.max(service.saturating_sub(self.users[least as usize].lent));
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
        let is_far = |service: u64| service > line.time.saturating_add(self.slack).saturating_add(self.lag);
        let is_owed = self.lead > 0 && self.ahead.peek(line.ahead).is_some_and(|(_, service)| is_far(service));
        let first = self.eligible.peek(line.eligible).filter(|_| !is_behind).map_or(least, |(user, _)| user);
        let (request, rank) = self.candidates.peek(self.users[first as usize].candidates)?;
        if let Some((user, late)) = self.leading.peek(line.leading)
            && late < rank.later(service.min(line.time) / 2)
        {
            let (request, rank) = self.candidates.peek(self.users[user as usize].candidates)?;
            return Some(Choice { request: RequestId(request), rank, leads: true, is_owed: false });
        }
        Some(Choice { request: RequestId(request), rank, leads: false, is_owed })
    }

    /// The user has a turn. If it `leads`, the user's charges until the next one are lent to them, unless the user is alone.
    /// Returns whether they are.
    pub(super) fn goes(&mut self, user: UserId, leads: bool, is_alone: bool) -> bool {
        let entry = slot_mut(&mut self.users, user.0);
        entry.leads = leads && !is_alone;
        if is_alone {
            entry.lent = 0;
        }
        entry.leads
    }

    /// From now on users are put forward to `lag` units behind.
    pub(super) const fn set_lag(&mut self, lag: u64) {
        self.lag = lag;
    }

    pub(super) const fn slack(&self) -> u64 {
        self.slack
    }

    pub(super) const fn lead(&self) -> u64 {
        self.lead
    }

    /// Whether the user was further behind than the lag since the last call.
    pub(super) fn take_lost(&mut self, user: UserId) -> bool {
        core::mem::take(&mut slot_mut(&mut self.users, user.0).lost)
    }

    /// Whether the user has candidates.
    pub(super) fn has_candidates(&self, user: UserId) -> bool {
        self.users.get(user.0 as usize).is_some_and(|user| !user.candidates.is_empty())
    }

    /// Whether a user of the class has candidates.
    pub(super) fn is_candidate(&self, class: ClassId) -> bool {
        self.classes.get(class.0 as usize).is_some_and(|class| !class.by_service.is_empty())
    }

    /// The number of requests that may have a turn.
    pub(super) const fn candidates(&self) -> usize {
        self.n_candidates
    }

    /// Updates the user's places in the class's queues.
    fn order(&mut self, user: UserId, class: ClassId) {
        let line = slot_mut(&mut self.classes, class.0);
        let entry = slot_mut(&mut self.users, user.0);
        let Some((_, rank)) = self.candidates.peek(entry.candidates) else {
            self.leave(user, class);
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
        let ends = entry.service.saturating_add(rank.left);
        if self.lead == 0 {
            self.leading.remove(&mut line.leading, user.0);
            self.far.remove(&mut line.far, user.0);
        } else if ends <= line.time.saturating_add(self.lead) {
            self.far.remove(&mut line.far, user.0);
            self.leading.set(&mut line.leading, user.0, rank.later(entry.service / 2));
        } else {
            self.leading.remove(&mut line.leading, user.0);
            self.far.set(&mut line.far, user.0, ends);
        }
    }

    /// Removes the user from all of the class's queues.
    fn leave(&mut self, user: UserId, class: ClassId) {
        let line = slot_mut(&mut self.classes, class.0);
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

    /// User 0 has two requests of ranks 5 and 6, user 1 one of rank 1, user 2 one of rank 9. Returns what goes when each turn
    /// costs 100 units and requests stay.
    fn order(slack: u64, turns: usize) -> Vec<u32> {
        let mut users = Users::new(slack, 0, 1000);
        for (request, (user, key)) in [(0, 5), (0, 6), (1, 1), (2, 9)].into_iter().enumerate() {
            users.put(RequestId(request as u32), UserId(user), CLASS, Rank { key, ..Rank::default() });
        }
        let owner = [0, 0, 1, 2];
        let mut turn = || {
            let request = users.choose(CLASS).expect("a candidate").request.0;
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

    /// A user with a download of a megabyte, one with two such, and one with images of 20,000 units, the last of which begins
    /// anew as often as `images` says. Turns of 1,000 units. Returns what each had when the images have ended, or after
    /// `turns`.
    fn page(slack: u64, lead: u64, images: u32, turns: usize) -> [u64; 3] {
        let mut users = Users::new(slack, lead, 30_000);
        let rank = |left: u64, number: u64| Rank { key: left, number, left };
        let owner = [0, 1, 1, 2];
        let mut left = [1_000_000, 1_000_000, 1_000_000, 20_000];
        let (mut had, mut to_come) = ([0; 3], images);
        for request in 0..4 {
            users.put(RequestId(request), UserId(owner[request as usize]), CLASS, rank(left[request as usize], 0));
        }
        for number in 1..=turns {
            let Choice { request, leads, .. } = users.choose(CLASS).expect("a candidate");
            let at = request.0 as usize;
            let user = UserId(owner[at]);
            users.goes(user, leads, false);
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
        assert_eq!(page(100_000, 800_000, 30, 10_000), [0, 0, 600_000]);
        // With neither slack nor lead it has its third.
        assert_eq!(page(0, 0, 30, 10_000), [599_000, 599_000, 600_000]);
    }

    #[test]
    fn no_user_gets_farther_ahead_by_short_responses_than_the_lead() {
        let [one, two, short] = page(50_000, 400_000, 1_000, 1_100);
        assert!(one.abs_diff(two) <= 50_000 + 1_000, "{one} and {two}");
        let ahead = short - one.min(two);
        assert!((400_000 - 20_000..=400_000 + 1_000).contains(&ahead), "{ahead}");
    }

    #[test]
    fn a_new_user_does_not_begin_behind_what_another_was_lent() {
        let mut users = Users::new(1_000, 8_000, 0);
        let image = Rank { key: 1_000, number: 1, left: 1_000 };
        users.put(RequestId(0), UserId(0), CLASS, Rank { key: 50_000, left: 50_000, ..Rank::default() });
        for _ in 0..6 {
            users.put(RequestId(1), UserId(1), CLASS, image);
            let choice = users.choose(CLASS).expect("a candidate");
            assert_eq!(choice.request, RequestId(1));
            users.goes(UserId(1), choice.leads, false);
            users.charge(UserId(1), CLASS, 1_000);
        }
        // It is alone for a moment, 6,000 ahead, of which it was lent 4,000 beyond the slack and a turn.
        users.take(RequestId(0), UserId(0), CLASS);
        users.choose(CLASS);
        users.began(UserId(2), CLASS);
        assert_eq!(users.users[2].service, 2_000);
        // Once it alone has requests it owes nothing, and a user who joins then starts level with it.
        users.goes(UserId(1), false, true);
        users.choose(CLASS);
        users.began(UserId(3), CLASS);
        assert_eq!(users.users[3].service, 6_000);
    }

    /// A user with one response that has no candidate after each of its turns until the other user's, and one with short
    /// responses for ever. Returns what each had after this many turns.
    #[test]
    fn who_has_no_candidate_for_a_moment_is_not_overtaken_for_ever() {
        let mut users = Users::new(1_000, 8_000, 1_000);
        let long = Rank { key: 900_000, number: 0, left: 900_000 };
        let mut had = [0u64; 2];
        users.put(RequestId(0), UserId(0), CLASS, long);
        for number in 1..=2_000 {
            users.put(RequestId(1), UserId(1), CLASS, Rank { key: 500, number, left: 500 });
            let Choice { request, leads, .. } = users.choose(CLASS).expect("a candidate");
            let user = UserId(request.0);
            users.goes(user, leads, false);
            users.take(request, user, CLASS);
            users.charge(user, CLASS, 500);
            had[user.0 as usize] += 500;
            if user == UserId(1) {
                users.put(RequestId(0), UserId(0), CLASS, long);
            }
        }
        assert!(had[0].abs_diff(had[1]) <= 8_000 + 1_000, "{had:?}");
    }

    #[test]
    fn who_was_away_is_not_repaid_more_than_the_lag() {
        let mut users = Users::new(0, 0, 300);
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
            let request = users.choose(CLASS).expect("a candidate").request.0;
            users.charge(UserId(request), CLASS, 100);
            turns.push(request);
        }
        // User 0 is at 1,000, as is T, and user 1 starts at 700.
        assert_eq!(turns, [1, 1, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_user_who_moves_takes_their_lead_along() {
        let mut users = Users::new(0, 0, 0);
        let other = ClassId(1);
        users.put(RequestId(0), UserId(0), CLASS, Rank::default());
        users.charge(UserId(0), CLASS, 500);
        users.put(RequestId(1), UserId(1), other, Rank::default());
        users.charge(UserId(1), other, 2000);
        users.choose(other);
        users.moved(UserId(0), CLASS, other);
        assert!(!users.is_candidate(CLASS));
        assert_eq!(users.users[0].service, 2500);
        assert_eq!(users.choose(other).map(|choice| choice.request), Some(RequestId(1)));
    }
}
