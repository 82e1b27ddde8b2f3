//! A pipeline simulated event by event, slow and plain, for tests to drive a scheduler with. It shares no code with the
//! simulator, which computes the same schedules by a recursion and is tested against this.
#![allow(dead_code)]

use std::collections::{HashMap, VecDeque};

use dovetail_sched::{Demand, Feedback, FlowId, Nanos, Packet, Scheduler, Stage};

/// A packet of a test's workload; its index in the list is its handle.
#[derive(Debug, Clone)]
pub struct Job {
    pub flow: u32,
    pub bytes: u32,
    pub arrival: u64,
    pub demand: Vec<u64>,
}

/// Jobs from (flow, bytes, time since the last arrival, demand), in order of arrival.
pub fn one_after_another(rows: Vec<(u32, u32, u64, Vec<u64>)>) -> Vec<Job> {
    let mut now = 0;
    rows.into_iter()
        .map(|(flow, bytes, gap, demand)| {
            now += gap;
            Job { flow, bytes, arrival: now, demand }
        })
        .collect()
}

/// What happened to a packet that was sent; jobs without one were refused or evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub job: usize,
    pub flow: u32,
    /// When the scheduler released it.
    pub released: u64,
    pub start: Vec<u64>,
    pub end: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    NoWait,
    Unbounded,
    /// This many places between one resource and the next; a packet that finds none blocks the resource it is on.
    Buffer(usize),
}

struct Running {
    sent: Sent,
    ticket: u64,
    finished: bool,
}

struct Pipe<'a> {
    mode: Mode,
    jobs: &'a [Job],
    servers: Vec<Option<Running>>,
    buffers: Vec<VecDeque<Running>>,
    /// Released in no-wait mode, with the time at which it starts on the first resource.
    held: Option<(u64, Running)>,
    /// In no-wait mode, until when each resource is reserved.
    promised: Vec<u64>,
    /// Jobs in the order of their release.
    released: Vec<usize>,
    done: Vec<Sent>,
}

/// Plays `jobs` (in order of arrival) through `scheduler`; returns what was sent, in order of release.
pub fn play(scheduler: &mut dyn Scheduler, jobs: &[Job], mode: Mode) -> Vec<Sent> {
    let m = jobs.first().map_or(1, |job| job.demand.len());
    let mut pipe = Pipe {
        mode,
        jobs,
        servers: (0..m).map(|_| None).collect(),
        buffers: (0..m).map(|_| VecDeque::new()).collect(),
        held: None,
        promised: vec![0; m],
        released: Vec::new(),
        done: Vec::new(),
    };
    let mut next = 0;
    let mut now = 0;
    loop {
        pipe.settle(scheduler, now);
        while next < jobs.len() && jobs[next].arrival <= now {
            let _ = scheduler.enqueue(&packet(jobs, next), Nanos(now));
            while scheduler.poll_evicted().is_some() {}
            next += 1;
        }
        if pipe.servers[0].is_none()
            && pipe.held.is_none()
            && let Some(out) = scheduler.dequeue(Nanos(now))
        {
            pipe.release(scheduler, out.packet.handle as usize, out.ticket, now);
            continue;
        }
        let arrival = jobs.get(next).map(|job| job.arrival);
        let poll = if pipe.servers[0].is_none() && pipe.held.is_none() { scheduler.poll_at() } else { None };
        let wake = [arrival, pipe.next_event(), poll.map(|at| at.0.max(now + 1))].into_iter().flatten().min();
        match wake {
            Some(at) => now = at,
            None => break,
        }
    }
    assert_eq!(scheduler.backlog().packets, 0, "the pipeline is idle and packets wait for ever");
    let place: HashMap<usize, usize> = pipe.released.iter().enumerate().map(|(place, &job)| (job, place)).collect();
    pipe.done.sort_by_key(|sent| place[&sent.job]);
    pipe.done
}

fn packet(jobs: &[Job], place: usize) -> Packet {
    let job = &jobs[place];
    let times: Vec<Nanos> = job.demand.iter().map(|&time| Nanos(time)).collect();
    Packet {
        flow: FlowId(job.flow),
        bytes: job.bytes,
        arrival: Nanos(job.arrival),
        handle: place as u64,
        demand: Demand::new(&times).expect("1 to 8 resources"),
    }
}

