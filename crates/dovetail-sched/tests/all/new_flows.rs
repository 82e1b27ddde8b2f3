//! `new-flows=shared`: the first packets of all new flows count as one flow's, whichever flows send them.
//!
//! The oracle is the policy itself without the knob: if every new flow sends one packet, the order must be the one that it has
//! when all new flows are one flow, evictions included. And the published bounds must hold, between established flows and
//! between each of them and all new flows together, however many these are.

use std::collections::HashMap;

use crate::support::{Job, Mode, Sent, assert_feasible, play};
use dovetail_sched::{Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Weight};
use proptest::prelude::*;

const EPSILON: f64 = 1e-6;

/// When all flows that are to be established are, and the box is empty again.
const SECOND: u64 = 10_000;

fn build(policy: &str, resources: usize, limits: Limits, weights: &[f64]) -> Box<dyn Scheduler> {
    let spec: PolicySpec = policy.parse().expect("a policy");
    let mut scheduler = spec.build(&Setup::new(resources, limits)).expect("in range");
    for (flow, &weight) in (0..).zip(weights) {
        scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
    }
    scheduler
}

fn shared(policy: &str) -> String {
    format!("{policy}{}new-flows=shared", if policy.contains(':') { "," } else { ":" })
}

/// One packet for each flow below `established`, to establish it, and then rows of (flow, gap, demand), in which every flow
/// from there on has one packet.
fn jobs(established: u32, resources: usize, rows: &[(u32, u64, [u64; 2])]) -> Vec<Job> {
    let job = |flow, arrival, demand: &[u64]| Job { flow, bytes: 100, arrival, demand: demand[..resources].to_vec() };
    let mut jobs: Vec<Job> = (0..established).map(|flow| job(flow, 0, &[1, 1])).collect();
    let (mut now, mut new_flow) = (SECOND, established);
    for &(flow, gap, demand) in rows {
        now += gap;
        let flow = if flow < established {
            flow
        } else {
            new_flow += 1;
            new_flow - 1
        };
        jobs.push(job(flow, now, &demand));
    }
    jobs
}

