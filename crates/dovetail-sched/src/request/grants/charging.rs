//! What is charged for what is let in, and what of it is given back.

use super::{FIRST, Grants};
use crate::{
    Nanos,
    request::{ClassId, RequestId, UserId},
};

/// Tokens of units that did not come are given back for so long: a far server's round trip and some queue. Later the link has
/// been idle for them, and they would come beside others.
const TOKENS_KEPT: Nanos = Nanos::from_secs(1);

/// How fast the running mean of targets forgets.
const MEAN_GAIN: f64 = 1.0 / 32.0;

impl Grants {
    pub(super) fn parts(&self, class: ClassId) -> f64 {
        let users = if self.counts_users { self.classes.counted_users(class).max(1) } else { 1 };
        self.accounts.weight(class) * f64::from(users)
    }

    /// What the class's counter grew by.
    pub(super) fn charge(&mut self, user: UserId, class: ClassId, units: u64, now: Nanos) -> u128 {
        self.pace.advance(now);
        self.pace.spend(units);
        self.users.charge(user, class, units);
        self.classes.charge(class, units, self.parts(class))
    }

    /// Charges what of the response was not charged up to `units` in all.
    pub(super) fn charge_up_to(&mut self, request: RequestId, units: u64, now: Nanos) {
        let more = units.saturating_sub(self.responses[request.0 as usize].charged);
        if more == 0 {
            return;
        }
        if let Some(user) = self.accounts.user(request)
            && let Some(class) = self.accounts.class_of(user)
        {
            let paid = self.charge(user, class, more, now);
            self.pace.lets_in(more, self.responses[request.0 as usize].round.told_trip());
            let response = &mut self.responses[request.0 as usize];
            let before = response.in_flight();
            response.charged += more;
            self.in_flight += response.in_flight() - before;
            response.paid = response.paid.saturating_add(paid);
            response.charged_at = now;
        }
    }

    /// Gives back what of the response was charged beyond `units` in all: of the counter no more than it grew by, however many
    /// users the class has now, and of tokens only what could still be used.
    pub(super) fn refund_down_to(&mut self, request: RequestId, units: u64, now: Nanos) {
        let response = &mut self.responses[request.0 as usize];
        let less = response.charged.saturating_sub(units);
        if less == 0 {
            return;
        }
        let paid =
            if units == 0 { response.paid } else { response.paid / u128::from(response.charged) * u128::from(less) };
        response.paid -= paid;
        let before = response.in_flight();
        response.charged -= less;
        self.in_flight -= before - response.in_flight();
        let is_recent = now - response.charged_at <= TOKENS_KEPT;
        if let Some(user) = self.accounts.user(request)
            && let Some(class) = self.accounts.class_of(user)
        {
            if is_recent {
                self.pace.advance(now);
                self.pace.refund(less);
            }
            self.classes.refund(class, less, self.parts(class), paid);
            self.users.refund(user, class, less);
        }
    }

    /// Units that a response is taken to have of which nothing is known: the same from the first request on, or nearly. On a fast link
    /// a release is expected to elicit far more until sizes are known, and requests of before would stand behind all later ones.
    pub(super) fn presumed(&self) -> u64 {
        self.expected().min(FIRST.max(self.setup.quantum))
    }

    /// Units that a release is expected to elicit.
    pub(super) fn expected(&self) -> u64 {
        // Empty responses make the mean small, and any number of releases may not cost next to nothing.
        ((self.mean_target + 0.5) as u64).max(self.setup.quantum)
    }

    /// A released response's size turned out, or a bound for it.
    pub(super) fn learn_size(&mut self, request: RequestId, units: u64) {
        let response = &mut self.responses[request.0 as usize];
        if !core::mem::replace(&mut response.told, true) {
            let elicited = units.min(self.setup.quantum.saturating_add(self.setup.window));
            self.mean_target += (elicited as f64 - self.mean_target) * MEAN_GAIN;
        }
    }
}
