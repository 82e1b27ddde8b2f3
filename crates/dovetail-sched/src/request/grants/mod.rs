//! `grants`: requests and responses scheduled together, the far queue kept short.
//!
//! Extends [`msf-rs`](super::msf_rs). A gateway that ends the transport protocol decides not only when a request leaves but
//! when each response is read, and an unread response stops its sender. So every unit that comes down the link was permitted by
//! a *turn*: the release of a request, or permission to take in more of a response. What is scheduled is what a turn *elicits*,
//! not what is read:
//!
//! ```text
//! granted    what of a response may be taken in so far        window     what may be on its way beyond that
//! target   = min(total, granted + window)                     what its sender may have sent, total if known
//! ```
//!
//! A turn adds a quantum to `granted` and is charged the growth of the target, or, if the length is not known, of what is expected
//! of it: no more than twice what was granted or has arrived. A release is charged the target too, or, if the length is not
//! known, the running mean of the targets of earlier responses; and the header. When the length becomes known the difference is
//! settled, and when the response ends the charge for units that did not arrive is refunded. What arrives uncharged is charged
//! then, and a sender of whom more has arrived than its windows permit is taken to have as much more window from then on. From
//! `granted + window >= total` on all the rest may be taken in without a turn: its sender may send it anyway.
//!
//! A request is a *candidate* while it waits, and a response while units of it wait that may not be taken in. Three questions
//! have separate answers:
//!
//! * *When is a turn?* When there will be tokens for it once what it lets in reaches the link, a round trip later
//!   (`pace/due.rs`): they arrive at a pace that a control loop adjusts so that the far queue stays `delay` long (`pace`).
//! * *Which class?* The one with the least charge over weight and counted users, or one with a shorter request that ends before
//!   the class is ahead of it by more than `lead` (`classes.rs`, `counted.rs`).
//! * *Which request of it?* The first in `order` among those of users who are not ahead (`users.rs`, `order.rs`).
//!
//! A response that has begun and has been silent for 12 s, although units of it wait, goes before all others of its user with a
//! small part of a turn, as long as there are few of them (`overdue.rs`).
//!
//! A charge is taken from the tokens and added to the class's counter and the user's service; unrequested units belong to no
//! user. A refund reverses all three, but never more of the counter than it grew by, and tokens only within a second of the
//! charge or of the last arrival. Tokens for what a tunnel's silent server was permitted to send, and did not, return earlier
//! (`absent.rs`).
//!
//! **Windows grow** while they are what limits a sender (`growth.rs`): by a quantum at each turn while the link carries more
//! than is requested, faster for senders far away, and by a quarter where a class or user would otherwise stay below its share.
//! They never shrink, since a window that was offered cannot be withdrawn.
//!
//! Growth of a window is charged like any turn, so everything that is let in, in whatever way, keeps to the pace.
//!
//! # Fairness
//!
//! Let `X_k` be what class `k` was charged less what it was refunded, each over `w_k·u_k` as it was at the time, and `SC_k`,
//! `V` and `lag` as in `classes.rs`. While `k` has candidates, at every time
//!
//! ```text
//! V - lead - lag <= SC_k <= V + lead + l_k + e_k
//! ```
//!
//! `l_k` being its largest charge at a turn and `e_k` the sum of its charges since its last turn that were not at turns: for
//! lengths that turned out longer, and for unrequested units. *Left:* `SC_k` is put there when `k` becomes a candidate and when
//! it is refunded, and `V` grows only to the least `SC` of all candidates. *Right:* at its last turn `SC_k` was at most
//! `V + lead`, and `V` never falls. (A class that became a candidate further ahead was charged for that before, outside its
//! turns or at a time when it was alone: then `a_k = SC_k - V`, as it was then, replaces `lead + l_k + e_k` until its next
//! turn.)
//!
//! A class's counter grows by `X_k` and by what it is *lifted*, `f_k >= 0`, because of the left side. Let `i` and `j` both have
//! candidates all the time from `t1` to `t2`. With the left side for `i` at `t1` and for `j` at `t2`, and the right side for
//! `i` at `t2` and for `j` at `t1`,
//!
//! ```text
//! X_i <= V(t2) - V(t1) + lag + 2·lead + l_i + e_i
//! X_j >= V(t2) - V(t1) - lag - lead - max(lead + l_j + e_j, a_j) - f_j
//! X_i - X_j <= 2·lag + 3·lead + l_i + e_i + max(lead + l_j + e_j, a_j) + f_j
//! ```
//!
//! Nothing on the right grows with time but `f_j`, and that only if `j` is refunded more than `lag + lead` at once: `j` was
//! charged for units that never arrived. What `i` *receives* is at most `X_i` plus what of it was charged before `t1` and was
//! in flight. So a class whose lengths are wrong, or whose responses break off, gets more than its weight for no longer than
//! this, whatever lengths it states. The part by which a stated length is too short is charged when it arrives, and a response
//! that goes on after its end needs turns again.
//!
//! Within a class the same holds for users with `S` for `SC` and `T` for `V`, `lag + slack` for `lag` and `slack` more on the
//! right. With a `user-lead`, that replaces `lead` if it is more than `slack`: a turn by the third rule of `users.rs` ends
//! within it, and at others `S` was no more than `T + slack`, or the least of all, which is no farther ahead of `T` than it was
//! lent.
//!
//! # Cost
//!
//! O(log n) for each event, amortised when users catch up with their class, and at each turn, or question whether there is one,
//! every class in line is examined while those are no more than 64; memory for each request, user and class, and nothing for the
//! queues between them.
//!
//! # Worked example
//!
//! An inference server's tokens: turns of 16, nothing in flight beyond, and so no lead. Two classes, of weights 2 and 1, and
//! three turns' worth of tokens in the bucket. Both start at 0: class 0 goes first, has 8 per part after it, and goes again
//! when class 1 is at 16.
//!
//! ```
//! use dovetail_sched::{
//!     Nanos, Weight,
//!     request::{ClassId, Request, RequestId, RequestSetup, RequestSpec, UserId},
//! };
//!
//! let setup = RequestSetup { rate: 800.0, quantum: 16, window: 0, longest_window: 0, overhead: 0 };
//! let mut server = "grants".parse::<RequestSpec>()?.build(&setup)?;
//! for (class, weight) in [(0, 2.0), (1, 1.0)] {
//!     server.set_class(ClassId(class), Weight::new(weight).expect("in range"), Nanos::ZERO);
//!     server.set_user(UserId(class), ClassId(class), Nanos::ZERO);
//!     server.enqueue(&Request { id: RequestId(class), user: UserId(class), length: Some(100) }, Nanos::ZERO);
//! }
//! let mut order = Vec::new();
//! while let Some(turn) = server.dequeue(Nanos::ZERO) {
//!     assert_eq!(turn.units, 16);
//!     order.push(turn.request.0);
//!     server.ready(turn.request, Nanos::ZERO);
//! }
//! assert_eq!(order, [0, 1, 0]);
//! // 48 were spent of 45.6: in 3.2 ms there are tokens again.
//! let opens = server.poll_at().expect("both wait");
//! assert_eq!(opens.0 / 100_000, 31);
//! assert_eq!(server.dequeue(opens).map(|turn| turn.request.0), Some(0));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod absent;
mod age;
mod arrivals;
mod charging;
mod classes;
mod counted;
mod exp;
mod forest;
mod growth;
mod meter;
mod order;
mod overdue;
mod pace;
mod response;
mod round;
mod settings;
mod standing;
mod turns;
mod users;

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use self::{
    absent::Absent,
    age::Age,
    classes::Classes,
    counted::Counted,
    order::Order,
    overdue::Overdue,
    pace::{Demand, Pace},
    response::{Response, State},
    settings::Settings,
    users::Users,
};
use super::{
    Accounts, ClassId, FarDelay, Request, RequestEntry, RequestId, RequestScheduler, RequestSetup, Turn, UserId,
    accounts::slot_mut,
};
use crate::{
    Nanos, PolicyError, Weight,
    entry::{Knob, Knobs, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: RequestEntry = RequestEntry {
    name: "grants",
    summary: "requests and responses scheduled together, the far queue kept short",
    knobs: &[
        Knob { key: "order", default: "srpt", meaning: "within a class: srpt, las, first or fair", retunable: false },
        Knob {
            key: "ageing",
            default: "1000",
            meaning: "srpt, las: units that a second of waiting subtracts from a size, 0 to 10^9, or a part of the rate",
            retunable: true,
        },
        Knob {
            key: "first",
            default: "20kB",
            meaning: "order=first: units of a response that go before all others, up to 1GB",
            retunable: false,
        },
        Knob {
            key: "slack",
            default: "256kB",
            meaning: "units by which a user may lead others and still go first, up to 1GB, or inf",
            retunable: false,
        },
        Knob {
            key: "user-lead",
            default: "2MB",
            meaning: "units by which a user may lead others of their class, for responses that end within that, up to 1GB, or inf",
            retunable: false,
        },
        Knob {
            key: "lag",
            default: "30kB",
            meaning: "units per weight and user that a class may lag, up to 1GB",
            retunable: true,
        },
        Knob {
            key: "lead",
            default: "4w",
            meaning: "units per weight and user that a class may lead others by, for responses that end within that, up to 1GB, or inf; 4w: four first windows",
            retunable: true,
        },
        Knob {
            key: "users",
            default: "count",
            meaning: "count: a class has a share for each active user; ignore: one for all",
            retunable: false,
        },
        Knob {
            key: "silence",
            default: "5s",
            meaning: "time after which a user who only waits for servers has no share",
            retunable: true,
        },
        Knob {
            key: "delay",
            default: "60ms",
            meaning: "the target delay of the far queue, 1us to 10s; half of its room if that turns out to be less",
            retunable: true,
        },
        Knob { key: "learn", default: "on", meaning: "off: use the link's rate as configured", retunable: false },
    ],
    cost: "O(log n)",
    source: "this work",
    build: |knobs, setup| Ok(Box::new(Grants::new(knobs, setup)?)),
    caution: NO_CAUTION,
};

/// Units that a new user may receive before all others: a small page.
const FIRST: u64 = 20_000;

/// How long windows are taken to fill the link after a round that was limited by a window alone.
const FILLS: Nanos = Nanos::from_secs(2);

/// Requests and responses scheduled together.
#[derive(Debug)]
pub struct Grants {
    setup: RequestSetup,
    order: Order,
    age: Age,
    counts_users: bool,
    accounts: Accounts,
    responses: Vec<Response>,
    classes: Classes,
    users: Users,
    counted: Counted,
    pace: Pace,
    overdue: Overdue,
    absent: Absent,
    // Responses that may be taken in to their end. An id may already be free again: the response's state tells.
    freed: VecDeque<RequestId>,
    // The running mean of the targets of released responses, in units.
    mean_target: f64,
    next_number: u64,
    waiting: usize,
    released: usize,
    // The charges of all released responses for units that have not arrived.
    in_flight: u128,
    // Until when windows are taken to be what limits senders.
    fills_until: Nanos,
    // How long after its turn the units of the first candidate are due, if it waits for tokens.
    blocked: Option<Nanos>,
}

impl Grants {
    fn new(knobs: &Knobs<'_>, setup: &RequestSetup) -> Result<Self, PolicyError> {
        let Settings { order, ageing, slack, user_lead, lag, lead, silence, delay, counts_users, learns } =
            Settings::of(knobs, setup.window)?;
        Ok(Self {
            setup: *setup,
            order,
            age: Age::new(ageing, setup.rate),
            counts_users,
            accounts: Accounts::default(),
            responses: Vec::new(),
            classes: Classes::new(lead, lag, FIRST),
            users: Users::new(slack, user_lead, lag),
            counted: Counted::new(silence),
            pace: Pace::new(setup.rate, setup.quantum, delay, learns),
            overdue: Overdue::default(),
            absent: Absent::default(),
            freed: VecDeque::new(),
            mean_target: setup.quantum.saturating_add(setup.window).min(FIRST.max(setup.quantum)) as f64,
            next_number: 0,
            waiting: 0,
            released: 0,
            in_flight: 0,
            fills_until: Nanos::ZERO,
            blocked: None,
        })
    }
}

impl RequestScheduler for Grants {
    fn set_class(&mut self, class: ClassId, weight: Weight, _now: Nanos) {
        self.accounts.set_class(class, weight);
    }

    fn set_user(&mut self, user: UserId, class: ClassId, _now: Nanos) {
        let begins = self.accounts.active_users(class) == 0;
        let Some(from) = self.accounts.set_user(user, class) else { return };
        if self.accounts.requests(user) > 0 {
            if begins {
                self.classes.began(class);
            }
            if self.counted.counts(user) {
                self.classes.uncount(from);
                self.classes.count(class);
            }
        }
        self.users.moved(user, from, class);
        self.classes.set_candidate(from, self.users.is_candidate(from));
        self.classes.set_candidate(class, self.users.is_candidate(class));
    }

    fn forget_user(&mut self, user: UserId) {
        if self.accounts.forget_user(user) {
            self.counted.trust(user);
            self.users.forget(user);
        }
    }

    fn set_rate(&mut self, units_per_s: f64, now: Nanos) {
        if RequestSetup::is_rate(units_per_s) {
            self.pace.set_rate(units_per_s, now);
            self.age.set_rate(units_per_s, now);
        }
    }

    fn enqueue(&mut self, request: &Request, now: Nanos) {
        let Some(began) = self.accounts.arrived(request.id, request.user) else { return };
        let (user, class) = (began.user, began.class);
        if began.class_changed {
            self.classes.began(class);
        }
        if began.user_changed {
            self.users.began(user, class);
        }
        let number = self.number();
        *slot_mut(&mut self.responses, request.id.0) = Response {
            state: State::Waiting,
            total: request.length,
            age: self.age.at(now),
            number,
            served: number,
            ..Response::default()
        };
        self.waiting += 1;
        self.hear(request.id);
        self.review(request.id, user, class);
        self.settle(user, class, now);
    }

    fn length(&mut self, request: RequestId, units: u64, now: Nanos) {
        let Some((user, class)) = self.hear(request) else { return };
        self.responses[request.0 as usize].total = Some(units);
        self.review(request, user, class);
        let response = &self.responses[request.0 as usize];
        if let Some(total) = response.total
            && response.state == State::Released
        {
            let (target, arrived) = (response.target(), response.arrived());
            self.learn_size(request, total);
            self.charge_up_to(request, target, now);
            self.refund_down_to(request, target.max(arrived), now);
        }
        self.settle(user, class, now);
    }

    fn received(&mut self, request: RequestId, units: u64, now: Nanos) {
        if let Some(user) = self.accounts.user(request).filter(|_| units > 0) {
            self.counted.trust(user);
        }
        let Some((user, class)) = self.hear(request) else { return };
        let Response { received: before, unread, .. } = self.responses[request.0 as usize];
        self.arrive(request, units, unread.saturating_sub(units), now);
        let delay = self.pace.delay_or_zero();
        let response = &mut self.responses[request.0 as usize];
        if response.round.came(before, response.received, delay, now) {
            self.fills_until = now + FILLS;
        }
        self.charge_arrived(request, (user, class), now);
    }

    fn unread(&mut self, request: RequestId, units: u64, now: Nanos) {
        let Some((user, class)) = self.hear(request) else { return };
        self.arrive(request, 0, units, now);
        self.charge_arrived(request, (user, class), now);
    }

    fn ready(&mut self, request: RequestId, now: Nanos) {
        let Some((user, class)) = self.hear(request) else { return };
        let response = &mut self.responses[request.0 as usize];
        let begins = !response.ready && response.state == State::Released;
        response.ready = response.state == State::Released;
        if begins {
            self.overdue.waits(request, response.served, now);
        }
        self.review(request, user, class);
        self.settle(user, class, now);
    }

    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.over(request, true, now);
    }

    fn cancel(&mut self, request: RequestId, now: Nanos) {
        self.over(request, false, now);
    }

    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos) {
        self.pace.advance(now);
        self.pace.came(units);
        self.pace.spend(units);
        if let Some(class) = class.filter(|&class| self.accounts.is_known(class)) {
            self.classes.charge(class, units, self.parts(class));
        }
    }

    fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos) {
        self.pace.tell(seen, now);
    }

    fn offers(&mut self, request: RequestId, window: u64, now: Nanos) {
        let Some((user, class)) = self.hear(request) else { return };
        let response = &mut self.responses[request.0 as usize];
        response.offered = window;
        response.window = response.window.max(window);
        self.review(request, user, class);
        let response = &self.responses[request.0 as usize];
        if response.state == State::Released && response.total.is_some() {
            let target = response.target();
            self.charge_up_to(request, target, now);
        }
        self.settle(user, class, now);
    }

    fn round_trip(&mut self, request: RequestId, takes: Nanos, now: Nanos) {
        let Some((user, class)) = self.hear(request) else { return };
        self.responses[request.0 as usize].round.takes(takes);
        self.settle(user, class, now);
    }

    fn distance(&mut self, request: RequestId, takes: Nanos, _now: Nanos) {
        // What is refunded goes to others at once if nothing is learnt, and theirs would be due too late for it.
        if self.pace.learns() && self.accounts.user(request).is_some() {
            self.responses[request.0 as usize].distance = takes;
        }
    }

    fn uplink(&mut self, is_busy: bool, now: Nanos) {
        self.pace.set_uplink(is_busy, now);
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Turn> {
        self.pace.advance(now);
        while let Some(user) = self.counted.expire(now) {
            if let Some(class) = self.accounts.class_of(user) {
                self.classes.uncount(class);
            }
        }
        self.promote(now);
        self.return_absent(now);
        while let Some(request) = self.freed.pop_front() {
            if let Some(turn) = self.free_turn(request) {
                return Some(turn);
            }
        }
        self.pace.set_stalled(self.users.candidates().saturating_sub(self.waiting));
        let first = self.choose();
        let distance = first.as_ref().map(|first| self.responses[first.request.0 as usize].distance);
        self.blocked = distance.filter(|&distance| !self.pace.is_open(distance));
        self.pace.set_demand(match (self.blocked, self.released) {
            (Some(_), _) => Demand::Waits,
            (None, 1..) if now < self.fills_until => Demand::Fills,
            (None, 1..) => Demand::Met,
            (None, 0) => Demand::None,
        });
        self.turn(&first.filter(|_| self.blocked.is_none())?, now)
    }

    fn poll_at(&self) -> Option<Nanos> {
        if !self.freed.is_empty() {
            return Some(self.pace.now());
        }
        (self.users.candidates() > 0).then(|| self.pace.opens(self.blocked.unwrap_or(Nanos::ZERO)))
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("pace", self.pace.pace());
        report("capacity", self.pace.capacity());
        if let Some(delay) = self.pace.delay() {
            report("far_delay_ms", delay.as_secs_f64() * 1e3);
        }
        report("waiting", self.waiting as f64);
        report("released", self.released as f64);
        report("candidates", self.users.candidates() as f64);
        report("silent_users", f64::from(self.counted.silent()));
        report("tokens", self.pace.tokens());
    }

    fn first_window(&self) -> Option<u64> {
        Some(self.setup.window)
    }

    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        let Settings { order, ageing, slack, user_lead, lag, lead, silence, delay, counts_users, learns } =
            Settings::of(knobs, self.setup.window)?;
        knobs.keeps("order", order == self.order)?;
        knobs.keeps("slack", slack == self.users.slack())?;
        knobs.keeps("user-lead", user_lead == self.users.lead())?;
        knobs.keeps("users", counts_users == self.counts_users)?;
        knobs.keeps("learn", learns == self.pace.learns())?;
        self.age.set_ageing(ageing, now);
        self.pace.set_aim(delay, now);
        self.classes.set_lead(lead);
        self.classes.set_lag(lag, FIRST);
        self.users.set_lag(lag);
        self.counted.set_silence(silence);
        Ok(())
    }
}
