//! `msf-rs`: minimum-service-first request scheduling.
//!
//! Tsao, Lai, Tsao and Lin, *On applying fair queuing discipline to schedule requests at access gateway for downlink
//! differential QoS*, Computer Networks 52, 2008, section 3. A gateway at the users' end of a narrow downlink decides which
//! request is released and when; responses arrive uncontrolled.
//!
//! **Which** (section 3.1, Fig. 3). Class `i` has weight `w_i`, a queue, a service counter `SC_i` and a user counter `UC_i`:
//! the number of users with a request waiting or outstanding. For every part of a response, `L` units long,
//!
//! ```text
//! SC_i <- SC_i + L / (w_i * UC_i)                                             (1)
//! release the oldest request of the class with the least SC_i among those with requests waiting
//! ```
//!
//! Among equal counters the largest `w_i * UC_i` goes first, then the lowest class. A class that turns active is set to the
//! least counter of the active classes, whatever its own was: what it left idle is not owed to it, and what it had is forgiven.
//! When all classes are idle, all counters are 0.
//!
//! **When** (section 3.2, Fig. 4). `W` responses are outstanding; requests are released while `W < W+`. Every `T`,
//!
//! ```text
//! U  = S / (T * C)                  S units came in T, over a link that carries C units a second       (2)
//! W+ <- max(1, min(U+ / U, K) * W+)     if the window was full, that is not W < W+, at some moment of T   (3)
//! ```
//!
//! `W+` is a real number. Unrequested traffic (section 6) counts in `S`, and in its class's counter if it has one.
//!
//! Where the paper is silent: the window stays below 10^6; a window that was full while nothing was received grows by `K`; the
//! paper releases only when a part of a response arrives or nothing is outstanding, here a request that finds `W < W+` leaves
//! at once. Intervals begin at whole multiples of `T`; if `T` changes, the one that has begun ends as planned, and the next is
//! the rest up to a multiple. An interval without a call gives no information; an environment that keeps to `poll_at` misses
//! none. A `period` longer than the run freezes the window.
//!
//! # How far two classes drift apart
//!
//! Let there be no unrequested traffic, `P_i = w_i * UC_i` be constant, classes `i` and `j` turn active at the same moment and
//! always have requests waiting from then on, `D_i` be the service of `i` since then, `L_i` its longest response and `W` the
//! largest number outstanding. Then
//!
//! ```text
//! -W * L_j / P_j  <=  D_i / P_i - D_j / P_j  <=  W * L_i / P_i
//! ```
//!
//! and so between two moments the lead changes by at most `W * (L_i / P_i + L_j / P_j)`. Proof: both begin with the same
//! counter, so the lead is `SC_i - SC_j`. Let `s` be the last release of `i` before `t`. At `s` it had the least counter,
//! `SC_i(s) <= SC_j(s)`; until `t` it is charged for no more than what was then outstanding of it, at most `W` responses. So
//! `SC_i(t) <= SC_j(s) + W * L_i / P_i <= SC_j(t) + W * L_i / P_i`. If `i` was never released, it had nothing and does not
//! lead. The other side is the same with names changed.
//!
//! The paper (section 4.2) has `W+ * L_i / w_i + L_j / w_j`, as if the class that catches up could overshoot by one response
//! only. It overshoots by a window too, since a response is charged when it arrives, not when it is requested. Nor does any
//! such bound hold merely from the moment at which both have requests waiting: see below.
//!
//! # Pitfalls
//!
//! - `C` must be what the link carries of responses, its goodput. If the goodput is less than `U+` times `C`, `U` never reaches
//!   `U+` and `W+` grows to its bound.
//! - An interval may double `W+` but reduces it only by the excess of `U` over `U+`: a few per cent. With varying load, `W+`
//!   ratchets up until everything is released at once.
//! - Outstanding responses are not scheduled: shares are those of whole responses, late by a window.
//! - A class that is active without a queue keeps its counter while those of others increase: one hanging response is enough.
//!   When it requests again, it goes alone until it has caught up, however long that takes.
//! - A class that pulses, idle for moments, returns with the least counter each time, and so never pays for its last response.
//!
//! O(log n) for every event, n being the number of active classes; a user's change of class also costs O(1) for each of their
//! requests.
//!
//! # Worked example
//!
//! Classes 0 and 1 have weights 2 and 1 and four requests each, the window is one, each response has 1,000 units. Class 0
//! goes first: both counters are 0 and its weight is more. It then has 500, class 1 has 0; after class 1's response they
//! have 500 and 1,000, then 1,000 each.
//!
//! ```
//! use dovetail_sched::{
//!     Nanos, Weight,
//!     request::{ClassId, Request, RequestId, RequestSetup, RequestSpec, UserId},
//! };
//!
//! let now = Nanos::ZERO;
//! let mut gateway = "msf-rs".parse::<RequestSpec>()?.build(&RequestSetup::for_bytes(1e6))?;
//! for (class, weight) in [(0, 2.0), (1, 1.0)] {
//!     gateway.set_class(ClassId(class), Weight::new(weight).expect("in range"), now);
//!     gateway.set_user(UserId(class), ClassId(class), now);
//!     for id in 4 * class..4 * class + 4 {
//!         gateway.enqueue(&Request { id: RequestId(id), user: UserId(class), length: None }, now);
//!     }
//! }
//! let mut order = Vec::new();
//! for _ in 0..6 {
//!     let request = gateway.dequeue(now).expect("nothing is outstanding").request;
//!     gateway.received(request, 1_000, now);
//!     gateway.ended(request, now);
//!     order.push(request.0 / 4);
//! }
//! assert_eq!(order, [0, 1, 0, 0, 1, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod arbiter;
mod window;

use alloc::boxed::Box;

