//! Turns, which release a request or let in more of a response; and the end of requests.

use super::{
    Grants,
    growth::{self, Cause},
    response::{Response, State},
    users::Choice,
};
use crate::{
    Nanos,
    request::{ClassId, RequestId, RequestSetup, Turn, UserId},
};

impl Grants {
    /// Chooses the next turn: the first of the class that is behind, or one of another class that ends within that class's
    /// lead.
    pub(super) fn choose(&mut self) -> Option<Choice> {
        let class = self.classes.select()?;
        let mut first = self.users.choose(class)?;
        let presumed = self.presumed();
        for (other, ahead) in self.classes.others(class) {
            let Some(sooner) = self.users.choose(other) else { continue };
            let parts = self.parts(other);
            let rank = sooner.rank.later(ahead.units(parts) / 2);
            let left = self.responses[sooner.request.0 as usize].left(presumed);
            if rank < first.rank && ahead.leaves_room_for(left, parts) {
                first = Choice { rank, ..sooner };
            }
        }
        Some(first)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// The response may be taken in to its end.
    pub(super) fn free_turn(&mut self, request: RequestId) -> Option<Turn> {
        let response = self.responses.get_mut(request.0 as usize).filter(|response| response.freed)?;
        (response.freed, response.ready) = (false, false);
        Some(Turn { request, releases: false, units: response.grant(0), window: response.window })
    }

    /// Gives the candidate its turn.
    pub(super) fn turn(&mut self, choice: &Choice, now: Nanos) -> Option<Turn> {
        let request = choice.request;
        let (user, class) = self.hear(request)?;
        let leads = self.users.goes(user, choice.leads, self.accounts.active_users(class) == 1);
        let number = self.number();
        let response = &mut self.responses[request.0 as usize];
        let releases = response.state == State::Waiting;
        let due = response.due(self.setup.quantum);
        (response.state, response.served) = (State::Released, number);
        (response.ready, response.overdue) = (false, false);
        self.withdraw(request, user, class);
        // Both are called, because this turn settles both.
        let has_lost = self.classes.take_lost(class) | self.users.take_lost(user);
        let units = if releases {
            self.release(request, user, class, now)
        } else {
            // A user with another candidate goes first with that one, however short this window is.
            let is_repaid = choice.is_owed && !self.users.has_candidates(user);
            self.go_on(request, user, due, (has_lost, leads || is_repaid), now)
        };
        let response = &mut self.responses[request.0 as usize];
        response.round.turned(response.target(), now);
        let window = response.window;
        self.settle(user, class, now);
        Some(Turn { request, releases, units, window })
    }

    /// Releases the request. Returns the units that may be taken in.
    fn release(&mut self, request: RequestId, user: UserId, class: ClassId, now: Nanos) -> u64 {
        let RequestSetup { quantum, window, overhead, .. } = self.setup;
        let response = &mut self.responses[request.0 as usize];
        response.window = response.window.max(window);
        response.round.released(now);
        let units = response.grant(quantum);
        let (target, total) = (response.target(), response.total);
        self.waiting -= 1;
        self.released += 1;
        self.pace.advance(now);
        self.pace.spend(overhead);
        self.charge(user, class, overhead);
        self.charge_up_to(request, total.map_or(self.expected(), |_| target), now);
        if let Some(total) = total {
            self.learn_size(request, total);
        }
        units
    }

    /// Grants a response `due` more units, and its window's growth. Returns the units that may be taken in.
    fn go_on(
        &mut self,
        request: RequestId,
        user: UserId,
        due: u64,
        (has_lost, is_ahead): (bool, bool),
        now: Nanos,
    ) -> u64 {
        let response = &mut self.responses[request.0 as usize];
        let units = response.grant(due);
        let expected = response.expected();
        self.charge_up_to(request, expected, now);
        let Response { round, grew_at, distance, .. } = &self.responses[request.0 as usize];
        // The pace is higher than what the link carries while the far queue is short.
        let product = self.pace.capacity() * round.told_trip().as_secs_f64();
        let trip = round.trip();
        let is_farthest = growth::is_farthest(&self.setup, product);
        let enough = self.pace.pace() * trip.as_secs_f64() / 2.0;
        let has_room = self.pace.has_room(*distance, self.in_flight, enough)
            || is_farthest && self.pace.has_far_room(self.in_flight, product, product * growth::FILLED);
        let cause = Cause {
            has_lost,
            is_ahead,
            has_room: has_room && self.users.candidates() == 0,
            product,
            is_settled: self.pace.is_settled(round.told_trip(), *grew_at),
            is_farthest,
            is_preferred: self.users.has_candidates(user),
        };
        let response = &mut self.responses[request.0 as usize];
        let Some(growth) = response.growth(&self.setup, &cause) else { return units };
        response.grow(growth, &self.setup, product);
        response.grew_at = now;
        let units = units + response.grant(0);
        let expected = response.expected();
        self.charge_up_to(request, expected, now);
        units
    }

    /// Ends a request. If its response has ended, the charge for units that did not arrive is refunded.
    pub(super) fn over(&mut self, request: RequestId, ended: bool, now: Nanos) {
        let Some((user, class)) = self.hear(request) else { return };
        let Response { state, received, .. } = self.responses[request.0 as usize];
        self.withdraw(request, user, class);
        if state == State::Waiting {
            self.waiting -= 1;
        } else {
            self.released -= 1;
        }
        if state == State::Released && received == 0 {
            self.counted.doubt(user);
        }
        if ended && state == State::Released {
            self.learn_size(request, received);
            self.refund_down_to(request, received, now);
        }
        let response = core::mem::take(&mut self.responses[request.0 as usize]);
        self.in_flight -= u128::from(response.in_flight());
        self.accounts.left(request);
        self.settle(user, class, now);
    }
}