impl Pipe<'_> {
    fn release(&mut self, scheduler: &mut dyn Scheduler, job: usize, ticket: u64, now: u64) {
        let flow = self.jobs[job].flow;
        self.released.push(job);
        let sent = Sent { job, flow, released: now, start: Vec::new(), end: Vec::new() };
        let running = Running { sent, ticket, finished: false };
        if self.mode == Mode::NoWait {
            let demand = &self.jobs[job].demand;
            let mut before = 0;
            let mut start = now;
            for (j, &time) in demand.iter().enumerate() {
                start = start.max(self.promised[j].saturating_sub(before));
                before += time;
            }
            let mut at = start;
            for (j, &time) in demand.iter().enumerate() {
                at += time;
                self.promised[j] = at;
            }
            self.held = Some((start, running));
            self.settle(scheduler, now);
        } else {
            self.start(scheduler, 0, running, now);
            self.settle(scheduler, now);
        }
    }

    fn start(&mut self, scheduler: &mut dyn Scheduler, j: usize, mut running: Running, now: u64) {
        assert!(self.servers[j].is_none());
        running.sent.start.push(now);
        running.finished = false;
        tell(scheduler, &running, j, Stage::Started, 0, now);
        self.servers[j] = Some(running);
    }

    /// Processes everything that happens at `now`.
    fn settle(&mut self, scheduler: &mut dyn Scheduler, now: u64) {
        let m = self.servers.len();
        loop {
            let mut changed = false;
            if self.held.as_ref().is_some_and(|(at, _)| *at <= now) && self.servers[0].is_none() {
                let (_, running) = self.held.take().expect("just seen");
                self.start(scheduler, 0, running, now);
                changed = true;
            }
            for j in (0..m).rev() {
                if let Some(running) = &mut self.servers[j] {
                    let took = self.jobs[running.sent.job].demand[j];
                    if !running.finished && running.sent.start[j] + took <= now {
                        running.finished = true;
                        running.sent.end.push(now);
                        tell(scheduler, running, j, Stage::Finished, took, now);
                        changed = true;
                    }
                }
                if self.servers[j].as_ref().is_some_and(|running| running.finished) {
                    let onward = j + 1 < m;
                    let room = !onward
                        || match self.mode {
                            Mode::Unbounded => true,
                            Mode::Buffer(places) if places > 0 => self.buffers[j + 1].len() < places,
                            _ => self.servers[j + 1].is_none(),
                        };
                    if room {
                        let running = self.servers[j].take().expect("just seen");
                        if onward {
                            if self.mode != Mode::NoWait
                                && let Some(later) = scheduler.later_stages()
                            {
                                let packet = packet(self.jobs, running.sent.job);
                                assert!(later.enqueue_before(j + 1, &packet, Nanos(now)).is_queued());
                            }
                            self.buffers[j + 1].push_back(running)
                        } else {
                            self.done.push(running.sent)
                        }
                        changed = true;
                    }
                }
                if self.servers[j].is_none()
                    && let Some(running) = self.next_for(scheduler, j, now)
                {
                    self.start(scheduler, j, running, now);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The packet that resource `j` takes from those before it: the first, or the one that a scheduler there chooses.
    fn next_for(&mut self, scheduler: &mut dyn Scheduler, j: usize, now: u64) -> Option<Running> {
        let later = if j > 0 && self.mode != Mode::NoWait { scheduler.later_stages() } else { None };
        let Some(later) = later else { return self.buffers[j].pop_front() };
        let job = later.dequeue_before(j, Nanos(now))?.handle as usize;
        let place = self.buffers[j].iter().position(|running| running.sent.job == job).expect("it waits there");
        self.buffers[j].remove(place)
    }

    fn next_event(&self) -> Option<u64> {
        let ends = self.servers.iter().enumerate().filter_map(|(j, server)| {
            let running = server.as_ref().filter(|running| !running.finished)?;
            Some(running.sent.start[j] + self.jobs[running.sent.job].demand[j])
        });
        ends.chain(self.held.iter().map(|(at, _)| *at)).min()
    }
}

fn tell(scheduler: &mut dyn Scheduler, running: &Running, j: usize, stage: Stage, took: u64, now: u64) {
    if scheduler.interest().has(stage, j) {
        let flow = FlowId(running.sent.flow);
        let event = Feedback { flow, ticket: running.ticket, resource: j as u8, stage, took: Nanos(took) };
        scheduler.feedback(&event, Nanos(now));
    }
}

/// Checks that a schedule is possible: each packet at most once, flows in order, one packet at a time per resource, each for
/// its time, in pipeline order, and the mode's own rule.
pub fn assert_feasible(jobs: &[Job], sent: &[Sent], mode: Mode) {
    let m = jobs.first().map_or(1, |job| job.demand.len());
    let mut seen = vec![false; jobs.len()];
    for one in sent {
        let job = &jobs[one.job];
        assert!(!seen[one.job], "packet {} was sent twice", one.job);
        seen[one.job] = true;
        assert!(one.start[0] >= job.arrival, "packet {} left before it came", one.job);
        for j in 0..m {
            assert_eq!(one.end[j] - one.start[j], job.demand[j], "packet {} on resource {j}", one.job);
            if j > 0 {
                assert!(one.start[j] >= one.end[j - 1]);
                if mode == Mode::NoWait {
                    assert_eq!(one.start[j], one.end[j - 1], "packet {} waited before resource {j}", one.job);
                }
            }
        }
    }
    for j in 0..m {
        let mut order: Vec<&Sent> = sent.iter().collect();
        order.sort_by_key(|one| (one.start[j], one.end[j]));
        let mut last_of_flow: HashMap<u32, usize> = HashMap::new();
        for (place, one) in order.iter().enumerate() {
            if let Some(before) = last_of_flow.insert(one.flow, one.job) {
                assert!(before < one.job, "flow {} was reordered on {j}: {} after {before}", one.flow, one.job);
            }
            let Some(next) = order.get(place + 1) else { continue };
            assert!(next.start[j] >= one.end[j], "two packets on resource {j} at once");
            if let Mode::Buffer(places) = mode
                && j + 1 < m
            {
                // The next packet starts only when this one has found a place, or the server, behind it.
                let onward = sent.iter().filter(|other| other.start[j + 1] <= next.start[j]).count();
                assert!(place < onward + places, "more than {places} packets before resource {}", j + 1);
            }
        }
    }
}

/// Forwards to a scheduler's field `inner` the methods that a wrapper does not change.
#[allow(unused_macros)]
macro_rules! pass_on {
    () => {
        dovetail_sched::forward_scheduler!(
            inner: poll_at, feedback, interest, discard, set_weight, set_resource_weights, forget, backlog, flow_backlog,
            retune, figures, learning, later_stages
        );
    };
}
#[allow(unused_imports)]
pub(crate) use pass_on;
