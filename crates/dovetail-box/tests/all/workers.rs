//! A CPU of several workers, in virtual time: the assignment of packets, checked from outside.
//!
//! The caller models a real box: it polls at its own pace, workers process what they were given at theirs, and it learns of
//! the results at its next poll. The observations are then checked packet by packet, regardless of cost.

use std::collections::{HashMap, VecDeque};

use dovetail_box::node::{Action, Cause, Link, MAX_JOBS, Node, Outcome, Pace, Passage, Room};
use dovetail_sched::{
    Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, registry::REGISTRY, units::Rate,
};
use proptest::prelude::*;

/// A packet: interarrival time, flow, bytes, CPU time, and whether its processing drops it.
#[derive(Debug, Clone)]
struct Job {
    gap: u64,
    flow: u32,
    bytes: u32,
    cpu: u64,
    ends: bool,
}

/// How the box runs. Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct How {
    workers: u16,
    /// Interval between two polls of the caller; its actions then have that time.
    every: u64,
    /// Real processing time, as a fraction of the nominal time.
    real: f64,
    /// Wake-up latency of an idle worker.
    wakes_in: u64,
    room: Room,
    limits: Limits,
    /// Whether to check for idle workers: the policy holds nothing back, and nothing blocks.
    is_conserving: bool,
}

const CLASSES: u32 = 3;

/// Observations of a packet.
#[derive(Debug, Clone)]
struct Story {
    job: Job,
    arrival: u64,
    refused: bool,
    evicted: Option<u64>,
    /// Worker and time, as reported by the node.
    handed_out: Option<(u16, u64)>,
    sent: Option<Passage>,
}

/// A real worker.
#[derive(Debug, Default)]
struct Real {
    /// Handles, and completion times.
    given: VecDeque<(usize, u64)>,
    free_at: u64,
}

struct Run {
    node: Node,
    how: How,
    workers: Vec<Real>,
    stories: Vec<Story>,
    /// In completion order.
    handed_out: Vec<usize>,
    sent: Vec<usize>,
}

fn link() -> Link {
    Link { rate: Rate::from_bps(98_765_432.1).unwrap(), overhead_bytes: 24, pace: Pace::Own }
}

