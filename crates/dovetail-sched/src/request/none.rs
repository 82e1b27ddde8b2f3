//! `none`: the ordinary gateway. Every request leaves as it arrives and every response is read as it arrives, so that the whole
//! queue is at the link's far end. The baseline of comparisons.
//!
//! ```
//! use dovetail_sched::{
//!     Nanos, Weight,
//!     request::{ClassId, Request, RequestId, RequestSetup, RequestSpec, UserId},
//! };
//!
//! let mut ordinary = "none".parse::<RequestSpec>()?.build(&RequestSetup::for_bytes(1e6))?;
//! ordinary.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
//! ordinary.set_user(UserId(0), ClassId(0), Nanos::ZERO);
//! for id in 0..3 {
//!     ordinary.enqueue(&Request { id: RequestId(id), user: UserId(0), length: None }, Nanos::ZERO);
//! }
//! let released: Vec<u32> = core::iter::from_fn(|| ordinary.dequeue(Nanos::ZERO)).map(|turn| turn.request.0).collect();
//! assert_eq!(released, [0, 1, 2]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;

use super::{
    Accounts, ClassId, FarDelay, Request, RequestEntry, RequestId, RequestScheduler, Turn, UserId,
    lines::{Line, Links},
};
use crate::{
    Nanos, PolicyError, Weight,
    entry::{Knobs, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: RequestEntry = RequestEntry {
    name: "none",
    summary: "the ordinary gateway: requests and responses are forwarded as they arrive",
    knobs: &[],
    cost: "O(1)",
    source: "the baseline of Tsao et al., Computer Networks 2008",
    build: |_, _| Ok(Box::new(Ordinary::default())),
    caution: NO_CAUTION,
};

/// The ordinary gateway.
#[derive(Debug, Default)]
pub struct Ordinary {
    accounts: Accounts,
    waiting: Line,
    links: Links,
}

impl RequestScheduler for Ordinary {
    fn set_class(&mut self, class: ClassId, weight: Weight, _now: Nanos) {
        self.accounts.set_class(class, weight);
    }

    fn set_user(&mut self, user: UserId, class: ClassId, _now: Nanos) {
        self.accounts.set_user(user, class);
    }

    fn forget_user(&mut self, user: UserId) {
        self.accounts.forget_user(user);
    }

    fn set_rate(&mut self, _units_per_s: f64, _now: Nanos) {}

    fn enqueue(&mut self, request: &Request, _now: Nanos) {
        if self.accounts.arrived(request.id, request.user).is_some() {
            self.links.push(&mut self.waiting, request.id);
        }
    }

    fn length(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn received(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn unread(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn ready(&mut self, _request: RequestId, _now: Nanos) {}

    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.cancel(request, now);
    }

    fn cancel(&mut self, request: RequestId, _now: Nanos) {
        if self.accounts.left(request).is_some() && self.links.contains(request) {
            self.links.remove(&mut self.waiting, request);
        }
    }

    fn stray(&mut self, _class: Option<ClassId>, _units: u64, _now: Nanos) {}

    fn far_queue(&mut self, _seen: Option<FarDelay>, _now: Nanos) {}

    fn dequeue(&mut self, _now: Nanos) -> Option<Turn> {
        let request = self.waiting.first()?;
        self.links.remove(&mut self.waiting, request);
        Some(Turn { request, releases: true, units: u64::MAX, window: u64::MAX })
    }

    fn poll_at(&self) -> Option<Nanos> {
        None
    }

    fn offers(&mut self, _request: RequestId, _window: u64, _now: Nanos) {}

    fn round_trip(&mut self, _request: RequestId, _takes: Nanos, _now: Nanos) {}

    fn distance(&mut self, _request: RequestId, _takes: Nanos, _now: Nanos) {}

    fn uplink(&mut self, _is_busy: bool, _now: Nanos) {}

    fn figures(&self, _report: &mut dyn FnMut(&'static str, f64)) {}

    fn first_window(&self) -> Option<u64> {
        None
    }

    fn retune(&mut self, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)
    }
}
