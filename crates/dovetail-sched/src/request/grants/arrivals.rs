//! What arrives, and what does not.

use super::{Grants, absent};
use crate::{
    Nanos,
    request::{ClassId, RequestId, UserId},
};

impl Grants {
    /// Units of a response have arrived: `taken` more were taken in, and `unread` in all were not.
    pub(super) fn arrive(&mut self, request: RequestId, taken: u64, unread: u64, now: Nanos) {
        self.pace.advance(now);
        let response = &mut self.responses[request.0 as usize];
        let in_flight = response.in_flight();
        let units = response.arrive(taken, unread);
        let appeared = response.absent.min(units);
        response.absent -= appeared;
        self.in_flight = self.in_flight - u128::from(in_flight) + u128::from(response.in_flight());
        if units > 0 {
            response.arrived_at = now;
            if response.is_open() && !core::mem::replace(&mut response.is_listed, true) {
                self.absent.list(request, response.number, now);
            }
        }
        self.pace.came(units);
        self.pace.spend(appeared);
    }

    /// Charges what has arrived of a response and was not charged.
    pub(super) fn charge_arrived(&mut self, request: RequestId, (user, class): (UserId, ClassId), now: Nanos) {
        self.review(request, user, class);
        self.charge_up_to(request, self.responses[request.0 as usize].arrived(), now);
        self.settle(user, class, now);
    }

    /// Returns the tokens of responses that are silent.
    pub(super) fn return_absent(&mut self, now: Nanos) {
        // Each once, even at the end of time.
        for _ in 0..self.absent.len() {
            let Some(absent::Listed { request, number, .. }) = self.absent.next(now) else { break };
            let response = &mut self.responses[request.0 as usize];
            if response.number != number {
                continue;
            }
            response.is_listed = false;
            if !response.is_open() {
                continue;
            }
            let patience = absent::patience(response.round.trip() + self.pace.delay_or_zero());
            let is_silent = !response.ready && now - response.arrived_at.max(response.charged_at) >= patience;
            if !is_silent || self.pace.is_interrupted() {
                response.is_listed = true;
                self.absent.list(request, number, now);
                continue;
            }
            let units = response.in_flight();
            response.absent += units;
            self.in_flight -= u128::from(units);
            self.return_tokens(units);
        }
    }
}
