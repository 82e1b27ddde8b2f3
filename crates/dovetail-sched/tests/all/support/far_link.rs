//! A simple model of a narrow downlink, for request schedulers: senders that send what they may at once, a queue at the link's
//! far end that never drops, and a gateway that follows the scheduler. No transport protocol, no loss.
#![allow(dead_code)]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

use dovetail_sched::{
    Nanos,
    request::{ClassId, FarQueue, Request, RequestId, RequestScheduler, UserId},
};

/// The most units that arrive in one piece.
const PIECE: u64 = 1448;
const PROBE_EVERY: u64 = 50_000_000;
/// A probe's travel time without the queue.
const PROBE_WAY: u64 = 10_000_000;

/// A response as its sender will send it.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub user: u32,
    pub class: u32,
    /// Units that the sender has.
    pub size: u64,
    /// The length that it states with the request.
    pub hint: Option<u64>,
    /// The length that it states when its first units arrive.
    pub said: Option<u64>,
    /// Units after which it breaks off.
    pub breaks_at: u64,
    /// From the request's departure to the first unit at the far queue, in ns.
    pub way: u64,
}

impl Job {
    /// An honest response whose length is stated when it begins.
    pub fn honest(user: u32, class: u32, size: u64, way: u64) -> Self {
        Self { user, class, size, hint: None, said: Some(size), breaks_at: u64::MAX, way }
    }
}

/// A response that was complete or broke off.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    pub job: Job,
    pub asked: u64,
    pub done: u64,
}

#[derive(Debug)]
struct Flow {
    job: Job,
    asked: u64,
    sent: u64,
    came: u64,
    taken: u64,
    may_take: u64,
    window: u64,
    told_length: bool,
    // Whether the gateway was told that units wait, since its last turn.
    held: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The sender of this request learns how much it may send in total.
    May {
        id: u32,
        serial: u64,
        until: u64,
    },
    /// Units and the header have crossed the link.
    Comes {
        id: u32,
        serial: u64,
        units: u64,
    },
    Probe,
    ProbeBack {
        number: u64,
    },
    Ask {
        job: usize,
    },
    Look,
}

/// The whole model.
pub struct FarLink<'a> {
    pub gateway: &'a mut dyn RequestScheduler,
    /// Whether the scheduler is told how far away servers are.
    pub tells_distance: bool,
    pub now: u64,
    rate: f64,
    header: u64,
    // When the far queue will have run empty.
    empty_at: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    numbers: u64,
    flows: BTreeMap<u32, (u64, Flow)>,
    free: VecDeque<u32>,
    jobs: Vec<Job>,
    look_at: u64,
    probes: FarQueue,
    pub done: Vec<Done>,
    /// Units taken in, by class.
    pub taken: Vec<u64>,
    /// Headers received, by class.
    pub headers: Vec<u64>,
    /// Requests that wait, and responses with units waiting, by class.
    pub candidates: Vec<u64>,
    /// When each class last took something in.
    pub last_taken: Vec<u64>,
    /// Pieces by how long they waited in the far queue, in units of 10 ms.
    pub waits: Vec<u64>,
}

impl<'a> FarLink<'a> {
    /// A link of `rate` units a second, with headers of this size.
    pub fn new(gateway: &'a mut dyn RequestScheduler, rate: f64, header: u64, classes: usize) -> Self {
        let mut link = Self {
            gateway,
            tells_distance: false,
            now: 0,
            rate,
            header,
            empty_at: 0,
            events: BinaryHeap::new(),
            numbers: 0,
            flows: BTreeMap::new(),
            free: VecDeque::new(),
            jobs: Vec::new(),
            look_at: u64::MAX,
            probes: FarQueue::default(),
            done: Vec::new(),
            taken: vec![0; classes],
            headers: vec![0; classes],
            candidates: vec![0; classes],
            last_taken: vec![0; classes],
            waits: Vec::new(),
        };
        link.at(0, Event::Probe);
        link
    }

    /// The job's request arrives at this time.
    pub fn ask(&mut self, job: Job, at: u64) {
        self.jobs.push(job);
        self.at(at, Event::Ask { job: self.jobs.len() - 1 });
    }

    /// The link carries nothing for this long, in ns, once it has carried what is in the far queue.
    pub fn stop_for(&mut self, ns: u64) {
        self.empty_at = self.empty_at.max(self.now) + ns;
    }

    /// Runs until an event after which `stop` returns true, or to `end`; returns whether it was the former.
    pub fn run(&mut self, end: u64, mut stop: impl FnMut(&mut Self) -> bool) -> bool {
        while let Some(&Reverse((time, _, event))) = self.events.peek() {
            if time > end {
                break;
            }
            self.events.pop();
            self.now = time;
            self.happen(event);
            self.turns();
            if stop(self) {
                return true;
            }
        }
        self.now = end;
        false
    }

    fn at(&mut self, time: u64, event: Event) {
        self.numbers += 1;
        self.events.push(Reverse((time, self.numbers, event)));
    }

