//! What a scheduler does when it is to forget a flow or user that it has never seen, or whose id is out of range.

use crate::{memory::allocations, single::build};
use dovetail_sched::{
    Demand, FlowId, Limits, Nanos, Packet, Scheduler, Weight,
    registry::{REGISTRY, REQUESTS, with_knobs},
    request::{ClassId, RequestSetup, RequestSpec, UserId},
};

/// The last id in range, one beyond, and the last of all.
const UNKNOWN: [u32; 3] = [999_999, 1_000_000, u32::MAX];

fn used(policy: &str) -> Box<dyn Scheduler> {
    let limits = Limits { flows: 1_000_000, ..Limits::UNLIMITED };
    let mut scheduler = build(policy, 2, limits, &[2.0]);
    let demand = Demand::of_two(Nanos(5), Nanos(6));
    let packet = Packet { flow: FlowId(0), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
    assert!(scheduler.enqueue(&packet, Nanos::ZERO).is_queued());
    scheduler
}

#[test]
fn a_flow_never_seen_is_forgotten_without_memory() {
    for entry in REGISTRY {
        for policy in [
            entry.name.to_owned(),
            with_knobs(entry.name, "estimator=ses"),
            with_knobs(entry.name, "estimator=ses,settle=yes"),
        ] {
            let mut scheduler = used(&policy);
            let before = allocations();
            for id in UNKNOWN {
                assert!(scheduler.forget(FlowId(id)), "{policy}: {id} has no packets");
            }
            // Out of range, the others are ignored too.
            for id in &UNKNOWN[1..] {
                scheduler.set_weight(FlowId(*id), Weight::ONE);
                scheduler.set_resource_weights(FlowId(*id), &[Weight::ONE; 2]);
            }
            assert_eq!(allocations() - before, 0, "{policy} allocates for a flow that it forgets");
            assert!(!scheduler.forget(FlowId(0)), "{policy} forgets a flow with a packet queued");
        }
    }
}

#[test]
fn a_user_never_seen_is_forgotten_without_memory() {
    for entry in REQUESTS {
        let spec: RequestSpec = entry.name.parse().expect("a policy");
        let mut scheduler = spec.build(&RequestSetup::for_bytes(1e6)).expect("it is built");
        scheduler.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
        scheduler.set_user(UserId(0), ClassId(0), Nanos::ZERO);
        let before = allocations();
        for id in UNKNOWN {
            scheduler.forget_user(UserId(id));
        }
        assert_eq!(allocations() - before, 0, "{} allocates for a user that it forgets", entry.name);
    }
}
