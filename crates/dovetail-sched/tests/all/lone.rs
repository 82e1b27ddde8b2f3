//! Which policies hold a packet back although there is no other: only those that do not promise otherwise.

use std::collections::VecDeque;

use dovetail_sched::{
    Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage, registry::REGISTRY,
};
use proptest::prelude::*;

/// The next event.
#[derive(Debug, Clone, Copy)]
enum Step {
    Arrives {
        flow: u32,
        bytes: u32,
        cpu: u64,
        link: u64,
    },
    Asked,
    /// The oldest packet in service finishes on both resources.
    Ends,
    Passes(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..5u32, 40..1500u32, 1..20_000u64, 1..20_000u64).prop_map(|(flow, bytes, cpu, link)| Step::Arrives {
            flow,
            bytes,
            cpu,
            link
        }),
        Just(Step::Asked),
        Just(Step::Ends),
        (1..50_000u64).prop_map(Step::Passes),
    ]
}

fn scheduler(policy: &str) -> Box<dyn Scheduler> {
    let limits = Limits { flow_packets: Some(3), packets: Some(8), ..Limits::UNLIMITED };
    policy.parse::<PolicySpec>().expect("a policy").build(&Setup::new(2, limits)).expect("two resources")
}

/// How often the only packet there was could not be dequeued.
fn held(scheduler: &mut dyn Scheduler, steps: &[Step]) -> usize {
    let (mut now, mut in_service, mut held) = (Nanos::ZERO, VecDeque::new(), 0);
    for (handle, step) in (0..).zip(steps) {
        match *step {
            Step::Arrives { flow, bytes, cpu, link } => {
                let demand = Demand::new(&[Nanos(cpu), Nanos(link)]).expect("two resources");
                let packet = Packet { flow: FlowId(flow), bytes, arrival: now, handle, demand };
                if scheduler.enqueue(&packet, now).evicted {
                    while scheduler.poll_evicted().is_some() {}
                }
            }
            Step::Asked => {
                let is_lone = scheduler.backlog().packets == 1 && in_service.is_empty();
                match scheduler.dequeue(now) {
                    Some(sent) => in_service.push_back(sent),
                    None => held += usize::from(is_lone),
                }
            }
            Step::Ends => {
                let Some(sent) = in_service.pop_front() else { continue };
                for (resource, &took) in (0..).zip(sent.packet.demand.times()) {
                    for (stage, took) in [(Stage::Started, Nanos::ZERO), (Stage::Finished, took)] {
                        let event = Feedback { flow: sent.packet.flow, ticket: sent.ticket, resource, stage, took };
                        if scheduler.interest().has(stage, resource.into()) {
                            scheduler.feedback(&event, now);
                        }
                    }
                }
            }
            Step::Passes(time) => now += Nanos(time),
        }
    }
    held
}

proptest! {
    #[test]
    fn who_says_so_lets_it_go(steps in prop::collection::vec(step(), 0..200)) {
        for entry in REGISTRY {
            for estimator in ["known", "ses"] {
                let mut scheduler = scheduler(&format!("{}:estimator={estimator}", entry.name));
                if scheduler.lets_lone_pass() {
                    prop_assert_eq!(held(&mut *scheduler, &steps), 0, "{}", entry.name);
                }
            }
        }
    }
}

#[test]
fn only_the_tradeoff_does_not_say_so() {
    let is_holding = |entry: &&&dovetail_sched::registry::Entry| !scheduler(entry.name).lets_lone_pass();
    let names: Vec<_> = REGISTRY.iter().filter(is_holding).map(|entry| entry.name).collect();
    assert_eq!(names, ["tradeoff"]);
    // The fluid still serves the first packet of a flow after that has left, and then the second.
    let arrives = Step::Arrives { flow: 0, bytes: 100, cpu: 20_000, link: 20_000 };
    let steps = [arrives, Step::Asked, Step::Ends, arrives, Step::Asked];
    assert_eq!(held(&mut *scheduler("tradeoff"), &steps), 1);
}
