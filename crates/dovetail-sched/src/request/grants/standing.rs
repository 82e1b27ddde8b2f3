//! Updates after an event of a request: whether its user counts, and whether the request may have a turn.

use super::Grants;
use crate::{
    Nanos,
    request::{ClassId, RequestId, UserId},
};

impl Grants {
    /// The user and class of a known request; the event makes the user count.
    pub(super) fn hear(&mut self, request: RequestId) -> Option<(UserId, ClassId)> {
        let user = self.accounts.user(request)?;
        let class = self.accounts.class_of(user)?;
        if self.counted.heard(user) {
            self.classes.count(class);
        }
        Some((user, class))
    }

    /// Updates whether the user counts, after an event of one of their requests.
    pub(super) fn settle(&mut self, user: UserId, class: ClassId, now: Nanos) {
        if self.accounts.requests(user) > 0 {
            self.counted.heard_until(user, self.users.has_candidates(user), now);
        } else if self.counted.idle(user) {
            self.classes.uncount(class);
        }
    }

    /// Updates the request's place after an event.
    pub(super) fn review(&mut self, request: RequestId, user: UserId, class: ClassId) {
        let presumed = self.presumed();
        let response = &mut self.responses[request.0 as usize];
        if response.review() {
            self.freed.push_back(request);
        }
        if response.is_candidate() {
            let mut rank = self.order.rank(response, presumed);
            if response.is_open() {
                // Half of the time it ends before half as much again has arrived: the median for a tail index of 1.7.
                let left = rank.left / 2;
                response.is_long |= self.users.is_too_long(left, user, class);
                rank.left = if response.is_long { u64::MAX } else { left };
            }
            self.users.put(request, user, class, rank);
            self.classes.set_candidate(class, true);
        } else {
            self.withdraw(request, user, class);
        }
    }

    /// Puts responses that have been silent for too long before all others of their users.
    pub(super) fn promote(&mut self, now: Nanos) {
        let responses = &self.responses;
        self.overdue.forget(self.released, |request, served| !responses[request.0 as usize].waits_since(served));
        while let Some((request, served)) = self.overdue.next(now) {
            let response = &mut self.responses[request.0 as usize];
            if response.waits_since(served)
                && let Some(user) = self.accounts.user(request)
                && let Some(class) = self.accounts.class_of(user)
            {
                response.overdue = true;
                let units = response.due(self.setup.quantum);
                self.overdue.goes(Nanos::from_f64(units as f64 / self.pace.pace() * 1e9), now);
                self.review(request, user, class);
            }
        }
    }

    /// The request may not have a turn.
    pub(super) fn withdraw(&mut self, request: RequestId, user: UserId, class: ClassId) {
        self.users.take(request, user, class);
        self.classes.set_candidate(class, self.users.is_candidate(class));
    }
}
