//! GMR3 against the bounds of its module: fairness of what is released and of what is processed, a delay independent of the
//! number of flows, turns in the pipeline.

use std::collections::{BTreeSet, HashMap};

use crate::released::{backlog, dominant, largest_gain, traffic};
use crate::support::{Job, Mode, Sent, play};
use dovetail_sched::{
    Admission, Demand, DropPolicy, FlowId, Interest, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage, Weight,
};
use proptest::prelude::*;

fn build(policy: &str, resources: usize, limits: Limits) -> Box<dyn Scheduler> {
    let spec: PolicySpec = policy.parse().expect("a policy string");
    spec.build(&Setup::new(resources, limits)).expect("valid")
}

fn gmr3(resources: usize) -> Box<dyn Scheduler> {
    build("gmr3", resources, Limits::UNLIMITED)
}

fn weigh(scheduler: &mut dyn Scheduler, weights: &[f64]) {
    for (flow, &weight) in weights.iter().enumerate() {
        scheduler.set_weight(FlowId(flow as u32), Weight::new(weight).expect("in range"));
    }
}

/// The virtual time that a round of the flow's group is worth.
fn round(weight: f64) -> f64 {
    weight.log2().floor().exp2().recip()
}

fn groups(weights: &[f64]) -> usize {
    weights.iter().map(|weight| weight.log2().floor() as i32).collect::<BTreeSet<_>>().len()
}

/// How many turns may have packets before the last of `m` resources: a round of the heaviest group.
fn most_turns(weights: &[f64], m: usize) -> f64 {
    let shortest = weights.iter().map(|&weight| round(weight)).fold(f64::INFINITY, f64::min);
    (m as f64).max(weights.iter().sum::<f64>() * shortest + groups(weights) as f64)
}

