//! Charges for what is let in, and refunds.

use super::{FIRST, Grants};
use crate::{
    Nanos,
    request::{ClassId, RequestId, UserId},
};

/// How long tokens for units that did not arrive are refunded: a far server's round trip and some queue. Later the link has
/// been idle for them, and they would be let in beside others.
const TOKENS_KEPT: Nanos = Nanos::from_secs(1);

/// The gain of the running mean of targets.
const MEAN_GAIN: f64 = 1.0 / 32.0;

impl Grants {
    pub(super) fn parts(&self, class: ClassId) -> f64 {
        let users = if self.counts_users { self.classes.counted_users(class).max(1) } else { 1 };
        self.accounts.weight(class) * f64::from(users)
    }

    /// Charges the user and the class. Returns how much the class's counter grew.
    pub(super) fn charge(&mut self, user: UserId, class: ClassId, units: u64) -> u128 {
        self.users.charge(user, class, units);
        self.classes.charge(class, units, self.parts(class))
    }

    /// Charges the response for what is not yet charged, up to `units` in total.
    pub(super) fn charge_up_to(&mut self, request: RequestId, units: u64, now: Nanos) {
        let more = units.saturating_sub(self.responses[request.0 as usize].charged);
        if more == 0 {
            return;
        }
        if let Some(user) = self.accounts.user(request)
            && let Some(class) = self.accounts.class_of(user)
        {
            let paid = self.charge(user, class, more);
            self.pace.advance(now);
            let response = &mut self.responses[request.0 as usize];
            // What has arrived is due no more.
            let arrived = response.arrived().saturating_sub(response.charged).min(more);
            self.pace.spend(arrived);
            self.pace.book(more - arrived, response.distance);
            self.pace.lets_in(more, response.round.told_trip());
            let before = response.in_flight();
            response.charged += more;
            self.in_flight += u128::from(response.in_flight() - before);
            response.paid = response.paid.saturating_add(paid);
            response.charged_at = now;
        }
    }

    /// Refunds what the response was charged beyond `units` in total: to the counter no more than it grew by, however many
    /// users the class has now, and to the bucket only tokens that can still be used.
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
        let absent = response.absent.min(less);
        response.absent -= absent;
        self.in_flight -= u128::from(before - response.in_flight());
        let is_recent = now - response.charged_at.max(response.arrived_at) <= TOKENS_KEPT;
        if let Some(user) = self.accounts.user(request)
            && let Some(class) = self.accounts.class_of(user)
        {
            if is_recent {
                self.pace.advance(now);
                self.return_tokens(less - absent);
            }
            self.classes.refund(class, less, self.parts(class), paid);
            self.users.refund(user, class, less);
        }
    }

    /// Returns the tokens of units that will not arrive.
    pub(super) fn return_tokens(&mut self, units: u64) {
        self.pace.refund(units, self.users.candidates() > 0);
    }

    /// The size that an unknown response is presumed to have: about the same from the first request on. On a fast link a
    /// release is expected to elicit far more until sizes are known, and earlier requests would be ranked behind all later
    /// ones.
    pub(super) fn presumed(&self) -> u64 {
        self.expected().min(FIRST.max(self.setup.quantum))
    }

    /// The number of units that a release is expected to elicit.
    pub(super) fn expected(&self) -> u64 {
        // Empty responses make the mean small, and releases must never become almost free.
        ((self.mean_target + 0.5) as u64).max(self.setup.quantum)
    }

    /// Records the size of a released response, or a bound for it, once known.
    pub(super) fn learn_size(&mut self, request: RequestId, units: u64) {
        let response = &mut self.responses[request.0 as usize];
        if !core::mem::replace(&mut response.told, true) {
            let elicited = units.min(self.setup.quantum.saturating_add(self.setup.window));
            self.mean_target += (elicited as f64 - self.mean_target) * MEAN_GAIN;
        }
    }
}
