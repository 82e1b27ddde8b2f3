//! The operations of a request scheduler's handle.
//!
//! Ids index tables, so each is checked against the setup's limit before a policy sees it: a stray number must not exhaust the
//! machine's memory.

use dovetail_sched::{
    Nanos,
    request::{
        Accounts, Capped, ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, Turn,
        UserId,
    },
};

use crate::{
    checks::Checks,
    convert,
    failure::Failure,
    structs::{DVT_NO_CLASS, dvt_request, dvt_request_setup, dvt_status},
};

/// The default number of ids, and the maximum.
const IDS: u32 = 1 << 20;
const MAX_IDS: u32 = 1 << 26;

/// A request scheduler.
#[derive(Debug)]
pub(crate) struct Requests {
    scheduler: Capped,
    ids: u32,
    checks: Checks,
    // What exists, for a checked handle: the policies ignore anything else.
    known: Option<Box<Accounts>>,
    figures: Vec<(&'static str, f64)>,
}

/// What a number of units refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Units {
    Length,
    Received,
    Unread,
    Offers,
    RoundTrip,
    Distance,
}

/// What happened to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Became {
    Ready,
    Ended,
    Cancelled,
}

impl Requests {
    pub(crate) fn new(policy: &str, setup: &dvt_request_setup) -> Result<Self, Failure> {
        let ids = if setup.ids == 0 { IDS } else { setup.ids };
        if ids > MAX_IDS {
            return Err(Failure::range(format!("there are at most {MAX_IDS} ids, not {ids}")));
        }
        let checks = Checks::new(setup.flags, 0)?;
        let spec: RequestSpec = policy.parse()?;
        let setup = convert::request_setup(setup)?;
        let scheduler = Capped::new(spec.build(&setup)?, &setup);
        let known = checks.is_on().then(Box::default);
        Ok(Self { scheduler, ids, checks, known, figures: Vec::new() })
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.checks.is_on()
    }

    pub(crate) fn set_class(&mut self, class: u32, weight: f64, now_ns: u64) -> Result<(), Failure> {
        let (class, weight) = (ClassId(self.id("class", class)?), convert::weight(weight)?);
        let now = self.checks.time(now_ns)?;
        if let Some(known) = &mut self.known {
            known.set_class(class, weight);
        }
        self.scheduler.set_class(class, weight, now);
        Ok(())
    }

    pub(crate) fn set_user(&mut self, user: u32, class: u32, now_ns: u64) -> Result<(), Failure> {
        let (user, class) = (UserId(self.id("user", user)?), self.class(class)?);
        let now = self.checks.time(now_ns)?;
        if let Some(known) = &mut self.known {
            known.set_user(user, class);
        }
        self.scheduler.set_user(user, class, now);
        Ok(())
    }

    /// False if it is known that the user has requests, and so stays.
    pub(crate) fn forget_user(&mut self, user: u32) -> Result<bool, Failure> {
        let user = UserId(self.id("user", user)?);
        if let Some(known) = &mut self.known {
            if known.class_of(user).is_none() {
                return Err(unknown("user", user.0));
            }
            if !known.forget_user(user) {
                return Ok(false);
            }
        }
        self.scheduler.forget_user(user);
        Ok(true)
    }

    pub(crate) fn set_rate(&mut self, rate: f64, now_ns: u64) -> Result<(), Failure> {
        let rate = convert::rate(rate)?;
        let now = self.checks.time(now_ns)?;
        self.scheduler.set_rate(rate, now);
        Ok(())
    }

    pub(crate) fn set_cap(&mut self, class: u32, rate: f64, now_ns: u64) -> Result<(), Failure> {
        let class = self.class(class)?;
        let cap = Some(rate).filter(|&rate| rate != 0.0);
        if let Some(rate) = cap.filter(|&rate| !RequestSetup::is_rate(rate)) {
            let text = format!("a class may have from 0.001 to 10^15 units a second, or 0 for no limit, not {rate}");
            return Err(Failure::range(text));
        }
        let now = self.checks.time(now_ns)?;
        self.scheduler.set_cap(class, cap, now);
        Ok(())
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, given: &dvt_request, now_ns: u64) -> Result<(), Failure> {
        self.id("request", given.id)?;
        self.id("user", given.user)?;
        let request = convert::request(given)?;
        if let Some(known) = &self.known {
            may_arrive(known, &request)?;
        }
        let now = self.checks.time(now_ns)?;
        if let Some(known) = &mut self.known {
            known.arrived(request.id, request.user);
        }
        self.scheduler.enqueue(&request, now);
        Ok(())
    }