impl Run {
    fn begin(policy: &str, how: How) -> Self {
        let scheduler = policy.parse::<PolicySpec>().unwrap().build(&Setup::new(2, how.limits)).unwrap();
        Self {
            node: Node::with_workers(scheduler, link(), how.room, how.workers),
            how,
            workers: (0..how.workers).map(|_| Real::default()).collect(),
            stories: Vec::new(),
            handed_out: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn whole(policy: &str, how: How, jobs: &[Job]) -> Self {
        let mut run = Self::begin(policy, how);
        let (mut now, mut at) = (0, 0);
        let mut arrives = 0;
        while at < jobs.len() || !run.node.is_empty() || run.node.poll_at().is_some() {
            run.look(now);
            while let Some(job) = jobs.get(at).filter(|job| arrives + job.gap <= now) {
                arrives += job.gap;
                run.offer(job, now);
                at += 1;
            }
            run.look(now);
            now += how.every;
            assert!(now < 60_000_000_000, "{policy} never ends: {:?}", run.node);
        }
        run
    }

    /// One round of the box.
    fn look(&mut self, now: u64) {
        for worker in 0..self.workers.len() {
            while self.workers[worker].given.front().is_some_and(|given| given.1 <= now) {
                let (handle, _) = self.workers[worker].given.pop_front().unwrap();
                let job = &self.stories[handle].job;
                let took = Nanos(job.cpu);
                let outcome = if job.ends { Outcome::Drop } else { Outcome::Forward { bytes: job.bytes } };
                self.node.worked_by(worker as u16, took, outcome);
            }
        }
        while let Some(action) = self.node.poll(Nanos(now)) {
            match action {
                Action::Work(work) => {
                    let (handle, to) = (work.handle as usize, usize::from(work.worker));
                    self.check_place(handle, to);
                    self.stories[handle].handed_out = Some((work.worker, work.start.0));
                    let took = (self.stories[handle].job.cpu as f64 * self.how.real) as u64;
                    let real = &mut self.workers[to];
                    let begins = if real.free_at >= now { real.free_at } else { now + self.how.wakes_in };
                    real.free_at = begins + took;
                    real.given.push_back((handle, real.free_at));
                    assert!(real.given.len() <= MAX_JOBS, "no queue is longer than it says");
                    self.handed_out.push(handle);
                }
                Action::Send(passage) => {
                    self.stories[passage.handle as usize].sent = Some(passage);
                    self.sent.push(passage.handle as usize);
                }
            }
        }
        self.check_idle(now);
    }

    fn offer(&mut self, job: &Job, now: u64) {
        let handle = self.stories.len() as u64;
        let demand = Demand::new(&[Nanos(job.cpu / u64::from(self.how.workers)), link().time(job.bytes)]).unwrap();
        let packet = Packet { flow: FlowId(job.flow), bytes: job.bytes, arrival: Nanos(now), handle, demand };
        let refused = self.node.enqueue(&packet, (job.flow % CLASSES) as u16, Nanos(now)).refused.is_some();
        self.stories.push(Story {
            job: job.clone(),
            arrival: now,
            refused,
            evicted: None,
            handed_out: None,
            sent: None,
        });
        while let Some(lost) = self.node.poll_evicted() {
            self.stories[lost.handle as usize].evicted = Some(now);
        }
    }

    /// Handed out, not answered yet.
    fn owed_by(&self, worker: usize) -> impl Iterator<Item = &Story> {
        self.workers[worker].given.iter().map(|given| &self.stories[given.0])
    }

    /// A flow with unfinished work at a worker stays there.
    fn check_place(&self, handle: usize, to: usize) {
        let flow = self.stories[handle].job.flow;
        for worker in (0..self.workers.len()).filter(|&worker| worker != to) {
            assert!(
                self.owed_by(worker).all(|story| story.job.flow != flow),
                "flow {flow} goes to {to} while {worker} has packets of it"
            );
        }
    }

    /// While packets are queued, a worker is idle only because the next one is of a flow that is with another worker, which
    /// has no room. Applies if nothing blocks and the policy never holds back. Unreported work counts as unfinished.
    fn check_idle(&self, now: u64) {
        if !self.how.is_conserving || self.node.backlog().packets == 0 {
            return;
        }
        let ends = self.ends();
        let unfinished = |worker: u16| {
            let of_worker = |&&handle: &&usize| self.stories[handle].handed_out.unwrap().0 == worker;
            let owed: Vec<_> = self.workers[usize::from(worker)].given.iter().map(|given| given.0).collect();
            let is_here = |&&handle: &&usize| ends[&handle].1 > now || owed.contains(&handle);
            self.handed_out.iter().filter(of_worker).filter(is_here).count()
        };
        let counts: Vec<_> = (0..self.how.workers).map(unfinished).collect();
        if counts.iter().all(|&count| count > 0) {
            return;
        }
        let taken = self.stories.iter().filter(|story| !story.refused && story.evicted.is_none()).count() as u64;
        let kept = taken - self.handed_out.len() as u64 - self.node.backlog().packets;
        assert!(kept == 1 && counts.iter().any(|&count| count > 1), "{kept} kept, and workers have {counts:?}");
    }

    /// When each packet started and ended at its worker, if nothing was blocked: after those handed over before.
    fn ends(&self) -> HashMap<usize, (u64, u64)> {
        let mut free_at = vec![0; self.workers.len()];
        let mut end = |&handle: &usize| {
            let story = &self.stories[handle];
            let (worker, at) = story.handed_out.unwrap();
            let free_at = &mut free_at[usize::from(worker)];
            let begins = at.max(*free_at);
            *free_at = begins + story.job.cpu;
            (handle, (begins, *free_at))
        };
        self.handed_out.iter().map(&mut end).collect()
    }

    /// Properties of every run.
    fn check(&mut self) -> Result<(), TestCaseError> {
        let mut times = HashMap::new();
        for handle in self.handed_out.iter().chain(&self.sent) {
            *times.entry(*handle).or_insert(0) += 1;
        }
        for (handle, story) in self.stories.iter().enumerate() {
            let is_lost = story.refused || story.evicted.is_some();
            let expected = if is_lost { None } else { Some(if story.job.ends { 1 } else { 2 }) };
            prop_assert_eq!(times.get(&handle).copied(), expected, "packet {}: once each", handle);
            prop_assert_eq!(story.sent.is_some(), !is_lost && !story.job.ends);
        }
        let mut last = HashMap::new();
        for &handle in &self.sent {
            let before = last.insert(self.stories[handle].job.flow, handle);
            prop_assert!(before.is_none_or(|before| before < handle), "{:?} left before {}", before, handle);
        }
        let passages: Vec<_> = self.sent.iter().map(|&handle| self.stories[handle].sent.unwrap()).collect();
        for pair in passages.windows(2) {
            prop_assert!(pair[0].link_end <= pair[1].link_start);
        }
        for worker in 0..self.how.workers {
            let of_worker = |handle: &&usize| self.stories[**handle].handed_out.unwrap().0 == worker;
            let done: Vec<_> = self.handed_out.iter().filter(of_worker).map(|&handle| &self.stories[handle]).collect();
            let sent: Vec<_> = done.iter().filter_map(|story| Some((*story, story.sent?))).collect();
            for (story, sent) in &sent {
                prop_assert_eq!((sent.cpu_end - sent.cpu_start).0, story.job.cpu);
                prop_assert!(sent.cpu_start.0 >= story.handed_out.unwrap().1 && sent.link_start >= sent.cpu_end);
            }
            for pair in sent.windows(2) {
                prop_assert!(pair[0].1.cpu_end <= pair[1].1.cpu_start, "a worker does one thing at a time");
            }
        }
        if self.how.room == Room::Packets(u32::MAX) {
            self.check_sums()?;
        }
        let figures = self.node.figures();
        prop_assert_eq!(figures.late, Nanos::ZERO);
        prop_assert_eq!((figures.worked, figures.sent), (self.handed_out.len() as u64, self.sent.len() as u64));
        prop_assert_eq!(figures.cpu_busy.0, self.handed_out.iter().map(|&at| self.stories[at].job.cpu).sum::<u64>());
        Ok(())
    }

    /// The waiting-time sums are those of all packets.
    fn check_sums(&mut self) -> Result<(), TestCaseError> {
        let (ends, waited) = (self.ends(), self.node.waited());
        for (&handle, &(begins, ends)) in &ends {
            if let Some(sent) = self.stories[handle].sent {
                prop_assert_eq!((sent.cpu_start.0, sent.cpu_end.0), (begins, ends));
            }
        }
        for class in 0..CLASSES as u16 {
            let of_class =
                || self.stories.iter().enumerate().filter(move |one| one.1.job.flow % CLASSES == u32::from(class));
            let before_cpu = of_class().filter(|one| !one.1.refused).map(|(handle, story)| {
                let until = ends.get(&handle).map(|end| end.0).or(story.evicted).unwrap();
                u128::from(until - story.arrival)
            });
            let before_link =
                of_class().filter_map(|(_, story)| Some((story.sent?.link_start - story.sent?.cpu_end).0));
            let causes = || (0..CLASSES as u16).map(Cause::Class).chain([Cause::Stalled, Cause::Held, Cause::Late]);
            let sum = |of: &dyn Fn(Cause) -> u128| causes().map(of).sum::<u128>();
            prop_assert_eq!(sum(&|cause| waited.before_cpu(class, cause)), before_cpu.sum::<u128>());
            prop_assert_eq!(sum(&|cause| waited.before_link(class, cause)), u128::from(before_link.sum::<u64>()));
            let on_cpu = of_class().filter(|one| ends.contains_key(&one.0)).map(|one| one.1.job.cpu);
            prop_assert_eq!(waited.on_cpu(class).0, on_cpu.sum::<u64>());
            prop_assert_eq!((waited.waiting_before_cpu(class), waited.waiting_before_link(class)), (0, 0));
        }
        Ok(())
    }
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let job = (0u64..60_000, 0u32..6, 40u32..1500, 1u64..200_000, prop::bool::weighted(0.1));
    let job = job.prop_map(|(gap, flow, bytes, cpu, ends)| Job { gap, flow, bytes, cpu, ends });
    prop::collection::vec(job, 1..150)
}

fn room() -> impl Strategy<Value = Room> {
    prop_oneof![
        (0u32..5).prop_map(Room::Packets),
        (0u64..400_000).prop_map(|nanos| Room::LinkTime(Nanos(nanos))),
        Just(Room::Packets(u32::MAX)),
    ]
}

fn how() -> impl Strategy<Value = How> {
    (2u16..5, 1_000u64..300_000, 0.01f64..=1.0, 0u64..100_000, room()).prop_map(
        |(workers, every, real, wakes_in, room)| How {
            workers,
            every,
            real,
            wakes_in,
            room,
            limits: Limits {
                flow_packets: Some(12),
                packets: Some(40),
                on_full: DropPolicy::Longest,
                ..Limits::UNLIMITED
            },
            is_conserving: false,
        },
    )
}

/// Policies that order packets before the CPU only.
fn policies() -> impl Iterator<Item = String> {
    let builds = |name: &str| name.parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
    let names = REGISTRY.iter().map(|entry| entry.name).filter(move |name| builds(name).later_stages().is_none());
    names.map(str::to_owned).chain(["drfq:estimator=ses", "mr3:estimator=llsr,window=8"].map(str::to_owned))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_packet_passes_once_and_in_order(jobs in jobs(), how in how()) {
        for policy in policies() {
            Run::whole(&policy, how, &jobs).check()?;
        }
    }

    #[test]
    fn nobody_is_idle_without_a_reason(jobs in jobs(), how in how()) {
        let how = How { is_conserving: true, room: Room::Packets(u32::MAX), ..how };
        for policy in ["fifo", "drr", "drfq", "las", "drfq:estimator=ses"] {
            Run::whole(policy, how, &jobs).check()?;
        }
    }
}

/// Demands of flows on a worker and on the link, in nanoseconds per packet.
type Need = (u64, u32);

/// Flows that always have packets queued; returns each one's share of all workers together and of the link, and the
/// utilisation of both.
fn saturated(policy: &str, how: How, needs: &[Need], time: u64) -> (Vec<(f64, f64)>, [f64; 2]) {
    const QUEUED: u64 = 30;
    let mut run = Run::begin(policy, how);
    let mut now = 0;
    while now < time {
        run.look(now);
        for (flow, &(cpu, bytes)) in needs.iter().enumerate() {
            let flow = flow as u32;
            while run.node.scheduler().flow_backlog(FlowId(flow)).packets < QUEUED {
                run.offer(&Job { gap: 0, flow, bytes, cpu, ends: false }, now);
            }
        }
        run.look(now);
        now += how.every;
    }
    let all = time as f64 * f64::from(how.workers);
    let had = |flow: usize| {
        let sent = run.sent.iter().map(|&handle| &run.stories[handle]).filter(|story| story.job.flow == flow as u32);
        let (cpu, link) =
            sent.fold((0, 0), |sum, story| (sum.0 + story.job.cpu, sum.1 + link().time(story.job.bytes).0));
        (cpu as f64 / all, link as f64 / time as f64)
    };
    let figures = run.node.figures();
    let busy = [figures.cpu_busy.as_f64() / all, figures.link_busy.as_f64() / time as f64];
    ((0..needs.len()).map(had).collect(), busy)
}

/// A box whose functions have a fifth of their CPU: their times count five times.
const BOX: How = How {
    workers: 2,
    every: 50_000,
    real: 0.2,
    wakes_in: 30_000,
    room: Room::Packets(u32::MAX),
    limits: Limits::UNLIMITED,
    is_conserving: false,
};

/// Dominant resource fairness, computed analytically: every flow has the same dominant share, of a CPU that is as fast as
/// all workers, and this share is as large as both resources allow.
fn fair(workers: u16, needs: &[Need]) -> f64 {
    let parts: Vec<_> =
        needs.iter().map(|&(cpu, bytes)| (cpu as f64 / f64::from(workers), link().time(bytes).as_f64())).collect();
    let sum = |of: fn(&(f64, f64)) -> f64| parts.iter().map(|part| of(part) / part.0.max(part.1)).sum::<f64>();
    1.0 / sum(|part| part.0).max(sum(|part| part.1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn shares_are_those_of_all_workers_together(
        workers in 2u16..5,
        needs in prop::collection::vec((1_000u64..300_000, 60u32..1500), 10..20),
    ) {
        for policy in ["drfq", "drfq:estimator=ses", "atfq"] {
            let (had, busy) = saturated(policy, How { workers, ..BOX }, &needs, 1_000_000_000);
            let fair = fair(workers, &needs);
            let dominant: Vec<_> = had.iter().map(|had| had.0.max(had.1) / fair).collect();
            let [least, most] = [f64::min, f64::max].map(|of| dominant.iter().copied().reduce(of).unwrap());
            let told = format!("{policy} on {workers}: {dominant:.3?} of {fair:.3}; busy {busy:.3?}");
            prop_assert!(most < 1.03 * least, "not equal: {}", told);
            // Packets wait for one worker while another is idle: the fewer flows, the more.
            prop_assert!(least > 0.9, "too little: {}", told);
        }
    }
}

/// Limitation of several workers: a flow gets no more than one of them.
#[test]
fn a_flow_has_one_worker_at_most() {
    for (workers, flows) in [(2, 1), (4, 1), (4, 3)] {
        let needs = vec![(400_000, 200); flows];
        let (had, _) = saturated("drfq", How { workers, ..BOX }, &needs, 1_000_000_000);
        for (cpu, _) in had {
            assert!((0.99..1.001).contains(&(cpu * f64::from(workers))), "{cpu} of {workers}");
        }
    }
}

/// Policies that send packets of a flow in a row still keep more than one worker busy.
#[test]
fn packets_in_a_row_keep_nobody_idle() {
    let needs = [(20_000, 1400), (150_000, 200), (60_000, 700), (250_000, 400), (10_000, 1000)];
    let (_, busy) = saturated("drr", BOX, &needs, 1_000_000_000);
    assert!(busy[0] > 0.95, "{busy:?}");
}

/// Among flows that always have packets queued, two that need more than one worker together do not stay with one.
#[test]
fn flows_that_are_too_much_for_one_worker_part() {
    let needs = [(40_393, 60), (1_000, 60), (1_000, 60), (1_000, 60), (18_095, 60), (1_000, 60)];
    for policy in ["drfq", "drfq:estimator=ses", "atfq"] {
        let (_, busy) = saturated(policy, How { workers: 4, ..BOX }, &needs, 1_000_000_000);
        assert!(busy[1] > 0.99, "{policy}: {busy:?}");
    }
}