/// The same packets, with all new flows' under one id that is after all others.
fn as_one(jobs: &[Job], established: u32) -> Vec<Job> {
    jobs.iter().map(|job| Job { flow: job.flow.min(established), ..job.clone() }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn all_new_flows_are_served_as_if_they_were_one_flow(
        policy in prop::sample::select(&["sfq", "drfq", "drfq:dovetail=0", "drfq:dovetail=20ns", "atfq:batch=1"][..]),
        resources in 1usize..=2,
        weights in prop::collection::vec(prop::sample::select(&[0.5, 1.0, 2.0, 4.0][..]), 1..=3),
        // More packets of new flows than of others.
        rows in prop::collection::vec((0u32..8, 0u64..50, prop::array::uniform2(1u64..60)), 1..120),
        packets in prop::option::of(3u32..12),
        mode in prop::sample::select(&[Mode::NoWait, Mode::Unbounded][..]),
    ) {
        let established = weights.len() as u32;
        let jobs = jobs(established, resources, &rows);
        let limits = Limits { packets, on_full: DropPolicy::Longest, ..Limits::UNLIMITED };
        let sent = play(&mut *build(&shared(policy), resources, limits, &weights), &jobs, mode);
        assert_feasible(&jobs, &sent, mode);
        let one = as_one(&jobs, established);
        let wanted = play(&mut *build(policy, resources, limits, &weights), &one, mode);
        let order = |sent: &[Sent]| sent.iter().map(|one| (one.job, one.start.clone())).collect::<Vec<_>>();
        prop_assert_eq!(order(&sent), order(&wanted));
    }

    /// Between a flow and another, or the line, over every interval in which both are backlogged.
    #[test]
    fn the_bound_holds_however_many_new_flows_there_are(
        policy in prop::sample::select(&["sfq", "drfq", "drfq:dovetail=0", "atfq:batch=1"][..]),
        weights in prop::collection::vec(prop::sample::select(&[0.3, 1.0, 2.5][..]), 2..=3),
        works in prop::collection::vec(1u64..60, 90),
        new_flows in prop::collection::vec((0u64..70, 1u64..60, 1u32..4), 1..150),
    ) {
        let established = weights.len() as u32;
        let job = |flow, arrival, work| Job { flow, bytes: 100, arrival, demand: vec![work] };
        // All of the established flows' packets are queued from the beginning.
        let mut jobs: Vec<Job> = works.iter().enumerate().map(|(at, &work)| job(at as u32 % established, 0, work)).collect();
        let mut now = 0;
        for (at, &(gap, work, packets)) in new_flows.iter().enumerate() {
            now += gap;
            jobs.extend((0..packets).map(|_| job(established + at as u32, now, work)));
        }
        let sent = play(&mut *build(&shared(policy), 1, Limits::UNLIMITED, &weights), &jobs, Mode::Unbounded);
        assert_feasible(&jobs, &sent, Mode::Unbounded);
        prop_assert_eq!(sent.len(), jobs.len());
        let weight = |flow: u32| weights.get(flow as usize).copied().unwrap_or(1.0);
        let line = established;
        // Which flow is charged with each packet: the line for a flow's first; and from when on its flow is established.
        let mut first: HashMap<u32, u64> = HashMap::new();
        let mut charged: Vec<(u32, u64, &Sent)> = Vec::new();
        for one in &sent {
            match first.get(&one.flow) {
                None => {
                    first.insert(one.flow, one.end[0]);
                    charged.push((line, jobs[one.job].arrival, one));
                }
                Some(&since) => {
                    let whom = if one.flow < established { one.flow } else { u32::MAX };
                    charged.push((whom, jobs[one.job].arrival.max(since), one));
                }
            }
        }
        let share = |one: &Sent| (one.end[0] - one.start[0]) as f64 / weight(one.flow);
        let largest = |whom: u32| {
            // A flow's largest packet may be its first, which delays its second.
            let counts = |of: u32, one: &Sent| of == whom || one.flow == whom && whom < line;
            charged.iter().filter(|(of, _, one)| counts(*of, one)).map(|(.., one)| share(one)).fold(0.0, f64::max)
        };
        let spells = |whom: u32| {
            let mut spells: Vec<(u64, u64)> = Vec::new();
            let mut own: Vec<_> = charged.iter().filter(|(of, ..)| *of == whom).map(|(_, ready, one)| (*ready, one.end[0])).collect();
            own.sort_unstable();
            for (ready, end) in own {
                match spells.last_mut() {
                    Some(last) if ready < last.1 => last.1 = last.1.max(end),
                    _ => spells.push((ready, end)),
                }
            }
            spells
        };
        for i in 0..=line {
            for j in 0..i {
                // A flow's first packet is in no tag of atfq.
                let times = if policy.starts_with("atfq") { 2.0 } else { 1.0 };
                let slack = times * (largest(i) + largest(j));
                for &(b1, e1) in &spells(i) {
                    for &(b2, e2) in &spells(j) {
                        let (begin, end) = (b1.max(b2), e1.min(e2));
                        let (mut sum, mut least, mut most) = (0.0f64, 0.0f64, 0.0f64);
                        for (whom, _, one) in charged.iter().filter(|(.., one)| one.start[0] >= begin && one.end[0] <= end) {
                            sum += if *whom == i { share(one) } else if *whom == j { -share(one) } else { 0.0 };
                            let lead = (sum - least).max(most - sum);
                            prop_assert!(lead <= slack + EPSILON, "{i} and {j} (line {line}): {lead} over {slack}");
                            (least, most) = (least.min(sum), most.max(sum));
                        }
                    }
                }
            }
        }
    }
}

fn packet(flow: u32, handle: u64, now: u64, resources: usize) -> Packet {
    let demand = Demand::new(&vec![Nanos(10); resources]).expect("1 to 8 resources");
    Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos(now), handle, demand }
}