    fn happen(&mut self, event: Event) {
        let now = Nanos(self.now);
        match event {
            Event::Look if self.now == self.look_at => self.look_at = u64::MAX,
            // Another was planned for an earlier time since.
            Event::Look => {}
            Event::Probe => {
                let delay = self.empty_at.saturating_sub(self.now);
                let number = self.probes.probe(now);
                self.at(self.now + delay + PROBE_WAY, Event::ProbeBack { number });
                self.at(self.now + PROBE_EVERY, Event::Probe);
                self.gateway.far_queue(self.probes.delay(now), now);
            }
            Event::ProbeBack { number } => {
                self.probes.back(number, now);
                self.gateway.far_queue(self.probes.delay(now), now);
            }
            Event::Ask { job } => {
                let job = self.jobs[job];
                let id = self.free.pop_front().unwrap_or(self.flows.len() as u32);
                self.numbers += 1;
                let flow = Flow {
                    job,
                    asked: self.now,
                    sent: 0,
                    came: 0,
                    taken: 0,
                    may_take: 0,
                    window: 0,
                    told_length: false,
                    held: false,
                };
                self.candidates[job.class as usize] += 1;
                self.flows.insert(id, (self.numbers, flow));
                self.gateway.enqueue(&Request { id: RequestId(id), user: UserId(job.user), length: job.hint }, now);
                if self.tells_distance {
                    self.gateway.distance(RequestId(id), Nanos(job.way), now);
                }
            }
            Event::May { id, serial, until } => self.send(id, serial, until),
            Event::Comes { id, serial, units } => self.comes(id, serial, units),
        }
    }

    /// The sender sends what it may; the pieces cross the far queue.
    fn send(&mut self, id: u32, serial: u64, until: u64) {
        let Some((_, flow)) = self.flows.get_mut(&id).filter(|(other, _)| *other == serial) else { return };
        let whole = flow.job.size.min(flow.job.breaks_at);
        let mut pieces = Vec::new();
        if flow.sent == 0 && whole == 0 {
            pieces.push(0);
        }
        while flow.sent < until.min(whole) {
            let units = PIECE.min(until.min(whole) - flow.sent);
            pieces.push(units);
            flow.sent += units;
        }
        for (n, units) in pieces.into_iter().enumerate() {
            let header = if n == 0 && self.flows[&id].1.came == 0 { self.header } else { 0 };
            let wait = (self.empty_at.saturating_sub(self.now) / 10_000_000) as usize;
            self.waits.resize(self.waits.len().max(wait + 1), 0);
            self.waits[wait] += 1;
            self.empty_at = self.empty_at.max(self.now) + ((units + header) as f64 * 1e9 / self.rate) as u64;
            self.at(self.empty_at, Event::Comes { id, serial, units });
        }
    }

    fn comes(&mut self, id: u32, serial: u64, units: u64) {
        let now = Nanos(self.now);
        let Some((_, flow)) = self.flows.get_mut(&id).filter(|(other, _)| *other == serial) else { return };
        flow.came += units;
        if !flow.told_length {
            flow.told_length = true;
            self.headers[flow.job.class as usize] += 1;
            if let Some(said) = flow.job.said {
                self.gateway.length(RequestId(id), said, now);
            }
        }
        self.take(id);
    }

    /// Takes in what has arrived and may be taken in.
    fn take(&mut self, id: u32) {
        let now = Nanos(self.now);
        let (_, flow) = self.flows.get_mut(&id).expect("a response that is not over");
        let class = flow.job.class as usize;
        let units = flow.came.min(flow.may_take) - flow.taken;
        if units > 0 {
            flow.taken += units;
            self.taken[class] += units;
            self.last_taken[class] = self.now;
            self.gateway.received(RequestId(id), units, now);
        }
        let (_, flow) = &self.flows[&id];
        if flow.told_length && flow.taken == flow.job.size.min(flow.job.breaks_at) {
            self.done.push(Done { job: flow.job, asked: flow.asked, done: self.now });
            self.candidates[class] -= u64::from(flow.held);
            self.flows.remove(&id);
            self.free.push_back(id);
            self.gateway.ended(RequestId(id), now);
        } else if flow.came > flow.may_take || flow.window == 0 && flow.taken == flow.may_take {
            // If nothing may be in flight, a sender that has used up its permission waits with more.
            if !flow.held {
                self.candidates[class] += 1;
                self.flows.get_mut(&id).expect("a response that is not over").1.held = true;
            }
            self.gateway.ready(RequestId(id), now);
        }
    }

    fn turns(&mut self) {
        while let Some(turn) = self.gateway.dequeue(Nanos(self.now)) {
            let id = turn.request.0;
            let (serial, flow) = self.flows.get_mut(&id).expect("a turn for a request that is not over");
            let serial = *serial;
            flow.may_take = flow.may_take.saturating_add(turn.units);
            flow.window = turn.window;
            let until = flow.may_take.saturating_add(turn.window);
            let (way, class) = (flow.job.way, flow.job.class as usize);
            let was_held = core::mem::replace(&mut flow.held, false);
            self.candidates[class] -= u64::from(turn.releases || was_held);
            self.at(self.now + way, Event::May { id, serial, until });
            if !turn.releases {
                self.take(id);
            }
        }
        if let Some(Nanos(at)) = self.gateway.poll_at()
            && at < self.look_at
        {
            self.look_at = at.max(self.now);
            self.at(self.look_at, Event::Look);
        }
    }

    /// Classes from 0 on with these weights, and their users, numbered consecutively.
    pub fn place(gateway: &mut dyn RequestScheduler, classes: &[(f64, u32)]) {
        let mut user = 0;
        for (class, &(weight, users)) in (0..).zip(classes) {
            let weight = dovetail_sched::Weight::new(weight).expect("in range");
            gateway.set_class(ClassId(class), weight, Nanos::ZERO);
            for _ in 0..users {
                gateway.set_user(UserId(user), ClassId(class), Nanos::ZERO);
                user += 1;
            }
        }
    }
}
