//! MR3 against its rounds played out naively, its fairness bounds and its progress control.

use std::collections::{HashMap, VecDeque};

use crate::released::{Event, Traffic, backlog, dominant, largest_gain, traffic};
use crate::support::{Job, Mode, Sent, play};
use dovetail_sched::{
    Admission, Demand, DropPolicy, Feedback, FlowId, Interest, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup,
    Stage, Weight,
};
use proptest::prelude::*;

fn limited(resources: usize, limits: Limits) -> Box<dyn Scheduler> {
    let spec: PolicySpec = "mr3".parse().expect("a policy string");
    spec.build(&Setup::new(resources, limits)).expect("valid")
}

fn mr3(resources: usize) -> Box<dyn Scheduler> {
    limited(resources, Limits::UNLIMITED)
}

/// The rounds, one after the other, over packets that are all present from the start.
fn rounds(traffic: &Traffic) -> Vec<usize> {
    let mut queues: Vec<VecDeque<f64>> = vec![VecDeque::new(); traffic.weights.len()];
    let mut active = Vec::new();
    for op in &traffic.ops {
        if !active.contains(&op.flow) {
            active.push(op.flow);
        }
        queues[op.flow].push_back(dominant(&op.demand) / traffic.weights[op.flow]);
    }
    let mut order = Vec::new();
    let mut overshoot = vec![0.0; traffic.weights.len()];
    let mut most_before: f64 = 0.0;
    while !active.is_empty() {
        let mut most: f64 = 0.0;
        for &flow in &active {
            let mut balance = most_before - overshoot[flow];
            while balance >= 0.0
                && let Some(cost) = queues[flow].pop_front()
            {
                balance -= cost;
                order.push(flow);
            }
            overshoot[flow] = if balance < 0.0 { -balance } else { 0.0 };
            most = most.max(overshoot[flow]);
        }
        active.retain(|&flow| !queues[flow].is_empty());
        most_before = most;
    }
    order
}

/// How often flow `i` began to be served between two turns of flow `k`, while both were backlogged.
fn turns_between(trace: &[Event], (i, k): (usize, usize)) -> usize {
    let (mut turns, mut most) = (0, 0);
    let mut backlogged: HashMap<usize, bool> = HashMap::new();
    let mut served_k = false;
    let mut before = None;
    for event in trace {
        let flow = match event {
            Event::Backlogged(flow) => {
                backlogged.insert(*flow, true);
                *flow
            }
            Event::Released { flow, emptied, .. } => {
                if *flow == i && before != Some(i) && served_k && backlogged.get(&k) == Some(&true) {
                    turns += 1;
                    most = most.max(turns);
                }
                if *flow == k {
                    (turns, served_k) = (0, true);
                }
                backlogged.insert(*flow, !emptied);
                before = Some(*flow);
                *flow
            }
        };
        // A flow that returns waits for the next round, and its turns count only from then on.
        if (flow == i || flow == k) && backlogged.get(&flow) == Some(&false) {
            (turns, served_k) = (0, false);
        }
    }
    most
}

