//! The simulator's recursion against an event-by-event pipeline: the same schedule, to the nanosecond, for every policy and
//! mode.

use crate::support::{
    Listed, Seen,
    events::{Job, Mode, assert_feasible, one_after_another, play},
};
use dovetail_sched::{Limits, PolicySpec, Setup, registry::REGISTRY};
use dovetail_sim::{Options, PipelineMode, simulate};
use proptest::prelude::*;

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=4).prop_flat_map(|m| {
        let job = (0u32..5, 1u32..1600, 0u64..60, prop::collection::vec(0u64..50, m));
        prop::collection::vec(job, 1..60).prop_map(one_after_another)
    })
}

fn modes() -> impl Strategy<Value = (PipelineMode, Mode)> {
    prop_oneof![
        Just((PipelineMode::NoWait, Mode::NoWait)),
        Just((PipelineMode::Unbounded, Mode::Unbounded)),
        (0u32..4).prop_map(|k| (PipelineMode::Buffer(k), Mode::Buffer(k as usize))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn same_schedule_as_event_by_event(jobs in jobs(), (mode, events_mode) in modes(), queue in prop::option::of(1u32..6)) {
        let limits = Limits { flow_packets: queue, ..Limits::UNLIMITED };
        let setup = Setup::new(jobs[0].demand.len(), limits);
        for entry in REGISTRY {
            let spec: PolicySpec = entry.name.parse().expect("a policy's name is a policy string");
            let expected = play(&mut spec.build(&setup).expect("valid"), &jobs, events_mode);
            let mut seen = Seen::default();
            let mut workload = Listed::new(&jobs, &[]);
            let mut scheduler = spec.build(&setup).expect("valid");
            let outcome = simulate(&mut workload, &mut scheduler, mode, &mut seen, Options::default()).expect("runs");
            let got: Vec<_> = seen.sent.iter().map(|(packet, passage)| (
                packet.handle as usize,
                passage.start().iter().map(|at| at.0).collect::<Vec<_>>(),
                passage.end().iter().map(|at| at.0).collect::<Vec<_>>(),
            )).collect();
            let want: Vec<_> = expected.iter().map(|one| (one.job, one.start.clone(), one.end.clone())).collect();
            prop_assert_eq!(got, want, "{} in {}", entry.name, mode);
            assert_feasible(&jobs, &expected, events_mode);
            prop_assert_eq!(outcome.sent + outcome.dropped, jobs.len() as u64);
            prop_assert_eq!(outcome.left, 0);
        }
    }
}
