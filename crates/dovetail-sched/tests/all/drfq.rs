//! DRFQ against its definition, played out without data structures, against its fairness bounds, and against figure 5
//! of the ATFQ paper.

use std::collections::{BTreeMap, VecDeque};

use crate::released::{Event, dominant, largest_gain, traffic};
use crate::support::{Job, Mode, play};
use dovetail_sched::{
    Admission, Backlog, Demand, Dispatch, Feedback, FlowId, Interest, Knobs, LaterStages, Learning, Limits, Nanos,
    Packet, PolicyError, PolicySpec, Scheduler, Setup, Stage, Weight,
};
use proptest::prelude::*;

fn build(policy: &str, resources: usize) -> Box<dyn Scheduler> {
    let spec: PolicySpec = policy.parse().expect("a policy string");
    spec.build(&Setup::new(resources, Limits::UNLIMITED)).expect("valid")
}

/// The definition of DRFQ: every tag by name, every maximum by a scan.
#[derive(Debug)]
struct Definition {
    // None: one tag per flow, and a packet costs its largest demand.
    lag: Option<f64>,
    tags: usize,
    last_resource: usize,
    weights: BTreeMap<u32, f64>,
    queues: BTreeMap<u32, VecDeque<Packet>>,
    start_of_head: BTreeMap<u32, Vec<f64>>,
    finish_of_previous: BTreeMap<u32, Vec<f64>>,
    in_service: Vec<u64>,
    start_of_released: Vec<Vec<f64>>,
    released: u64,
}

impl Definition {
    fn new(resources: usize, lag: Option<f64>) -> Self {
        let tags = if lag.is_some() { resources } else { 1 };
        Self {
            lag,
            tags,
            last_resource: resources - 1,
            weights: BTreeMap::new(),
            queues: BTreeMap::new(),
            start_of_head: BTreeMap::new(),
            finish_of_previous: BTreeMap::new(),
            in_service: Vec::new(),
            start_of_released: Vec::new(),
            released: 0,
        }
    }

    fn virtual_time(&self, tag: usize) -> f64 {
        self.start_of_released.iter().map(|start| start[tag]).fold(0.0, f64::max)
    }

    fn waits(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }

    fn rest_if_idle(&mut self) {
        if self.waits() == 0 && self.in_service.is_empty() {
            self.finish_of_previous.clear();
            self.start_of_released.clear();
        }
    }
}

impl Scheduler for Definition {
    fn enqueue(&mut self, packet: &Packet, _now: Nanos) -> Admission {
        let flow = packet.flow.0;
        let newly = self.queues.get(&flow).is_none_or(VecDeque::is_empty);
        self.queues.entry(flow).or_default().push_back(*packet);
        if newly {
            let finish = self.finish_of_previous.get(&flow).cloned().unwrap_or_else(|| vec![0.0; self.tags]);
            let start = (0..self.tags).map(|tag| self.virtual_time(tag).max(finish[tag])).collect();
            self.start_of_head.insert(flow, start);
        }
        Admission::QUEUED
    }

    fn dequeue(&mut self, _now: Nanos) -> Option<Dispatch> {
        let key = |start: &[f64]| start.iter().copied().fold(0.0, f64::max);
        let mut best: Option<(f64, u32)> = None;
        for (&flow, queue) in &self.queues {
            let key = key(&self.start_of_head[&flow]);
            if !queue.is_empty() && best.is_none_or(|(least, _)| key < least) {
                best = Some((key, flow));
            }
        }
        let (_, flow) = best?;
        let packet = self.queues.get_mut(&flow)?.pop_front()?;
        let start = self.start_of_head[&flow].clone();
        let weight = self.weights.get(&flow).copied().unwrap_or(1.0);
        let times: Vec<f64> = packet.demand.times().iter().map(|time| time.0 as f64 / weight).collect();
        let finish: Vec<f64> = match self.lag {
            None => vec![start[0] + times.iter().copied().fold(0.0, f64::max)],
            Some(lag) => {
                let sums: Vec<f64> = start.iter().zip(&times).map(|(start, time)| start + time).collect();
                sums.iter().map(|&sum| sum.max(key(&sums) - lag)).collect()
            }
        };
        self.finish_of_previous.insert(flow, finish.clone());
        self.start_of_head.insert(flow, finish);
        self.in_service.push(self.released);
        self.start_of_released.push(start);
        self.released += 1;
        Some(Dispatch { packet, ticket: self.released - 1 })
    }