/// Checks the begun turns that are distinguishable by their flows: fewer than `most` had packets before the last resource when
/// another began.
fn assert_progress_control(sent: &[Sent], most: f64) {
    let last = sent[0].start.len() - 1;
    let mut turns: Vec<u64> = Vec::new();
    for (at, one) in sent.iter().enumerate() {
        if at == 0 || sent[at - 1].flow != one.flow {
            let on_their_way = turns.iter().filter(|&&started| started > one.released).count();
            assert!((on_their_way as f64) < most, "packet {} began a turn with {on_their_way} on their way", one.job);
            turns.push(0);
        }
        let started = turns.last_mut().expect("just pushed");
        *started = one.start[last].max(*started);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn releases_stay_within_the_bound(
        mut traffic in traffic(1..=3),
        weights in prop::collection::vec(prop::sample::select(&[1e-6, 0.3, 0.99, 1.0, 1.0, 1.99, 3.0, 16.0, 1e6][..]), 5),
    ) {
        traffic.weights.iter_mut().zip(weights).for_each(|(old, new)| *old = new);
        let trace = traffic.play(&mut gmr3(traffic.resources));
        let largest = (0..traffic.weights.len()).map(|flow| traffic.largest(flow)).fold(0.0, f64::max);
        for (i, k) in traffic.pairs() {
            let (wi, wk) = (traffic.weights[i], traffic.weights[k]);
            let gain = largest_gain(&trace, (i, k), |demand| dominant(demand) / wi, |demand| dominant(demand) / wk);
            let own = traffic.largest(i) / wi + traffic.largest(k) / wk;
            let bound = 4.0 * largest * (round(wi) + round(wk)) + own;
            prop_assert!(gain <= bound * (1.0 + 1e-9), "flow {} gained {} on {}, bound {}", i, gain, k, bound);
        }
    }

    #[test]
    fn processing_stays_within_the_bound(backlog in backlog()) {
        let m = backlog.jobs[0].demand.len();
        let mut gmr3 = gmr3(m);
        weigh(&mut gmr3, &backlog.weights);
        let sent = play(&mut gmr3, &backlog.jobs, Mode::Unbounded);
        assert_progress_control(&sent, most_turns(&backlog.weights, m));
        let largest = (0..backlog.weights.len()).map(|flow| backlog.largest(flow)).fold(0.0, f64::max);
        for (i, k) in backlog.pairs() {
            let (wi, wk) = (backlog.weights[i], backlog.weights[k]);
            let apart = backlog.processed_apart(&sent, (i, k));
            let released = 4.0 * largest * (round(wi) + round(wk)) + backlog.largest(i) / wi + backlog.largest(k) / wk;
            let bound = released + (3 * m + 1) as f64 * largest * (1.0 / wi + 1.0 / wk);
            prop_assert!(apart <= bound + 1e-6, "flows {} and {} came {} apart, bound {}", i, k, apart, bound);
        }
    }

    #[test]
    fn a_newcomer_is_through_within_the_bound(
        light in 1u32..60,
        share in 0.2f64..4.0,
        heavy in 0.3f64..3.0,
        demands in prop::collection::vec((1u64..20, 1u64..20, 1u64..20), 300),
        gaps in prop::collection::vec(100u64..3000, 8),
        m in 2usize..=3,
    ) {
        // Flows 0 to light - 1 share a weight, each backlogged; the last comes and goes.
        let mut weights = vec![share / f64::from(light); light as usize];
        weights.push(heavy);
        let demand = |at: usize| { let (a, b, c) = demands[at % demands.len()]; [a, b, c][..m].to_vec() };
        let mut jobs: Vec<Job> = (0..light * 8 + 300)
            .map(|at| Job { flow: at % light, bytes: 100, arrival: 0, demand: demand(at as usize) })
            .collect();
        let mut now = 0;
        for (at, gap) in gaps.iter().enumerate() {
            now += gap;
            jobs.push(Job { flow: light, bytes: 100, arrival: now, demand: demand(at * 7) });
        }
        let mut gmr3 = gmr3(m);
        weigh(&mut gmr3, &weights);
        let sent = play(&mut gmr3, &jobs, Mode::Unbounded);
        let turns = 4.0 * weights.iter().sum::<f64>() / heavy + groups(&weights) as f64 + 1.0;
        let largest = jobs.iter().map(|job| dominant(&job.demand)).fold(0.0, f64::max);
        let bound = (4.0 * (turns + most_turns(&weights, m)) + (m + 1) as f64) * largest;
        let mut released = 0;
        for one in sent.iter().filter(|one| one.flow == light) {
            let arrival = jobs[one.job].arrival;
            let delay = one.end[m - 1] - arrival;
            prop_assert!(released > arrival || delay as f64 <= bound, "{} ns, bound {}", delay, bound);
            released = one.released;
        }
    }

    #[test]
    fn weights_that_change_and_packets_that_are_evicted_lose_nothing_else(
        ops in prop::collection::vec((0u32..6, -6f64..6.0, 0u32..4, 1u64..100), 1..200),
    ) {
        let limits = Limits { packets: Some(12), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
        let mut gmr3 = build("gmr3", 1, limits);
        let mut waiting: HashMap<u32, u64> = HashMap::new();
        for (flow, weight, what, time) in ops {
            match what {
                0 => gmr3.set_weight(FlowId(flow), Weight::new(10f64.powf(weight)).expect("in range")),
                1 => {
                    let sent = gmr3.dequeue(Nanos::ZERO);
                    prop_assert_eq!(sent.is_some(), waiting.values().sum::<u64>() > 0);
                    if let Some(sent) = sent {
                        *waiting.get_mut(&sent.packet.flow.0).expect("it came") -= 1;
                    }
                }
                _ => {
                    if offer(&mut gmr3, flow, time) != Admission::refused(dovetail_sched::DropReason::BufferFull) {
                        *waiting.entry(flow).or_default() += 1;
                    }
                    while let Some(lost) = gmr3.poll_evicted() {
                        *waiting.get_mut(&lost.flow.0).expect("it came") -= 1;
                    }
                    if waiting.get(&flow) == Some(&0) {
                        prop_assert!(gmr3.forget(FlowId(flow)));
                    }
                }
            }
        }
        while let Some(sent) = gmr3.dequeue(Nanos::ZERO) {
            *waiting.get_mut(&sent.packet.flow.0).expect("it came") -= 1;
        }
        prop_assert!(waiting.values().all(|&left| left == 0));
    }
}

fn offer(scheduler: &mut dyn Scheduler, flow: u32, time: u64) -> Admission {
    let demand = Demand::new(&[Nanos(time)]).expect("one resource");
    let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
    scheduler.enqueue(&packet, Nanos::ZERO)
}

/// The longest wait of flow 0, of weight 1, in packets of others, beside `light` flows whose weights add up to 1.
fn longest_wait(policy: &str, light: u32) -> usize {
    let mut scheduler = build(policy, 1, Limits::UNLIMITED);
    let mut weights = vec![1.0];
    weights.extend((0..light).map(|_| 1.0 / f64::from(light)));
    weigh(&mut scheduler, &weights);
    let mut waits = vec![0];
    for _ in 0..20 * light {
        for flow in 0..=light {
            if scheduler.flow_backlog(FlowId(flow)).packets < 2 {
                assert_eq!(offer(&mut scheduler, flow, 100), Admission::QUEUED);
            }
        }
        match scheduler.dequeue(Nanos::ZERO).map(|sent| sent.packet.flow.0) {
            Some(0) => waits.push(0),
            _ => *waits.last_mut().expect("it has one") += 1,
        }
    }
    waits.into_iter().max().expect("it has one")
}

#[test]
fn a_wait_depends_on_the_share_and_not_on_the_number_of_flows() {
    for light in [4, 30, 200] {
        // Half of all weight, two groups: 4 * 2 + 2 + 1 turns of at most three packets.
        assert!(longest_wait("gmr3", light) <= 33, "{light} flows");
        assert!(longest_wait("mr3", light) >= light as usize, "{light} flows");
    }
}

#[test]
fn a_flow_that_becomes_heavy_does_not_wait_for_its_old_turn() {
    let mut gmr3 = gmr3(1);
    weigh(&mut gmr3, &[1.0, 1e-6]);
    for _ in 0..50 {
        for flow in 0..2 {
            assert_eq!(offer(&mut gmr3, flow, 100), Admission::QUEUED);
        }
    }
    let next = |gmr3: &mut dyn Scheduler| gmr3.dequeue(Nanos::ZERO).expect("backlogged").packet.flow.0;
    for _ in 0..20 {
        assert_eq!(next(&mut gmr3), 0);
    }
    gmr3.set_weight(FlowId(1), Weight::new(1e6).expect("in range"));
    for _ in 0..20 {
        assert_eq!(next(&mut gmr3), 1);
    }
}

#[test]
fn a_group_that_was_empty_saves_no_credit() {
    let mut gmr3 = gmr3(1);
    weigh(&mut gmr3, &[1.0, 2.0]);
    for _ in 0..100 {
        assert_eq!(offer(&mut gmr3, 0, 100), Admission::QUEUED);
    }
    for _ in 0..50 {
        assert!(gmr3.dequeue(Nanos::ZERO).is_some());
    }
    for _ in 0..50 {
        assert_eq!(offer(&mut gmr3, 1, 100), Admission::QUEUED);
    }
    let sent = core::iter::from_fn(|| gmr3.dequeue(Nanos::ZERO)).take(30);
    let first = sent.filter(|sent| sent.packet.flow == FlowId(0)).count();
    assert!((9..=11).contains(&first), "{first} of 30");
}

/// The flows that have a turn before any packet has started on the last resource, out of nine of weight 1 and, if given, an
/// idle one of this weight.
fn begun(m: usize, idle: Option<f64>) -> Vec<u32> {
    let mut gmr3 = gmr3(m);
    if let Some(weight) = idle {
        gmr3.set_weight(FlowId(9), Weight::new(weight).expect("in range"));
    }
    for _ in 0..9 {
        for flow in 0..9 {
            let demand = Demand::new(&vec![Nanos(10); m]).expect("up to three resources");
            let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
            assert_eq!(gmr3.enqueue(&packet, Nanos::ZERO), Admission::QUEUED);
        }
    }
    let mut flows: Vec<u32> =
        core::iter::from_fn(|| gmr3.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
    flows.dedup();
    flows
}

#[test]
fn a_round_of_the_heaviest_group_may_be_on_its_way_and_no_fewer_turns_than_resources() {
    for m in 2..=3 {
        let first = |turns: u32| (0..turns).collect::<Vec<_>>();
        assert_eq!(begun(m, None), first(9), "a round");
        // Turns are a ninth of a round apart.
        assert_eq!(begun(m, Some(2.0)), first(5), "half a round");
        assert_eq!(begun(m, Some(16.0)), first(m as u32), "less than a turn");
        // A lighter flow does not speed up others.
        assert_eq!(begun(m, Some(0.5)), first(9));
    }
}

#[test]
fn a_flow_that_is_forgotten_holds_nothing_back() {
    let mut gmr3 = gmr3(2);
    gmr3.set_weight(FlowId(4), Weight::new(64.0).expect("in range"));
    for flow in [0, 1, 2, 3, 0, 1, 2, 3] {
        let demand = Demand::new(&[Nanos(10); 2]).expect("two resources");
        let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
        assert_eq!(gmr3.enqueue(&packet, Nanos::ZERO), Admission::QUEUED);
    }
    let released = |gmr3: &mut dyn Scheduler| core::iter::from_fn(|| gmr3.dequeue(Nanos::ZERO)).count();
    // All turns of the first round except the first send two, as there was no debt before.
    let few = released(&mut *gmr3);
    assert!(few <= 4, "{few} packets in two turns");
    assert!(gmr3.forget(FlowId(4)));
    let more = released(&mut *gmr3);
    assert!(few + more >= 7, "{more} more in the rest of a round");
}

#[test]
fn the_last_resource_does_not_run_dry_while_others_have_their_turns() {
    // Turns of four flows that hardly need the link, then of eight that hardly need anything else.
    let jobs: Vec<Job> = (0..1200)
        .map(|at| Job {
            flow: at % 12,
            bytes: 100,
            arrival: 0,
            demand: if at % 12 < 4 { vec![1000, 100] } else { vec![50, 300] },
        })
        .collect();
    let makespan = |policy: &str| {
        let sent = play(&mut build(policy, 2, Limits::UNLIMITED), &jobs, Mode::Unbounded);
        sent.iter().map(|one| one.end[1]).max().expect("packets") as f64
    };
    let (gmr3, mr3) = (makespan("gmr3"), makespan("mr3"));
    assert!(gmr3 <= 1.01 * mr3, "{gmr3} ns, mr3 takes {mr3} ns");
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
    let sent = play(&mut gmr3(2), &jobs, Mode::Unbounded);
    let first = sent.iter().take(400).filter(|sent| sent.flow == 0).count();
    // Two turns of at most three packets may be in flight.
    assert!(first.abs_diff(200) <= 3, "{first} of 400");
}

#[test]
fn a_flow_alone_keeps_a_pipeline_full() {
    for demand in [vec![1, 1], vec![1, 1, 1], vec![3, 10, 4], vec![10, 3]] {
        let period = *demand.iter().max().expect("not empty");
        let job = Job { flow: 0, bytes: 100, arrival: 0, demand };
        let sent = play(&mut gmr3(job.demand.len()), &vec![job.clone(); 30], Mode::Unbounded);
        let ends: Vec<u64> = sent.iter().map(|sent| sent.end[job.demand.len() - 1]).collect();
        assert!(ends.windows(2).all(|pair| pair[1] - pair[0] == period), "{:?}: {ends:?}", job.demand);
    }
}

#[test]
fn shares_follow_weights() {
    let weights = [0.7, 1.0, 1.9, 5.0];
    let mut gmr3 = gmr3(1);
    weigh(&mut gmr3, &weights);
    let mut served = [0u64; 4];
    for at in 0..40_000u64 {
        for flow in 0..4 {
            while gmr3.flow_backlog(FlowId(flow)).packets < 2 {
                assert_eq!(offer(&mut gmr3, flow, 50 + (at * 7 + u64::from(flow) * 31) % 100), Admission::QUEUED);
            }
        }
        let packet = gmr3.dequeue(Nanos::ZERO).expect("backlogged").packet;
        served[packet.flow.index()] += packet.demand.total().0;
    }
    let all = served.iter().sum::<u64>() as f64;
    for (served, weight) in served.iter().zip(weights) {
        let share = *served as f64 / all;
        assert!((share - weight / 8.6).abs() < 0.002, "{share} for weight {weight}");
    }
}

#[test]
fn one_resource_needs_no_feedback() {
    assert_eq!(gmr3(1).interest(), Interest::NONE);
    assert_eq!(gmr3(3).interest(), Interest::of(Stage::Started, 2));
}

#[test]
fn absurd_demands_do_not_panic() {
    let mut gmr3 = gmr3(1);
    weigh(&mut gmr3, &[1e-6, 1e6, 1.0]);
    for flow in [0, 1, 2, 0, 1, 2] {
        assert_eq!(offer(&mut gmr3, flow, u64::MAX), Admission::QUEUED);
    }
    assert_eq!(core::iter::from_fn(|| gmr3.dequeue(Nanos::ZERO)).count(), 6);
}