/// For packets that begin a turn, if that is distinguishable: all earlier ones of the flow had started on the last resource.
fn assert_progress_control(sent: &[Sent]) {
    let last = sent[0].start.len() - 1;
    let mut started: HashMap<u32, u64> = HashMap::new();
    for (at, one) in sent.iter().enumerate() {
        let latest = started.entry(one.flow).or_insert(0);
        if at > 0 && sent[at - 1].flow != one.flow {
            assert!(*latest <= one.released, "packet {} went at {} before {latest}", one.job, one.released);
        }
        *latest = one.start[last].max(*latest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plays_rounds(mut traffic in traffic(1..=3), weights in prop::collection::vec(prop::sample::select(&[0.25, 1.0, 2.0, 8.0][..]), 5)) {
        // Powers of two, so that both compute without rounding, and all present before the first packet leaves.
        traffic.weights.iter_mut().zip(weights).for_each(|(old, new)| *old = new);
        traffic.ops.iter_mut().for_each(|op| op.asks = 0);
        let trace = traffic.play(&mut mr3(traffic.resources));
        let order: Vec<usize> = trace
            .iter()
            .filter_map(|event| if let Event::Released { flow, .. } = event { Some(*flow) } else { None })
            .collect();
        prop_assert_eq!(order, rounds(&traffic));
    }

    #[test]
    fn releases_stay_within_the_bound(traffic in traffic(1..=3)) {
        let trace = traffic.play(&mut mr3(traffic.resources));
        let cost = |flow: usize| traffic.largest(flow) / traffic.weights[flow];
        let all = (0..traffic.weights.len()).map(cost).fold(0.0, f64::max);
        for (i, k) in traffic.pairs() {
            let of = |flow: usize| { let weight = traffic.weights[flow]; move |demand: &[u64]| dominant(demand) / weight };
            let gain = largest_gain(&trace, (i, k), of(i), of(k));
            let bound = all + cost(i) + cost(k);
            prop_assert!(gain <= bound + 1e-6, "flow {} gained {} on {}, bound {}", i, gain, k, bound);
            prop_assert!(turns_between(&trace, (i, k)) <= 1, "a round without flow {}", k);
        }
    }

    #[test]
    fn processing_stays_within_the_bound(backlog in backlog()) {
        let mut mr3 = mr3(backlog.jobs[0].demand.len());
        for (flow, &weight) in backlog.weights.iter().enumerate() {
            mr3.set_weight(FlowId(flow as u32), Weight::new(weight).expect("in range"));
        }
        let sent = play(&mut mr3, &backlog.jobs, Mode::Unbounded);
        let cost = |flow: usize| backlog.largest(flow) / backlog.weights[flow];
        let all = (0..backlog.weights.len()).map(cost).fold(0.0, f64::max);
        for (i, k) in backlog.pairs() {
            let apart = backlog.processed_apart(&sent, (i, k));
            let bound = 3.0 * all + 2.0 * (cost(i) + cost(k));
            prop_assert!(apart <= bound + 1e-6, "flows {} and {} came {} apart, bound {}", i, k, apart, bound);
        }
    }

    #[test]
    fn progress_is_controlled(
        rows in prop::collection::vec((0u32..5, 0u64..30, prop::collection::vec(1u64..50, 3)), 1..120),
        m in 2usize..=3,
        mode in prop_oneof![Just(Mode::Unbounded), Just(Mode::NoWait), Just(Mode::Buffer(2))],
    ) {
        let mut now = 0;
        let job = |(flow, gap, demand): (u32, u64, Vec<u64>)| {
            now += gap;
            Job { flow, bytes: 100, arrival: now, demand: demand[..m].to_vec() }
        };
        let jobs: Vec<Job> = rows.into_iter().map(job).collect();
        assert_progress_control(&play(&mut mr3(m), &jobs, mode));
    }
}

fn alone(demand: &[u64]) -> Vec<u64> {
    let job = Job { flow: 0, bytes: 100, arrival: 0, demand: demand.to_vec() };
    let sent = play(&mut mr3(demand.len()), &vec![job; 5], Mode::Unbounded);
    sent.iter().map(|sent| sent.released).collect()
}

#[test]
fn a_flow_alone_is_held_until_its_packet_is_on_the_last_resource() {
    assert_eq!(alone(&[1]), [0, 1, 2, 3, 4]);
    assert_eq!(alone(&[10, 3]), [0, 10, 20, 30, 40]);
    // Packets start on the link at 1, 11, 21, ..., and the next one goes then.
    assert_eq!(alone(&[1, 10]), [0, 1, 11, 21, 31]);
    assert_eq!(alone(&[1, 1, 1]), [0, 2, 4, 6, 8]);
}

#[test]
fn one_resource_needs_no_feedback() {
    assert_eq!(mr3(1).interest(), Interest::NONE);
    assert_eq!(mr3(3).interest(), Interest::of(Stage::Started, 2));
}

#[test]
fn flows_bound_by_different_resources_get_equal_dominant_time() {
    let jobs: Vec<Job> = (0..600)
        .map(|at| Job {
            flow: at % 2,
            bytes: 100,
            arrival: 0,
            demand: if at % 2 == 0 { vec![2000, 200] } else { vec![1000, 2000] },
        })
        .collect();
    let sent = play(&mut mr3(2), &jobs, Mode::Unbounded);
    let first: Vec<u32> = sent.iter().take(400).map(|sent| sent.flow).collect();
    assert_eq!(first.iter().filter(|&&flow| flow == 0).count(), 200);
}

fn offer(scheduler: &mut dyn Scheduler, flow: u32, handle: u64, time: u64) -> Admission {
    let demand = Demand::new(&[Nanos(time)]).expect("one resource");
    let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
    scheduler.enqueue(&packet, Nanos::ZERO)
}

fn take(scheduler: &mut dyn Scheduler) -> Option<(u32, u64)> {
    scheduler.dequeue(Nanos::ZERO).map(|sent| (sent.packet.flow.0, sent.packet.handle))
}

#[test]
fn a_flow_that_loses_its_last_packet_is_passed_over() {
    let limits = Limits { flow_packets: Some(1), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut mr3 = limited(1, limits);
    for flow in 0..3 {
        assert_eq!(offer(&mut mr3, flow, 0, 10), Admission::QUEUED);
    }
    // Flow 1's packet is evicted for its next, which takes over the place.
    assert_eq!(offer(&mut mr3, 1, 1, 10), Admission { refused: None, evicted: true });
    assert_eq!(mr3.poll_evicted().map(|packet| packet.handle), Some(0));
    let order: Vec<_> = core::iter::from_fn(|| take(&mut mr3)).collect();
    assert_eq!(order, [(0, 0), (1, 1), (2, 0)]);
}

#[test]
fn a_flow_that_was_evicted_empty_leaves_in_its_turn() {
    let limits = Limits { bytes: Some(300), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut mr3 = limited(1, limits);
    for flow in 0..3 {
        assert_eq!(offer(&mut mr3, flow, 0, 10), Admission::QUEUED);
    }
    // Too large for what the others leave: flow 1 loses its packets, and the new one is not accepted.
    let demand = Demand::new(&[Nanos(10)]).expect("one resource");
    let packet = Packet { flow: FlowId(1), bytes: 250, arrival: Nanos::ZERO, handle: 1, demand };
    assert!(!mr3.enqueue(&packet, Nanos::ZERO).is_queued());
    assert_eq!(mr3.poll_evicted().map(|packet| packet.flow), Some(FlowId(1)));
    assert!(mr3.forget(FlowId(1)));
    assert_eq!(take(&mut mr3), Some((0, 0)));
    assert_eq!(take(&mut mr3), Some((2, 0)));
    assert_eq!(take(&mut mr3), None);
    assert_eq!(offer(&mut mr3, 1, 2, 10), Admission::QUEUED);
    assert_eq!(take(&mut mr3), Some((1, 2)));
}

#[test]
fn a_flow_that_is_forgotten_in_the_ring_has_one_place_when_it_comes_back() {
    let limits = Limits { bytes: Some(1000), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut mr3 = limited(1, limits);
    assert_eq!(offer(&mut mr3, 0, 0, 10), Admission::QUEUED);
    assert_eq!(offer(&mut mr3, 2, 9, 10), Admission::QUEUED);
    let demand = Demand::new(&[Nanos(10)]).expect("one resource");
    let packet = Packet { flow: FlowId(0), bytes: 950, arrival: Nanos::ZERO, handle: 1, demand };
    assert!(!mr3.enqueue(&packet, Nanos::ZERO).is_queued());
    assert!(mr3.poll_evicted().is_some() && mr3.forget(FlowId(0)));
    for handle in 0..3 {
        for flow in 0..3 {
            assert_eq!(offer(&mut mr3, flow, handle, 10), Admission::QUEUED);
        }
    }
    let order: Vec<u32> = core::iter::from_fn(|| take(&mut mr3)).map(|(flow, _)| flow).collect();
    assert_eq!(order, [0, 2, 1, 0, 2, 1, 0, 2, 1, 2]);
}

#[test]
fn progress_control_holds_turns_and_not_packets() {
    let mut mr3 = mr3(2);
    for handle in 0..9 {
        for (flow, time) in [(0, 30), (1, 10)] {
            let demand = Demand::new(&[Nanos(time), Nanos(1)]).expect("two resources");
            let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
            assert_eq!(mr3.enqueue(&packet, Nanos::ZERO), Admission::QUEUED);
        }
    }
    let start = |mr3: &mut dyn Scheduler, flow: u32| {
        let flow = FlowId(flow);
        mr3.feedback(&Feedback { flow, ticket: 0, resource: 1, stage: Stage::Started, took: Nanos::ZERO }, Nanos::ZERO);
    };
    // Each sends one in the first round, and neither may begin the second.
    assert_eq!((take(&mut mr3), take(&mut mr3), take(&mut mr3)), (Some((0, 0)), Some((1, 0)), None));
    start(&mut mr3, 1);
    assert_eq!(take(&mut mr3), None, "it is flow 0's turn");
    start(&mut mr3, 0);
    // Flow 0 is allowed 0, flow 1 is allowed 20: three packets, none of which waits for the one before.
    let order: Vec<u32> = core::iter::from_fn(|| take(&mut mr3)).map(|(flow, _)| flow).collect();
    assert_eq!(order, [0, 1, 1, 1]);
}

#[test]
fn feedback_about_nothing_is_harmless() {
    let mut mr3 = mr3(2);
    for flow in [0, 7, u32::MAX] {
        for (resource, stage) in [(1, Stage::Started), (0, Stage::Started), (200, Stage::Finished)] {
            let event = Feedback { flow: FlowId(flow), ticket: 9, resource, stage, took: Nanos::MAX };
            mr3.feedback(&event, Nanos::ZERO);
        }
    }
    assert_eq!(mr3.backlog().packets, 0);
}