    #[inline]
    pub(crate) fn units(&mut self, what: Units, request: u32, units: u64, now_ns: u64) -> Result<(), Failure> {
        let request = self.request(request)?;
        let now = self.checks.time(now_ns)?;
        match what {
            Units::Length => self.scheduler.length(request, units, now),
            Units::Received => self.scheduler.received(request, units, now),
            Units::Unread => self.scheduler.unread(request, units, now),
            Units::Offers => self.scheduler.offers(request, units, now),
            Units::RoundTrip => self.scheduler.round_trip(request, Nanos(units), now),
            Units::Distance => self.scheduler.distance(request, Nanos(units), now),
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn became(&mut self, what: Became, request: u32, now_ns: u64) -> Result<(), Failure> {
        let request = self.request(request)?;
        let now = self.checks.time(now_ns)?;
        if let (Became::Ended | Became::Cancelled, Some(known)) = (what, &mut self.known) {
            known.left(request);
        }
        match what {
            Became::Ready => self.scheduler.ready(request, now),
            Became::Ended => self.scheduler.ended(request, now),
            Became::Cancelled => self.scheduler.cancel(request, now),
        }
        Ok(())
    }

    pub(crate) fn uplink(&mut self, is_busy: bool, now_ns: u64) -> Result<(), Failure> {
        let now = self.checks.time(now_ns)?;
        self.scheduler.uplink(is_busy, now);
        Ok(())
    }

    pub(crate) fn stray(&mut self, class: u32, units: u64, now_ns: u64) -> Result<(), Failure> {
        if class != DVT_NO_CLASS {
            self.class(class)?;
        }
        let now = self.checks.time(now_ns)?;
        self.scheduler.stray(convert::class(class), units, now);
        Ok(())
    }

    pub(crate) fn far_queue(&mut self, delay_ns: u64, room_ns: u64, now_ns: u64) -> Result<(), Failure> {
        let now = self.checks.time(now_ns)?;
        let room = convert::known(room_ns).map(Nanos);
        let seen = convert::known(delay_ns).map(|delay_ns| FarDelay { delay: Nanos(delay_ns), room });
        self.scheduler.far_queue(seen, now);
        Ok(())
    }

    #[inline]
    pub(crate) fn dequeue(&mut self, now_ns: u64) -> Result<Option<Turn>, Failure> {
        let now = self.checks.time(now_ns)?;
        Ok(self.scheduler.dequeue(now))
    }

    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        self.scheduler.poll_at()
    }

    /// The figure with this number; number 0 takes a snapshot of all.
    pub(crate) fn figure(&mut self, at: u32) -> Option<(&'static str, f64)> {
        if at == 0 {
            self.figures.clear();
            let figures = &mut self.figures;
            self.scheduler.figures(&mut |name, value| figures.push((name, value)));
        }
        self.figures.get(at as usize).copied()
    }

    pub(crate) fn first_window(&self) -> Option<u64> {
        self.scheduler.first_window()
    }

    pub(crate) fn retune(&mut self, policy: &str, now_ns: u64) -> Result<(), Failure> {
        let spec: RequestSpec = policy.parse()?;
        self.checks.time_of(now_ns, |now| Ok(self.scheduler.retune(&spec.knobs(), now)?))
    }

    /// A request, which exists if that is known.
    #[inline]
    fn request(&self, id: u32) -> Result<RequestId, Failure> {
        let request = RequestId(self.id("request", id)?);
        match &self.known {
            Some(known) if known.user(request).is_none() => Err(unknown("request", id)),
            _ => Ok(request),
        }
    }

    /// A class, which exists if that is known.
    fn class(&self, id: u32) -> Result<ClassId, Failure> {
        let class = ClassId(self.id("class", id)?);
        match &self.known {
            Some(known) if !known.is_known(class) => Err(unknown("class", id)),
            _ => Ok(class),
        }
    }

    #[inline]
    fn id(&self, what: &str, id: u32) -> Result<u32, Failure> {
        if id < self.ids {
            return Ok(id);
        }
        Err(Failure::range(format!("the {what}'s id must be below {}, not {id}", self.ids)))
    }
}

/// Whether a request's user exists and its id is free.
#[cold]
#[inline(never)]
fn may_arrive(known: &Accounts, request: &Request) -> Result<(), Failure> {
    if known.class_of(request.user).is_none() {
        return Err(unknown("user", request.user.0));
    }
    if known.user(request.id).is_some() {
        let text = format!("the request {} is already waiting or outstanding", request.id.0);
        return Err(Failure::new(dvt_status::DVT_ERROR_DUPLICATE, text));
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn unknown(what: &str, id: u32) -> Failure {
    Failure::new(dvt_status::DVT_ERROR_UNKNOWN, format!("there is no {what} {id}"))
}