use self::{
    arbiter::Arbiter,
    window::{Aim, MAX_RESPONSES, Window},
};
use super::{ClassId, FarDelay, Request, RequestEntry, RequestId, RequestScheduler, RequestSetup, Turn, UserId};
use crate::{
    Nanos, PolicyError, Weight,
    entry::{Knob, Knobs, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: RequestEntry = RequestEntry {
    name: "msf-rs",
    summary: "requests of the least-served class, as many as the link needs",
    knobs: &[
        Knob { key: "target", default: "0.98", meaning: "target utilisation (U+), 0.01 to 1", retunable: true },
        Knob {
            key: "period",
            default: "5s",
            meaning: "period over which utilisation is measured (T), at least 1ms",
            retunable: true,
        },
        Knob {
            key: "growth",
            default: "2",
            meaning: "the most by which the window grows in a period (K), 1 to 1000",
            retunable: true,
        },
        Knob {
            key: "window",
            default: "1",
            meaning: "initial number of outstanding responses (W+), 1 to 1000000",
            retunable: false,
        },
        Knob {
            key: "users",
            default: "count",
            meaning: "a class's shares: count for weight x users, ignore for weight",
            retunable: false,
        },
    ],
    cost: "O(log n)",
    source: "Tsao et al., Computer Networks 2008",
    build: |knobs, setup| Ok(Box::new(MsfRs::new(knobs, setup)?)),
    caution: NO_CAUTION,
};

/// Minimum-service-first request scheduling.
#[derive(Debug)]
pub struct MsfRs {
    arbiter: Arbiter,
    window: Window,
    first_limit: f64,
}

fn aim(knobs: &Knobs<'_>) -> Result<Aim, PolicyError> {
    let period = knobs.time("period")?;
    // At least a millisecond, because every period is a tick.
    if period < Nanos::from_millis(1) {
        return Err(knobs.wrong("period", format_args!("a time from 1ms on")));
    }
    Ok(Aim { target: knobs.number("target", 0.01, 1.0)?, period, growth: knobs.number("growth", 1.0, 1000.0)? })
}

fn by_users(knobs: &Knobs<'_>) -> Result<bool, PolicyError> {
    match knobs.text("users") {
        "count" => Ok(true),
        "ignore" => Ok(false),
        _ => Err(knobs.wrong("users", format_args!("count or ignore"))),
    }
}

impl MsfRs {
    fn new(knobs: &Knobs<'_>, setup: &RequestSetup) -> Result<Self, PolicyError> {
        let (aim, first_limit) = (aim(knobs)?, knobs.number("window", 1.0, MAX_RESPONSES)?);
        let window = Window::new(aim, first_limit, setup.rate);
        Ok(Self { arbiter: Arbiter::new(by_users(knobs)?), window, first_limit })
    }

    fn over(&mut self, request: RequestId, now: Nanos) {
        self.window.tick(now);
        if self.arbiter.left(request) == Some(true) {
            self.window.over();
        }
    }
}

impl RequestScheduler for MsfRs {
    fn set_class(&mut self, class: ClassId, weight: Weight, _now: Nanos) {
        self.arbiter.set_class(class, weight);
    }

    fn set_user(&mut self, user: UserId, class: ClassId, _now: Nanos) {
        self.arbiter.set_user(user, class);
    }

    fn forget_user(&mut self, user: UserId) {
        self.arbiter.forget_user(user);
    }

    fn set_rate(&mut self, units_per_s: f64, now: Nanos) {
        self.window.tick(now);
        if RequestSetup::is_rate(units_per_s) {
            self.window.set_rate(units_per_s);
        }
    }

    #[inline]
    fn enqueue(&mut self, request: &Request, now: Nanos) {
        self.window.tick(now);
        self.arbiter.arrived(request);
    }

    fn length(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    #[inline]
    fn received(&mut self, request: RequestId, units: u64, now: Nanos) {
        self.window.tick(now);
        if let Some(class) = self.arbiter.class_of_outstanding(request) {
            self.window.received(units);
            self.arbiter.served(class, units);
        }
    }

    fn unread(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn ready(&mut self, _request: RequestId, _now: Nanos) {}

    #[inline]
    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.over(request, now);
    }

    fn cancel(&mut self, request: RequestId, now: Nanos) {
        self.over(request, now);
    }

    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos) {
        self.window.tick(now);
        self.window.received(units);
        if let Some(class) = class {
            self.arbiter.served(class, units);
        }
    }

    fn far_queue(&mut self, _seen: Option<FarDelay>, _now: Nanos) {}

    #[inline]
    fn dequeue(&mut self, now: Nanos) -> Option<Turn> {
        self.window.tick(now);
        if !self.window.is_open() {
            return None;
        }
        let request = self.arbiter.release()?;
        self.window.released();
        Some(Turn { request, releases: true, units: u64::MAX, window: u64::MAX })
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.window.ends(self.arbiter.waiting() > 0)
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.window.figures(report);
        report("waiting", self.arbiter.waiting() as f64);
    }

    fn offers(&mut self, _request: RequestId, _window: u64, _now: Nanos) {}

    fn round_trip(&mut self, _request: RequestId, _takes: Nanos, _now: Nanos) {}

    fn distance(&mut self, _request: RequestId, _takes: Nanos, _now: Nanos) {}

    fn uplink(&mut self, _is_busy: bool, _now: Nanos) {}

    fn first_window(&self) -> Option<u64> {
        None
    }

    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        knobs.keeps("users", by_users(knobs)? == self.arbiter.by_users())?;
        knobs.keeps("window", knobs.number("window", 1.0, MAX_RESPONSES)? == self.first_limit)?;
        let aim = aim(knobs)?;
        self.window.tick(now);
        self.window.set_aim(aim);
        Ok(())
    }
}
