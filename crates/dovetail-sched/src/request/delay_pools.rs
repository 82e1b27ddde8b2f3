//! `delay-pools`: a fixed rate for each class, like a proxy's delay pools.
//!
//! Squid's delay pools (its configuration manual: `delay_pools`, `delay_class`, `delay_parameters`): a pool of class 1 has one
//! bucket for all its users, into which `restore` bytes flow every second, up to `maximum`; bytes that are read are taken out,
//! and an empty bucket stops reading. To divide a link of `C` units a second, an administrator gives each class of weight `w_i`
//! its own pool:
//!
//! ```text
//! restore_i = C * w_i / sum of all classes' w
//! maximum_i = restore_i * seconds
//! ```
//!
//! Requests leave at once; only reading is held back. A class that is idle leaves its part of the link unused: no other class
//! may have it. Within a class responses take turns.
//!
//! A turn is the contents of the bucket, up to a quantum, and comes when the bucket has a quantum or is full. Units are charged
//! when a turn is given, and what a response did not use of its turns is refunded when it ends, to the class that paid. The
//! first quantum of a response is read whatever the bucket has, for its header, and leaves it in debt if need be. Squid fills
//! its buckets once a second and begins with half of `maximum` (`delay_initial_bucket_level`); these fill continuously and begin
//! full. Unrequested traffic is not counted, as in Squid.
//!
//! Buckets fill by `w_i` times a common clock that runs at `C / sum w`, so that the classes whose bucket will have enough are
//! in order of that clock, whatever happens to `C` and the sum. But what a bucket holds then changes, so all of them are filled up
//! to then and cut.
//!
//! O(log n) for every event, n being the number of classes held back; a change of the link's rate, of a class's weight or of
//! `seconds` costs that for each class.
//!
//! # Worked example
//!
//! A link of 8,000 units a second and two classes of equal weight: 4,000 a second each, and 4,000 to begin with. The only
//! request is released with a quantum of 2,896, which leaves 1,104, so the next 2,896 are there after 448 ms; the other class's
//! part is lost.
//!
//! ```
//! use dovetail_sched::{
//!     Nanos, Weight,
//!     request::{ClassId, Request, RequestId, RequestSetup, RequestSpec, UserId},
//! };
//!
//! let mut pools = "delay-pools".parse::<RequestSpec>()?.build(&RequestSetup::for_bytes(8_000.0))?;
//! for class in [ClassId(0), ClassId(1)] {
//!     pools.set_class(class, Weight::ONE, Nanos::ZERO);
//! }
//! pools.set_user(UserId(0), ClassId(0), Nanos::ZERO);
//! pools.enqueue(&Request { id: RequestId(0), user: UserId(0), length: None }, Nanos::ZERO);
//! let turn = pools.dequeue(Nanos::ZERO).expect("requests leave at once");
//! assert!(turn.releases && turn.units == 2_896);
//! pools.received(RequestId(0), 2_896, Nanos::ZERO);
//! pools.ready(RequestId(0), Nanos::ZERO);
//! assert!(pools.dequeue(Nanos::ZERO).is_none());
//! assert_eq!(pools.poll_at(), Some(Nanos::from_millis(448)));
//! let turn = pools.dequeue(Nanos::from_millis(448)).expect("the bucket has a quantum");
//! assert!(!turn.releases && turn.units == 2_896);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, vec::Vec};

use super::{
    Accounts, ClassId, FarDelay, Request, RequestEntry, RequestId, RequestScheduler, RequestSetup, Turn, UserId,
    accounts::slot_mut,
    lines::{ClassLines, Line, Links},
};
use crate::{
    IndexedHeap, Nanos, PolicyError, Weight,
    entry::{Knob, Knobs, NO_CAUTION},
    fluid::WeightSum,
};

/// The registry entry.
pub const ENTRY: RequestEntry = RequestEntry {
    name: "delay-pools",
    summary: "a fixed rate for each class; what one does not use is lost",
    knobs: &[Knob {
        key: "seconds",
        default: "1s",
        meaning: "how long a bucket takes to fill, over 0",
        retunable: true,
    }],
    cost: "O(log n)",
    source: "Squid's delay pools, one of class 1 for each class",
    build: |knobs, setup| Ok(Box::new(DelayPools::new(knobs, setup)?)),
    caution: NO_CAUTION,
};

/// A fixed rate for each class.
#[derive(Debug)]
pub struct DelayPools {
    accounts: Accounts,
    quantum: u64,
    seconds: f64,
    clock: PoolClock,
    buckets: Vec<Bucket>,
    arrived: Line,
    links: Links,
    granted: Vec<Granted>,
    // Responses with units that may not be taken in.
    held: ClassLines,
    // Their classes, by the clock's reading at which the bucket has enough.
    next: IndexedHeap<ClassId, f64>,
}

