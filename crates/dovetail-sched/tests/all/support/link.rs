//! An ideal link: all outstanding responses share it evenly, at once and without loss. A fluid, advanced from event to event,
//! for tests to drive a request scheduler with.
#![allow(dead_code)]

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};

/// The history of a request, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub user: u32,
    pub units: u64,
    pub arrived_s: f64,
    pub released_s: f64,
    pub ended_s: f64,
}

#[derive(Debug)]
struct Open {
    id: u32,
    left: f64,
    told: u64,
    /// Units that the gateway lets in; the sender sends as long as there are some.
    allowed: f64,
}

#[derive(Debug)]
pub struct Link {
    pub gateway: Box<dyn RequestScheduler>,
    pub jobs: Vec<Job>,
    pub now_s: f64,
    rate: f64,
    /// The interval between two reports of units received.
    grain_s: f64,
    open: Vec<Open>,
}

fn nanos(seconds: f64) -> Nanos {
    Nanos::from_f64(seconds * 1e9)
}

/// Less than this remains by rounding alone.
const TRACE: f64 = 1e-6;

impl Link {
    /// A link of `rate` units a second behind a gateway with classes of these weights.
    pub fn new(policy: &str, rate: f64, weights: &[f64]) -> Self {
        let spec: RequestSpec = policy.parse().expect("a policy");
        let mut gateway = spec.build(&RequestSetup { rate, ..RequestSetup::for_bytes(1e6) }).expect("a rate in range");
        for (class, &weight) in (0..).map(ClassId).zip(weights) {
            gateway.set_class(class, Weight::new(weight).expect("a weight"), Nanos::ZERO);
        }
        Self { gateway, jobs: Vec::new(), now_s: 0.0, rate, grain_s: f64::INFINITY, open: Vec::new() }
    }

    /// Units received are reported at least this often.
    pub fn with_grain(self, grain_s: f64) -> Self {
        Self { grain_s, ..self }
    }

    pub fn place(&mut self, user: u32, class: u32) {
        self.gateway.set_user(UserId(user), ClassId(class), nanos(self.now_s));
    }

    pub fn arrive(&mut self, user: u32, units: u64) {
        let id = self.jobs.len() as u32;
        let never = f64::NAN;
        self.jobs.push(Job { user, units, arrived_s: self.now_s, released_s: never, ended_s: never });
        self.gateway.enqueue(&Request { id: RequestId(id), user: UserId(user), length: None }, nanos(self.now_s));
    }

    /// Units received for a request.
    pub fn served(&self, id: u32) -> f64 {
        let job = &self.jobs[id as usize];
        match self.open.iter().find(|open| open.id == id) {
            Some(open) => job.units as f64 - open.left,
            None if job.released_s.is_nan() => 0.0,
            None => job.units as f64,
        }
    }

    /// Advances to the next event, or to `until_s`; returns the requests that ended with it.
    pub fn step(&mut self, until_s: f64) -> Vec<u32> {
        self.ask();
        let flowing = self.open.iter().filter(|open| open.allowed > 0.0).count();
        let share = self.rate / flowing.max(1) as f64;
        let reaches = |open: &Open| self.now_s + open.left.min(open.allowed) / share;
        let events = self.open.iter().filter(|open| open.allowed > 0.0).map(reaches);
        let asks = self.gateway.poll_at().map(|at| (at.0 as f64 / 1e9).max(self.now_s));
        let to_s = events.chain(asks).chain([self.now_s + self.grain_s]).fold(until_s, f64::min);
        let came = share * (to_s - self.now_s);
        self.now_s = to_s;
        let now = nanos(to_s);
        for open in self.open.iter_mut().filter(|open| open.allowed > 0.0) {
            open.left -= came;
            open.allowed -= came;
            if open.left < TRACE {
                open.left = 0.0;
            }
            let whole = self.jobs[open.id as usize].units - open.left.ceil() as u64;
            if whole > open.told {
                self.gateway.received(RequestId(open.id), whole - open.told, now);
                open.told = whole;
            }
            if open.left > 0.0 && open.allowed < TRACE {
                open.allowed = 0.0;
                self.gateway.ready(RequestId(open.id), now);
            }
        }
        let ended: Vec<u32> = self.open.iter().filter(|open| open.left == 0.0).map(|open| open.id).collect();
        self.open.retain(|open| open.left > 0.0);
        for &id in &ended {
            self.jobs[id as usize].ended_s = to_s;
            self.gateway.ended(RequestId(id), now);
        }
        ended
    }

    fn ask(&mut self) {
        let units = |units: u64| if units == u64::MAX { f64::INFINITY } else { units as f64 };
        while let Some(turn) = self.gateway.dequeue(nanos(self.now_s)) {
            let id = turn.request.0;
            if turn.releases {
                let job = &mut self.jobs[id as usize];
                assert!(job.released_s.is_nan(), "request {id} was released twice");
                job.released_s = self.now_s;
                self.open.push(Open { id, left: job.units as f64, told: 0, allowed: units(turn.units) });
            } else {
                let open = self.open.iter_mut().find(|open| open.id == id).expect("only what is outstanding has turns");
                open.allowed += units(turn.units);
            }
        }
    }
}

/// Sizes of the paper's responses (section 5.1): lognormal, M = 9.357, S = 1.318, the same in every run (SplitMix64).
#[derive(Debug)]
pub struct Sizes(u64);

impl Sizes {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn lognormal(&mut self) -> u64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
        (9.357 + 1.318 * normal).exp().ceil() as u64
    }
}