    fn feedback(&mut self, event: &Feedback, _now: Nanos) {
        if event.stage == Stage::Finished && usize::from(event.resource) == self.last_resource {
            self.in_service.retain(|&ticket| ticket != event.ticket);
            self.rest_if_idle();
        }
    }

    fn interest(&self) -> Interest {
        Interest::of(Stage::Finished, self.last_resource)
    }

    fn set_weight(&mut self, flow: FlowId, weight: Weight) {
        self.weights.insert(flow.0, weight.as_f64());
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waits() as u64, bytes: 0 }
    }

    fn poll_at(&self) -> Option<Nanos> {
        None
    }

    fn poll_evicted(&mut self) -> Option<Packet> {
        None
    }

    fn discard(&mut self, _flow: FlowId) -> bool {
        false
    }

    fn forget(&mut self, _flow: FlowId) -> bool {
        false
    }

    fn flow_backlog(&self, _flow: FlowId) -> Backlog {
        Backlog::default()
    }

    fn figures(&self, _report: &mut dyn FnMut(&'static str, f64)) {}

    fn set_resource_weights(&mut self, _flow: FlowId, _weights: &[Weight]) {}

    fn retune(&mut self, _knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        Ok(())
    }

    fn learning(&mut self) -> Option<&mut dyn Learning> {
        None
    }

    fn later_stages(&mut self) -> Option<&mut dyn LaterStages> {
        None
    }
}

/// Mostly backlogged, with pauses that let busy periods end.
fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=3).prop_flat_map(|m| {
        let gap = prop_oneof![8 => Just(0u64), 8 => 0u64..60, 1 => 500u64..2000];
        let job = (0u32..5, gap, prop::collection::vec(0u64..64, m));
        prop::collection::vec(job, 1..120).prop_map(|rows| {
            let mut now = 0;
            rows.into_iter()
                .map(|(flow, gap, demand)| {
                    now += gap;
                    Job { flow, bytes: 100, arrival: now, demand }
                })
                .collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn follows_the_definition(
        jobs in jobs(),
        mode in prop_oneof![Just(Mode::NoWait), Just(Mode::Unbounded), Just(Mode::Buffer(1))],
        // Powers of two, so that both compute without rounding.
        weights in prop::collection::vec(prop::sample::select(&[0.25, 1.0, 1.0, 2.0, 8.0][..]), 5),
        dovetail in prop_oneof![Just("0"), Just("inf"), Just("20ns"), Just("100ns")],
    ) {
        let m = jobs[0].demand.len();
        let lag = match dovetail {
            "0" => None,
            "inf" => Some(f64::INFINITY),
            time => Some(time.trim_end_matches("ns").parse().expect("a number")),
        };
        let mut drfq = build(&format!("drfq:dovetail={dovetail}"), m);
        let mut definition = Definition::new(m, lag);
        for (flow, &weight) in weights.iter().enumerate() {
            let weight = Weight::new(weight).expect("in range");
            drfq.set_weight(FlowId(flow as u32), weight);
            definition.set_weight(FlowId(flow as u32), weight);
        }
        let ours = play(&mut drfq, &jobs, mode);
        let expected = play(&mut definition, &jobs, mode);
        prop_assert_eq!(ours, expected);
    }

    #[test]
    fn backlogged_flows_stay_within_the_bound(traffic in traffic(1..=3), dovetail_ns in prop_oneof![Just(0u64), 1u64..2000]) {
        let mut drfq = build(&format!("drfq:dovetail={dovetail_ns}ns"), traffic.resources);
        let trace = traffic.play(&mut drfq);
        for (i, k) in traffic.pairs() {
            let (wi, wk) = (traffic.weights[i], traffic.weights[k]);
            let bound = traffic.largest(i) / wi + traffic.largest(k) / wk + dovetail_ns as f64;
            for j in 0..traffic.resources {
                let gain = largest_gain(&trace, (i, k), |demand| demand[j] as f64 / wi, |demand| dominant(demand) / wk);
                prop_assert!(gain <= bound + 1e-6, "flow {} gained {} on {}, bound {}", i, gain, k, bound);
            }
            if dovetail_ns == 0 {
                let gain = largest_gain(&trace, (i, k), |demand| dominant(demand) / wi, |demand| dominant(demand) / wk);
                prop_assert!(gain <= bound + 1e-6, "flow {} gained {} on {}, bound {}", i, gain, k, bound);
            }
        }
    }

    #[test]
    fn strict_sums_stay_within_a_packet(mut traffic in traffic(1..=3)) {
        // Everything is queued before the first packet leaves.
        traffic.ops.iter_mut().for_each(|op| op.asks = 0);
        let trace = traffic.play(&mut build("drfq", traffic.resources));
        for (i, k) in traffic.pairs().filter(|(i, k)| i < k) {
            if [i, k].iter().any(|&flow| traffic.ops.iter().all(|op| op.flow != flow)) {
                continue;
            }
            let cost = |flow: usize| traffic.largest(flow) / traffic.weights[flow];
            let bound = cost(i).max(cost(k));
            let mut sums = vec![vec![0.0; traffic.resources]; traffic.weights.len()];
            for event in &trace {
                let Event::Released { flow, demand, emptied } = event else { continue };
                for (sum, &time) in sums[*flow].iter_mut().zip(demand) {
                    *sum += time as f64 / traffic.weights[*flow];
                }
                let most = |flow: usize| sums[flow].iter().copied().fold(0.0, f64::max);
                let apart = (most(i) - most(k)).abs();
                prop_assert!(apart <= bound + 1e-6, "{} and {} are {} apart, bound {}", i, k, apart, bound);
                if *emptied && (*flow == i || *flow == k) {
                    break;
                }
            }
        }
    }
}

#[test]
fn flows_bound_by_different_resources_get_equal_dominant_time() {
    for policy in ["drfq", "drfq:dovetail=0", "drfq:dovetail=5us"] {
        let jobs: Vec<Job> = (0..600)
            .map(|at| Job {
                flow: at % 2,
                bytes: 100,
                arrival: 0,
                demand: if at % 2 == 0 { vec![2000, 200] } else { vec![1000, 2000] },
            })
            .collect();
        let sent = play(&mut build(policy, 2), &jobs, Mode::Unbounded);
        let first: Vec<u32> = sent.iter().take(400).map(|sent| sent.flow).collect();
        assert_eq!(first.iter().filter(|&&flow| flow == 0).count(), 200, "{policy}");
    }
}

fn packet(flow: u32, demand: [u64; 2]) -> Packet {
    let demand = Demand::new(&demand.map(Nanos)).expect("two resources");
    Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand }
}

fn offer(scheduler: &mut dyn Scheduler, flow: u32, demand: [u64; 2]) {
    assert_eq!(scheduler.enqueue(&packet(flow, demand), Nanos::ZERO), Admission::QUEUED);
}

fn take(scheduler: &mut dyn Scheduler) -> (u32, Feedback) {
    let sent = scheduler.dequeue(Nanos::ZERO).expect("packets wait");
    let flow = sent.packet.flow;
    (flow.0, Feedback { flow, ticket: sent.ticket, resource: 1, stage: Stage::Finished, took: Nanos::ZERO })
}

#[test]
fn nobody_pays_in_a_busy_period_for_the_one_before() {
    for policy in ["drfq", "drfq:dovetail=0", "drfq:dovetail=50ns"] {
        let mut drfq = build(policy, 2);
        offer(&mut drfq, 0, [1000, 10]);
        let (_, finished) = take(&mut drfq);
        drfq.feedback(&finished, Nanos::ZERO);
        // Flow 0 goes first because of its lower id, and then alternates with flow 1.
        for _ in 0..3 {
            offer(&mut drfq, 1, [100, 100]);
            offer(&mut drfq, 0, [100, 100]);
        }
        let order: Vec<u32> = (0..6).map(|_| take(&mut drfq).0).collect();
        assert_eq!(order, [0, 1, 0, 1, 0, 1], "{policy}");
    }
}

#[test]
fn a_newcomer_between_a_finish_and_the_next_release_does_not_start_from_zero() {
    for policy in ["drfq", "drfq:dovetail=0"] {
        let mut drfq = build(policy, 2);
        for _ in 0..20 {
            offer(&mut drfq, 0, [100, 100]);
        }
        for _ in 0..10 {
            let (_, finished) = take(&mut drfq);
            drfq.feedback(&finished, Nanos::ZERO);
        }
        // Nothing is in service, flow 0 has used 1000 and its last packet started at 900.
        for _ in 0..10 {
            offer(&mut drfq, 1, [100, 100]);
        }
        let order: Vec<u32> = (0..5).map(|_| take(&mut drfq).0).collect();
        assert_eq!(order, [1, 0, 1, 0, 1], "{policy}");
    }
}

#[test]
fn a_flow_that_was_idle_saves_no_credit() {
    let mut drfq = build("drfq", 2);
    for _ in 0..20 {
        offer(&mut drfq, 0, [100, 100]);
    }
    for _ in 0..10 {
        take(&mut drfq);
    }
    for _ in 0..10 {
        offer(&mut drfq, 1, [100, 100]);
    }
    let order: Vec<u32> = (0..5).map(|_| take(&mut drfq).0).collect();
    assert_eq!(order, [1, 0, 1, 0, 1]);
}

#[test]
fn absurd_demands_do_not_panic() {
    for policy in ["drfq", "drfq:dovetail=0", "drfq:dovetail=1us"] {
        let mut drfq = build(policy, 2);
        drfq.set_weight(FlowId(0), Weight::new(1e-6).expect("in range"));
        for flow in [0, 1, 0, 2, 1, 0] {
            offer(&mut drfq, flow, [u64::MAX, u64::MAX - 1]);
        }
        let order: Vec<u32> = (0..6).map(|_| take(&mut drfq).0).collect();
        assert_eq!(order, [0, 1, 2, 1, 0, 0], "{policy}");
    }
}

#[test]
fn the_knob_reads_and_says_what_it_takes() {
    for text in ["drfq", "drfq:dovetail=inf", "drfq:dovetail=0", "drfq:dovetail=100us", "drfq:dovetail=1.5ms"] {
        assert!(text.parse::<PolicySpec>().is_ok(), "{text}");
    }
    for text in ["drfq:dovetail=-1us", "drfq:dovetail=100", "drfq:dovetail=", "drfq:dovetail=nan"] {
        let error = text.parse::<PolicySpec>().expect_err(text).to_string();
        assert!(error.contains("0, inf or a time such as 100us"), "{error}");
    }
}

/// ATFQ, figure 5: each flow's rate over the rate it has alone, in windows of a quarter of a second, in a pipeline of a CPU and
/// a 400 Mbit/s link without a buffer between. Flow 2 starts at 2 s; at 4 s all exchange CPU and link time.
fn figure_5(scheduler: &mut dyn Scheduler, windows: usize) -> Vec<[f64; 4]> {
    // Table II: CPU time is a * bytes + b, in µs.
    let flows = [(1000, 0.015, 84.5), (800, 0.0008, 12.1), (200, 0.00286, 6.2), (600, 0.006987, 10.97)];
    const WINDOW: u64 = 250_000_000;
    const JOINS: u64 = 2_000_000_000;
    let times = |flow: usize, now: u64| {
        let (bytes, a, b) = flows[flow];
        let cpu = ((a * f64::from(bytes) + b) * 1000.0) as u64;
        let link = (f64::from(bytes) * 8.0 / 400e6 * 1e9) as u64;
        if now < 4_000_000_000 { [cpu, link] } else { [link, cpu] }
    };
    let mut shares = vec![[0.0; 4]; windows];
    let mut on_link: VecDeque<(u64, Feedback)> = VecDeque::new();
    let finish_until = |scheduler: &mut dyn Scheduler, on_link: &mut VecDeque<(u64, Feedback)>, now: u64| {
        while let Some((_, finished)) = on_link.front().filter(|(end, _)| *end <= now) {
            scheduler.feedback(finished, Nanos(now));
            on_link.pop_front();
        }
    };
    let mut present = vec![0, 1, 3];
    let (mut cpu_free, mut link_free) = (0, 0);
    while cpu_free < WINDOW * windows as u64 {
        let now: u64 = cpu_free;
        finish_until(scheduler, &mut on_link, now);
        for &flow in &present {
            while scheduler.flow_backlog(FlowId(flow as u32)).packets < 2 {
                offer(scheduler, flow as u32, times(flow, now));
            }
        }
        let sent = scheduler.dequeue(Nanos(now)).expect("backlogged");
        let flow = sent.packet.flow;
        let [cpu, link] = [0, 1].map(|j| sent.packet.demand.times()[j].0);
        cpu_free = (now + cpu).max(link_free);
        link_free = cpu_free + link;
        let finished = Feedback { flow, ticket: sent.ticket, resource: 1, stage: Stage::Finished, took: Nanos(link) };
        on_link.push_back((link_free, finished));
        if let Some(share) = shares.get_mut((cpu_free / WINDOW) as usize) {
            share[flow.index()] += cpu.max(link) as f64 / WINDOW as f64 * 100.0;
        }
        if present.len() == 3 && cpu_free > JOINS {
            finish_until(scheduler, &mut on_link, JOINS);
            present.push(2);
            offer(scheduler, 2, times(2, JOINS));
        }
    }
    shares
}

#[test]
fn figure_5_of_the_atfq_paper() {
    let shares = figure_5(&mut build("drfq", 2), 48);
    let about = |from: usize, to: usize, expected: [f64; 4]| {
        for flow in 0..4 {
            let mean = shares[from..to].iter().map(|window| window[flow]).sum::<f64>() / (to - from) as f64;
            assert!((mean - expected[flow]).abs() < 0.3, "flow {flow}: {mean} %, not {} %", expected[flow]);
        }
    };
    about(0, 8, [34.4, 34.4, 0.0, 34.4]);
    about(8, 16, [21.7; 4]);
    // Until the sums of flow 0 have changed sides; those of the others take until 10 s.
    about(17, 24, [47.8, 12.1, 16.3, 12.1]);
    let equal = |window: &[f64; 4]| window.iter().all(|share| (share - 21.7).abs() < 0.3);
    assert!(shares[24..39].iter().all(|window| !equal(window)));
    assert!(shares[40..].iter().all(equal));
}

#[test]
fn memoryless_shares_do_not_move_when_demands_are_exchanged() {
    let shares = figure_5(&mut build("drfq:dovetail=0", 2), 24);
    for window in &shares[17..24] {
        for share in window {
            assert!((share - 21.7).abs() < 0.3, "{share} %");
        }
    }
}