/// What a response may still take in.
#[derive(Debug, Clone, Copy, Default)]
struct Granted {
    units: u64,
    // The class that paid for the last turn, and for how many of these units: the user may have been moved since.
    paid: Option<(ClassId, u64)>,
}

impl Granted {
    fn grant(&mut self, class: ClassId, units: u64) {
        let before = self.paid.filter(|&(of, _)| of == class).map_or(0, |(_, paid)| paid);
        *self = Self { units: self.units.saturating_add(units), paid: Some((class, before.saturating_add(units))) };
    }

    /// Takes in units; returns how many of them were not granted.
    fn take(&mut self, units: u64) -> u64 {
        let beyond = units.saturating_sub(self.units);
        self.units = self.units.saturating_sub(units);
        self.paid = self.paid.map(|(class, paid)| (class, paid.min(self.units)));
        beyond
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    units: f64,
    // The clock's reading when it had these units.
    at: f64,
}

/// A clock that counts units for a weight of 1 since the beginning.
#[derive(Debug)]
struct PoolClock {
    rate: f64,
    weights: WeightSum,
    // Its reading when its speed changed, and the time of the change.
    base: f64,
    since: Nanos,
    now: Nanos,
}

impl PoolClock {
    /// Units per second for a weight of 1.
    #[inline]
    fn speed(&self) -> f64 {
        if self.weights.total() > 0.0 { self.rate / self.weights.total() } else { 0.0 }
    }

    #[inline]
    fn reading(&self) -> f64 {
        self.base + self.speed() * (self.now - self.since).as_secs_f64()
    }

    /// When it reaches this reading; the end of time if it stands still.
    fn when(&self, reading: f64) -> Nanos {
        let ahead = (reading - self.base).max(0.0) / self.speed() * 1e9;
        // Rounded up: at the returned instant the clock must have reached it.
        let at = self.since + Nanos(ahead as u64) + Nanos(u64::from(ahead > (ahead as u64) as f64));
        at.max(self.now)
    }

    /// Restarts from the current reading, before a change of speed.
    fn restart(&mut self) {
        self.base = self.reading();
        self.since = self.now;
    }
}

impl DelayPools {
    fn new(knobs: &Knobs<'_>, setup: &RequestSetup) -> Result<Self, PolicyError> {
        let fills_in = fills_in(knobs)?;
        Ok(Self {
            accounts: Accounts::default(),
            quantum: setup.quantum,
            seconds: fills_in.as_secs_f64(),
            clock: PoolClock {
                rate: setup.rate,
                weights: WeightSum::default(),
                base: 0.0,
                since: Nanos::ZERO,
                now: Nanos::ZERO,
            },
            buckets: Vec::new(),
            arrived: Line::default(),
            links: Links::default(),
            granted: Vec::new(),
            held: ClassLines::default(),
            next: IndexedHeap::new(),
        })
    }

    #[inline]
    fn tick(&mut self, now: Nanos) {
        self.clock.now = self.clock.now.max(now);
    }

    fn maximum(&self, class: ClassId) -> f64 {
        self.accounts.weight(class) * self.clock.speed() * self.seconds
    }

    /// Fills the class's bucket up to now and adds `units`, which may be negative. Returns its level.
    fn put(&mut self, class: ClassId, units: f64) -> f64 {
        let reading = self.clock.reading();
        let (weight, maximum) = (self.accounts.weight(class), self.maximum(class));
        let bucket = slot_mut(&mut self.buckets, class.0);
        let filled = bucket.units + weight * (reading - bucket.at);
        *bucket = Bucket { units: filled.min(maximum) + units, at: reading };
        let level = bucket.units;
        if self.held.first(class).is_none() {
            self.next.remove(class);
        } else {
            let enough = maximum.min(self.quantum as f64);
            self.next.set(class, reading + (enough - level).max(0.0) / weight);
        }
        level
    }

    /// Fills all buckets up to now, and cuts them to what they hold.
    fn put_all(&mut self) {
        for class in (0..self.buckets.len() as u32).map(ClassId) {
            if self.accounts.is_known(class) {
                self.put(class, 0.0);
            }
        }
    }

    /// The user and class of a request that has been released.
    fn class_of_outstanding(&self, request: RequestId) -> Option<(UserId, ClassId)> {
        let user = self.accounts.user(request).filter(|_| !self.links.contains(request))?;
        Some((user, self.accounts.class_of(user)?))
    }

