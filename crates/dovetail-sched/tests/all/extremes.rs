//! The timestamp policies, and those that go by a flow's age, at the ends of their ranges: absurd work and weights, clocks
//! that jump, feedback about nothing.

use std::collections::HashMap;

use crate::single::build;
use dovetail_sched::{
    Admission, Demand, DropPolicy, Feedback, FlowId, Limits, Nanos, Packet, Scheduler, Stage, Weight,
};
use proptest::prelude::*;

const POLICIES: [&str; 7] =
    ["wfq", "wf2q+", "scfq", "sfq", "cbcs:estimator=known", "cbcs:clock=self,estimator=llsr", "wfq-split"];

/// Policies that depend on bytes and on the time.
const BY_BYTES: [&str; 4] = [
    "drr-sff:threshold=200,timeout=1us",
    "drr-sff:threshold=auto,ratio=0.5,quantum=1,timeout=0,steal=long-first",
    "las:timeout=1us",
    "run2c:threshold=200,timeout=1us",
];

const DROPS: &[DropPolicy] = &[DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest, DropPolicy::Policy];

#[derive(Debug, Clone)]
enum Step {
    Offer { flow: u32, work: u64 },
    Take,
    Finished,
    Weigh { flow: u32, weight: f64 },
    Forget(u32),
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64)>> {
    let work = prop::sample::select(&[0, 1, 1000, 1 << 40, u64::MAX / 2, u64::MAX][..]);
    let weight = prop::sample::select(&[1e-6, 1.0 / 3.0, 1.0, 1e6][..]);
    let now = prop_oneof![4 => 0u64..5000, 1 => prop::sample::select(&[1 << 53, u64::MAX - 1, u64::MAX][..])];
    let step = prop_oneof![
        6 => (0u32..6, work).prop_map(|(flow, work)| Step::Offer { flow, work }),
        4 => Just(Step::Take),
        3 => Just(Step::Finished),
        2 => (0u32..6, weight).prop_map(|(flow, weight)| Step::Weigh { flow, weight }),
        1 => (0u32..6).prop_map(Step::Forget),
    ];
    prop::collection::vec((step, now), 1..400)
}

fn offer(scheduler: &mut dyn Scheduler, flow: u32, work: u64, handle: u64, now: u64) -> Admission {
    let demand = Demand::new(&[Nanos(work)]).expect("one resource");
    scheduler.enqueue(&Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos(now), handle, demand }, Nanos(now))
}

fn finished(scheduler: &mut dyn Scheduler, now: u64) {
    let event = Feedback { flow: FlowId(0), ticket: 0, resource: 0, stage: Stage::Finished, took: Nanos(1) };
    scheduler.feedback(&event, Nanos(now));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_or_reordered_whatever_happens(
        steps in steps(),
        on_full in prop::sample::select(DROPS),
        flow_packets in prop::option::of(1u32..5),
        packets in prop::option::of(2u32..12),
    ) {
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        for policy in POLICIES.into_iter().chain(BY_BYTES) {
            let mut scheduler = build(policy, 1, limits, &[]);
            let mut last: HashMap<u32, u64> = HashMap::new();
            let (mut admitted, mut gone) = (0, 0);
            for (handle, (step, now)) in (1..).zip(&steps) {
                match *step {
                    Step::Offer { flow, work } => {
                        let admission = offer(&mut *scheduler, flow, work, handle, *now);
                        admitted += u64::from(admission.is_queued());
                        gone += std::iter::from_fn(|| scheduler.poll_evicted()).count() as u64;
                    }
                    Step::Take => {
                        let waiting = scheduler.backlog().packets;
                        let out = scheduler.dequeue(Nanos(*now));
                        prop_assert_eq!(out.is_some(), waiting > 0, "{} does not conserve work", policy);
                        if let Some(out) = out {
                            let before = last.insert(out.packet.flow.0, out.packet.handle);
                            prop_assert!(before < Some(out.packet.handle), "{} reordered a flow", policy);
                            gone += 1;
                        }
                    }
                    Step::Finished => finished(&mut *scheduler, *now),
                    Step::Weigh { flow, weight } => scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range")),
                    Step::Forget(flow) => {
                        prop_assert_eq!(scheduler.forget(FlowId(flow)), scheduler.flow_backlog(FlowId(flow)).packets == 0);
                    }
                }
                prop_assert_eq!(scheduler.backlog().packets, admitted - gone);
            }
            while scheduler.dequeue(Nanos(0)).is_some() {
                gone += 1;
            }
            prop_assert_eq!(admitted, gone);
        }
    }
}