/// Out of a thousand packets that are served while one new flow arrives with each, how many are those of the established flow,
/// which is always backlogged.
fn of_the_established(policy: &str, resources: usize) -> usize {
    let mut scheduler = build(policy, resources, Limits::UNLIMITED, &[]);
    let mut released = Vec::new();
    for step in 0..1000u32 {
        let now = u64::from(step) * 10;
        for flow in if step == 0 { vec![0, 0, 1] } else { vec![0, 1 + step] } {
            assert!(scheduler.enqueue(&packet(flow, 0, now, resources), Nanos(now)).refused.is_none());
        }
        // Served packets stay in service, so that no busy period ends.
        released.extend(scheduler.dequeue(Nanos(now)).map(|out| out.packet.flow.0));
    }
    released.iter().filter(|&&flow| flow == 0).count()
}

#[test]
fn a_flood_starves_an_established_flow_only_where_each_newcomer_counts() {
    for (policy, resources) in [("sfq", 1), ("drfq", 1), ("drfq", 2), ("atfq:batch=1", 2), ("atfq", 2)] {
        let each = of_the_established(policy, resources);
        assert!(each < 50, "{policy}: {each} of 1000 without the knob, so this is no flood");
        let shared = of_the_established(&shared(policy), resources);
        assert!((480..=520).contains(&shared), "{policy}: {shared} of 1000");
    }
}

#[test]
fn the_line_loses_what_the_buffer_does_not_hold() {
    for policy in ["sfq", "drfq", "atfq:batch=1"] {
        // Tail drop is configured; the policy's rule overrides it.
        let limits = Limits { packets: Some(50), ..Limits::UNLIMITED };
        let mut scheduler = build(&shared(policy), 1, limits, &[]);
        let (mut new_flow, mut lost, mut sent) = (1, [0, 0], [0, 0]);
        for step in 0..4000u64 {
            let now = Nanos(step * 10);
            // Two new flows in each time that a packet is served, and a packet of flow 0 in each four.
            let mut flows = vec![new_flow, new_flow + 1];
            new_flow += 2;
            if step % 4 == 0 {
                flows.push(0);
            }
            for flow in flows {
                let admission = scheduler.enqueue(&packet(flow, 0, now.0, 1), now);
                lost[usize::from(flow > 0)] += u32::from(admission.refused.is_some());
                while let Some(evicted) = scheduler.poll_evicted() {
                    lost[usize::from(evicted.flow.0 > 0)] += 1;
                }
            }
            let out = scheduler.dequeue(now).expect("packets wait");
            sent[usize::from(out.packet.flow.0 > 0)] += 1;
        }
        assert_eq!(lost[0], 0, "{policy}");
        assert!((999..=1000).contains(&sent[0]) && lost[1] > 4000, "{policy}: {sent:?} {lost:?}");
    }
}

#[test]
fn a_flow_is_new_again_once_it_is_forgotten() {
    for policy in ["sfq", "drfq", "atfq:batch=1"] {
        let mut scheduler = build(&shared(policy), 1, Limits::UNLIMITED, &[]);
        let mut order = |arriving: &[u32]| -> Vec<u32> {
            for &flow in arriving {
                assert!(scheduler.enqueue(&packet(flow, 0, 0, 1), Nanos::ZERO).refused.is_none());
            }
            let order = std::iter::from_fn(|| scheduler.dequeue(Nanos::ZERO)).map(|out| out.packet.flow.0).collect();
            if arriving.len() > 1 {
                assert!(scheduler.forget(FlowId(5)), "nothing of it waits");
            }
            order
        };
        assert_eq!(order(&[5]), [5]);
        // Once established, it is not in the line, and so is not behind those that arrived before it.
        assert_eq!(order(&[11, 12, 13, 5]), [5, 11, 12, 13], "{policy}");
        assert_eq!(order(&[21, 22, 23, 5]), [21, 22, 23, 5], "{policy}");
    }
}
