//! Every policy, in every pipeline mode, on random traffic: the schedule could have happened, and nothing is lost.

use crate::support::{Job, Mode, assert_feasible, one_after_another, play};
use dovetail_sched::{DropPolicy, Limits, PolicySpec, Setup, registry::REGISTRY};
use proptest::prelude::*;

pub(crate) const DROPS: &[DropPolicy] = &[DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest, DropPolicy::Policy];

pub(crate) fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=3).prop_flat_map(|m| {
        let job = (0u32..6, 1u32..1600, 0u64..60, prop::collection::vec(0u64..50, m));
        prop::collection::vec(job, 1..80).prop_map(one_after_another)
    })
}

/// Every policy with its defaults, and some with settings that change how they work.
pub(crate) fn policies() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|entry| entry.name).chain([
        "atfq:batch=1",
        "atfq:batch=3",
        "atfq:domain=70ns",
        "drfq:estimator=llsr",
        "drfq:new-flows=shared",
        "sfq:new-flows=shared",
        "atfq:batch=5,new-flows=shared",
        "tradeoff:estimator=ses",
        "las:timeout=50ns",
        "run2c:threshold=2kB,timeout=50ns",
        "drr-sff:threshold=auto",
        "drr-sff:threshold=2kB,ratio=0.5,timeout=50ns,steal=long-first",
    ])
}

pub(crate) fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::NoWait), Just(Mode::Unbounded), (0usize..4).prop_map(Mode::Buffer)]
}

proptest! {
    #[test]
    fn nothing_is_lost_and_flows_stay_in_order(jobs in jobs(), mode in modes()) {
        for name in policies() {
            let setup = Setup::new(jobs[0].demand.len(), Limits::UNLIMITED);
            let spec: PolicySpec = name.parse().expect("a policy string");
            let mut scheduler = spec.build(&setup).expect("defaults are valid");
            let sent = play(&mut scheduler, &jobs, mode);
            prop_assert_eq!(sent.len(), jobs.len(), "{} lost packets", name);
            assert_feasible(&jobs, &sent, mode);
        }
    }

    #[test]
    fn limits_hold_under_every_drop_policy(
        jobs in jobs(),
        mode in modes(),
        on_full in prop::sample::select(DROPS),
        flow_packets in prop::option::of(1u32..5),
        bytes in prop::option::of(1500u64..6000),
    ) {
        for name in policies() {
            let limits = Limits { flow_packets, bytes, on_full, ..Limits::UNLIMITED };
            let setup = Setup::new(jobs[0].demand.len(), limits);
            let mut scheduler = name.parse::<PolicySpec>().expect("a policy string").build(&setup).expect("valid");
            let sent = play(&mut scheduler, &jobs, mode);
            assert_feasible(&jobs, &sent, mode);
        }
    }
}
