//! A new weight applies from the next decision on, under every policy that uses weights and whose page does not say otherwise.

use dovetail_sched::{
    Demand, Feedback, FlowId, Limits, Nanos, Packet, Scheduler, Stage, Weight,
    registry::{REGISTRY, with_knobs},
};

use crate::single::build;

/// Policies for which a flow's weight does not set its share, and one that ends a round of its long group as it was begun.
const EXCEPT: [&str; 4] = ["fifo", "las", "run2c", "drr-sff"];

/// Packets that `atfq` orders at once by default.
const BATCH: usize = 20;

const TAKES: Nanos = Nanos(1000);

/// Offers `flow` this many packets that take 1 µs.
fn fill(scheduler: &mut dyn Scheduler, flow: u32, packets: u64) {
    for handle in 0..packets {
        let demand = Demand::of_one(TAKES);
        let packet = Packet { flow: FlowId(flow), bytes: 1000, arrival: Nanos::ZERO, handle, demand };
        assert!(scheduler.enqueue(&packet, Nanos::ZERO).is_queued());
    }
}

/// The flow of the next packet, which crosses the pipeline before the one after it is asked for.
fn next(scheduler: &mut dyn Scheduler, now: &mut Nanos) -> u32 {
    loop {
        let Some(out) = scheduler.dequeue(*now) else {
            *now = scheduler.poll_at().expect("packets wait").max(*now + Nanos(1));
            continue;
        };
        for (stage, took) in [(Stage::Started, Nanos::ZERO), (Stage::Finished, TAKES)] {
            *now += took;
            if scheduler.interest().has(stage, 0) {
                let flow = out.packet.flow;
                scheduler.feedback(&Feedback { flow, ticket: out.ticket, resource: 0, stage, took }, *now);
            }
        }
        return out.packet.flow.0;
    }
}

fn set(scheduler: &mut dyn Scheduler, flow: u32, weight: f64) {
    scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
}

fn variants() -> Vec<String> {
    let with_weights = REGISTRY.iter().map(|entry| entry.name).filter(|name| !EXCEPT.contains(name));
    let others = ["cbcs:clock=self", "drfq:dovetail=0", "drfq:dovetail=2us", "atfq:batch=1"];
    with_weights.chain(others).map(|policy| with_knobs(policy, "estimator=known")).collect()
}

#[test]
fn a_backlogged_flow_that_becomes_heavier_does_not_wait_at_its_old_weight() {
    let mut failed = Vec::new();
    for policy in variants() {
        for (lighter, served) in [(0, 0), (0, 1), (0, 10), (0, 700), (1, 1), (1, 10), (1, 700)] {
            let mut scheduler = build(&policy, 1, Limits::UNLIMITED, &[]);
            let scheduler = &mut *scheduler;
            let mut now = Nanos::ZERO;
            set(scheduler, lighter, 0.001);
            fill(scheduler, 0, 4000);
            fill(scheduler, 1, 4000);
            for _ in 0..served {
                next(scheduler, &mut now);
            }
            set(scheduler, lighter, 1.0);
            let order: Vec<u32> = (0..2000).map(|_| next(scheduler, &mut now)).collect();
            let waits = order.iter().position(|&flow| flow == lighter).unwrap_or(order.len());
            let share = order.iter().filter(|&&flow| flow == lighter).count();
            if waits > BATCH || share < 800 {
                failed
                    .push(format!("{policy}: flow {lighter} after {served}: waits for {waits}, then {share} of 2000"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_backlogged_flow_that_becomes_lighter_gets_its_new_share() {
    let mut failed = Vec::new();
    for policy in variants() {
        for (lighter, served) in [(0, 0), (0, 1), (0, 10), (0, 701), (1, 1), (1, 10), (1, 701)] {
            let mut scheduler = build(&policy, 1, Limits::UNLIMITED, &[]);
            let scheduler = &mut *scheduler;
            let mut now = Nanos::ZERO;
            fill(scheduler, 0, 4000);
            fill(scheduler, 1, 4000);
            for _ in 0..served {
                next(scheduler, &mut now);
            }
            set(scheduler, lighter, 0.01);
            let share = (0..2000).filter(|_| next(scheduler, &mut now) == lighter).count();
            if !(16..=30).contains(&share) {
                failed.push(format!("{policy}: flow {lighter} after {served}: {share} of 2000"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Flows 1 and 2 do nothing but wait, and stay level with each other whenever flow 0 becomes heavier.
#[test]
fn a_new_weight_of_one_flow_does_not_set_others_apart() {
    for policy in ["mr3", "drfq", "sfq", "cbcs:estimator=known", "cbcs:clock=self,estimator=known"] {
        for served in (0..2100).step_by(70) {
            let mut scheduler = build(policy, 1, Limits::UNLIMITED, &[]);
            let scheduler = &mut *scheduler;
            let (mut now, mut sent, mut before) = (Nanos::ZERO, [0u32; 3], [0; 3]);
            set(scheduler, 0, 0.001);
            for flow in 0..3 {
                fill(scheduler, flow, 6000);
            }
            for number in 0..served + 6000 {
                if number == served {
                    set(scheduler, 0, 1.0);
                    before = sent;
                }
                sent[next(scheduler, &mut now) as usize] += 1;
            }
            assert!(sent[1].abs_diff(sent[2]) <= 2, "{policy}, a new weight after {served}: {sent:?}");
            let since = [0, 1, 2].map(|flow| sent[flow] - before[flow]);
            let others = since[1].min(since[2]) - 3..=since[1].max(since[2]) + 3;
            assert!(others.contains(&since[0]), "{policy}, since a new weight after {served}: {since:?}");
        }
    }
}