/// Takes out everything that is queued, waiting as long as the policy requires.
fn drain(scheduler: &mut dyn Scheduler, mut now: u64) -> u64 {
    let mut taken = 0;
    while scheduler.backlog().packets > 0 {
        match scheduler.dequeue(Nanos(now)) {
            Some(_) => taken += 1,
            None => now = scheduler.poll_at().expect("packets wait for a time").0.max(now + 1),
        }
    }
    taken
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The same for the policy that holds packets back, on a clock that does not run out.
    #[test]
    fn a_policy_that_waits_loses_nothing_either(
        steps in steps(),
        alpha in prop::sample::select(&["0", "0.85", "1"][..]),
        on_full in prop::sample::select(DROPS),
        flow_packets in prop::option::of(1u32..5),
        packets in prop::option::of(2u32..12),
    ) {
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        let mut scheduler = build(&format!("tradeoff:alpha={alpha}"), 2, limits, &[]);
        let mut last: HashMap<u32, u64> = HashMap::new();
        let (mut admitted, mut gone, mut latest) = (0, 0, 0);
        for (handle, (step, now)) in (1..).zip(&steps) {
            let now = (*now).min(1 << 60);
            latest = latest.max(now);
            match *step {
                Step::Offer { flow, work } => {
                    let demand = Demand::new(&[Nanos(work), Nanos(handle % 3 * 500)]).expect("two resources");
                    let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos(now), handle, demand };
                    admitted += u64::from(scheduler.enqueue(&packet, Nanos(now)).is_queued());
                    gone += std::iter::from_fn(|| scheduler.poll_evicted()).count() as u64;
                }
                Step::Take | Step::Finished => {
                    if let Some(out) = scheduler.dequeue(Nanos(now)) {
                        let before = last.insert(out.packet.flow.0, out.packet.handle);
                        prop_assert!(before < Some(out.packet.handle), "reordered a flow");
                        gone += 1;
                    }
                }
                Step::Weigh { flow, weight } => scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range")),
                Step::Forget(flow) => {
                    prop_assert_eq!(scheduler.forget(FlowId(flow)), scheduler.flow_backlog(FlowId(flow)).packets == 0);
                }
            }
            prop_assert_eq!(scheduler.backlog().packets, admitted - gone);
        }
        prop_assert_eq!(drain(&mut *scheduler, latest), admitted - gone);
    }
}

/// An absurd packet leaves numbers so large that other flows' tags cannot be distinguished. The next idle moment cures that.
#[test]
fn an_idle_moment_heals_the_clock() {
    for policy in ["wf2q+", "scfq", "sfq"] {
        let mut scheduler = build(policy, 1, Limits::UNLIMITED, &[1e-6, 1.0, 1.0]);
        for flow in [0, 1, 0] {
            let _ = offer(&mut *scheduler, flow, u64::MAX, 0, 0);
        }
        while scheduler.dequeue(Nanos(0)).is_some() {
            finished(&mut *scheduler, 0);
        }
        for handle in 0..10 {
            for flow in [1, 2] {
                let _ = offer(&mut *scheduler, flow, 1000, handle, 0);
            }
        }
        let order: Vec<u32> = std::iter::from_fn(|| scheduler.dequeue(Nanos(0))).map(|out| out.packet.flow.0).collect();
        assert_eq!(order, [1, 2].repeat(10), "{policy}");
    }
}

/// A flow's id is reused: nothing of the first flow's lead or weight remains.
#[test]
fn a_forgotten_flow_leaves_nothing_behind() {
    for policy in POLICIES {
        let mut scheduler = build(policy, 1, Limits::UNLIMITED, &[]);
        // Flow 1 stays backlogged throughout, so that no idle moment does what forgetting should.
        for handle in 0..20 {
            let _ = offer(&mut *scheduler, 1, 1000, handle, 0);
        }
        scheduler.set_weight(FlowId(0), Weight::new(1e-6).expect("in range"));
        let _ = offer(&mut *scheduler, 0, 1000, 0, 0);
        let mut sent = 0;
        while scheduler.flow_backlog(FlowId(0)).packets > 0 {
            let _ = scheduler.dequeue(Nanos(0));
            sent += 1;
        }
        assert!(scheduler.forget(FlowId(0)));
        for handle in 0..40 {
            let _ = offer(&mut *scheduler, 1, 1000, 100 + handle, 0);
            let _ = offer(&mut *scheduler, 0, 1000, handle, 0);
        }
        let order: String = std::iter::from_fn(|| scheduler.dequeue(Nanos(0)))
            .take(60)
            .map(|out| out.packet.flow.to_string())
            .collect();
        let of_0 = order.matches('0').count();
        assert!((28..=40).contains(&of_0), "{policy}, after {sent}: {order}");
    }
}