    fn over(&mut self, request: RequestId, now: Nanos) {
        self.tick(now);
        let Some(left) = self.accounts.left(request) else { return };
        if self.links.contains(request) {
            self.links.remove(&mut self.arrived, request);
            return;
        }
        self.held.remove(request, left.user, left.class);
        self.put(left.class, 0.0);
        if let Some((class, unused)) = core::mem::take(slot_mut(&mut self.granted, request.0)).paid {
            self.put(class, unused as f64);
        }
    }

    fn release(&mut self) -> Option<Turn> {
        let request = self.arrived.first()?;
        self.links.remove(&mut self.arrived, request);
        let class = self.accounts.class(request)?;
        slot_mut(&mut self.granted, request.0).grant(class, self.quantum);
        self.put(class, -(self.quantum as f64));
        Some(Turn { request, releases: true, units: self.quantum, window: u64::MAX })
    }

    fn go_on(&mut self) -> Option<Turn> {
        let (class, enough_at) = self.next.peek()?;
        if self.clock.when(enough_at) > self.clock.now {
            return None;
        }
        let request = self.held.first(class)?;
        let user = self.accounts.user(request)?;
        let level = self.put(class, 0.0);
        // A bucket whose maximum is under a unit goes into debt, or its class would stand still.
        let units = ((level + 0.5) as u64).clamp(1, self.quantum);
        slot_mut(&mut self.granted, request.0).grant(class, units);
        self.held.remove(request, user, class);
        self.put(class, -(units as f64));
        Some(Turn { request, releases: false, units, window: u64::MAX })
    }
}

fn fills_in(knobs: &Knobs<'_>) -> Result<Nanos, PolicyError> {
    match knobs.time("seconds")? {
        Nanos::ZERO => Err(knobs.wrong("seconds", format_args!("a time over 0"))),
        fills_in => Ok(fills_in),
    }
}

impl RequestScheduler for DelayPools {
    fn set_class(&mut self, class: ClassId, weight: Weight, now: Nanos) {
        self.tick(now);
        let known = self.accounts.is_known(class);
        self.put_all();
        self.clock.restart();
        if known {
            self.clock.weights.remove(self.accounts.weight(class));
        }
        self.clock.weights.add(weight.as_f64());
        self.accounts.set_class(class, weight);
        if !known {
            *slot_mut(&mut self.buckets, class.0) = Bucket { units: self.maximum(class), at: self.clock.reading() };
        }
        self.put_all();
    }

    fn set_user(&mut self, user: UserId, class: ClassId, now: Nanos) {
        self.tick(now);
        if let Some(before) = self.accounts.set_user(user, class) {
            self.held.move_user(user, before, class);
            self.put(before, 0.0);
            self.put(class, 0.0);
        }
    }

    fn forget_user(&mut self, user: UserId) {
        self.accounts.forget_user(user);
    }

    fn set_rate(&mut self, units_per_s: f64, now: Nanos) {
        self.tick(now);
        if RequestSetup::is_rate(units_per_s) {
            self.put_all();
            self.clock.restart();
            self.clock.rate = units_per_s;
            self.put_all();
        }
    }

    fn enqueue(&mut self, request: &Request, now: Nanos) {
        self.tick(now);
        if self.accounts.arrived(request.id, request.user).is_some() {
            self.links.push(&mut self.arrived, request.id);
        }
    }

    fn length(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn received(&mut self, request: RequestId, units: u64, now: Nanos) {
        self.tick(now);
        if let Some((_, class)) = self.class_of_outstanding(request) {
            let beyond = slot_mut(&mut self.granted, request.0).take(units);
            if beyond > 0 {
                self.put(class, -(beyond as f64));
            }
        }
    }

    fn unread(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn ready(&mut self, request: RequestId, now: Nanos) {
        self.tick(now);
        if let Some((user, class)) = self.class_of_outstanding(request) {
            self.held.push(request, user, class);
            self.put(class, 0.0);
        }
    }

    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.over(request, now);
    }

    fn cancel(&mut self, request: RequestId, now: Nanos) {
        self.over(request, now);
    }

    fn stray(&mut self, _class: Option<ClassId>, _units: u64, _now: Nanos) {}

    fn far_queue(&mut self, _seen: Option<FarDelay>, _now: Nanos) {}

    fn dequeue(&mut self, now: Nanos) -> Option<Turn> {
        self.tick(now);
        self.release().or_else(|| self.go_on())
    }

    fn poll_at(&self) -> Option<Nanos> {
        if self.arrived.first().is_some() {
            return Some(self.clock.now);
        }
        self.next.peek().map(|(_, enough_at)| self.clock.when(enough_at))
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("throttled", self.held.len() as f64);
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
        let fills_in = fills_in(knobs)?;
        self.tick(now);
        self.put_all();
        self.seconds = fills_in.as_secs_f64();
        self.put_all();
        Ok(())
    }
}
