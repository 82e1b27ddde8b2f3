//! Shares of the fair dominant share, recomputed from the records, and by hand.

use std::collections::BTreeMap;

use crate::support::{
    Listed, Seen,
    events::{Job, one_after_another},
    recompute::{self, Row, Wait},
};
use dovetail_sched::{DropPolicy, FlowId, Limits, Nanos, PolicySpec, Setup};
use dovetail_sim::{
    Options, PipelineMode,
    measure::{FairShare, Shares},
    simulate,
};
use proptest::prelude::*;

/// Mostly packets with a cost; some are free on a resource, and some on all.
fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=3).prop_flat_map(|m| {
        let time = prop_oneof![6 => 1u64..50, 1 => Just(0)];
        let demand = prop_oneof![9 => prop::collection::vec(time, m), 1 => Just(vec![0; m])];
        let job = (0u32..5, 1u32..1600, prop_oneof![Just(0u64), 0u64..40], demand);
        prop::collection::vec(job, 1..150).prop_map(one_after_another)
    })
}

fn watch(
    jobs: &[Job],
    weights: &[f64],
    policy: &str,
    limits: Limits,
    mode: PipelineMode,
    meter: FairShare,
) -> (Shares, Seen) {
    let spec: PolicySpec = policy.parse().expect("there is one");
    let mut scheduler = spec.build(&Setup::new(jobs[0].demand.len(), limits)).expect("valid");
    let (mut meter, mut seen) = (meter, Seen::default());
    let mut both = (&mut meter, &mut seen);
    simulate(&mut Listed::new(jobs, weights), &mut scheduler, mode, &mut both, Options::default()).expect("runs");
    (meter.finish(), seen)
}

/// Every packet's wait in order of arrival.
fn waits(seen: &Seen) -> Vec<Wait> {
    let mut waits = BTreeMap::new();
    for (packet, passage) in &seen.sent {
        let row = Row {
            flow: packet.flow.0,
            bytes: packet.bytes,
            arrival: packet.arrival.0,
            start: passage.start().iter().map(|at| at.0).collect(),
            end: passage.end().iter().map(|at| at.0).collect(),
        };
        waits.insert(packet.handle, Wait::of(&row));
    }
    for (packet, at) in &seen.dropped {
        let times = packet.demand.times().iter().map(|time| time.0).collect();
        let wait = Wait { flow: packet.flow.0, from: packet.arrival.0, until: at.0, times, dominant: None };
        waits.insert(packet.handle, wait);
    }
    waits.into_values().collect()
}

fn near(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-9 * want.abs() + 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn shares_follow_from_the_records(
        jobs in jobs(),
        mode in prop_oneof![Just(PipelineMode::NoWait), Just(PipelineMode::Unbounded), Just(PipelineMode::Buffer(1))],
        policy in prop_oneof![Just("fifo"), Just("drr"), Just("drfq"), Just("atfq:batch=4")],
        limit in prop_oneof![Just(None), (2u32..6).prop_map(Some)],
        on_full in prop_oneof![Just(DropPolicy::Tail), Just(DropPolicy::Head), Just(DropPolicy::Longest)],
        weights in prop::collection::vec(prop_oneof![Just(1.0), Just(2.0), Just(0.5)], 5),
        window in prop_oneof![1u64..10, 50u64..400],
        promise in 0.0..=1.0,
    ) {
        let limits = Limits { flow_packets: limit, packets: limit.map(|n| 2 * n), on_full, ..Limits::UNLIMITED };
        let meter = FairShare::new(jobs[0].demand.len(), Nanos(window), Some(promise));
        let (got, seen) = watch(&jobs, &weights, policy, limits, mode, meter);
        let want = recompute::shares(&waits(&seen), |flow| weights[flow as usize], window, promise);

        prop_assert_eq!(got.counted, want.windows.len() as u64);
        prop_assert_eq!(got.flows_at_once, want.flows_at_once as u64);
        prop_assert_eq!(got.longest.0, want.longest);
        let shortfall = got.shortfall.expect("there is a promise").as_f64();
        prop_assert!((shortfall - want.shortfall).abs() <= 0.51, "shortfall {shortfall}, want {}", want.shortfall);
        match (got.worst, want.windows.first()) {
            (Some(worst), Some(&(share, ..))) => {
                prop_assert!(near(worst.share, share), "worst {worst:?}, want {share}");
                let there = want.windows.iter().any(|&(share, flow, from)| {
                    flow == worst.flow.0 && from == worst.from.0 && near(share, worst.share)
                });
                prop_assert!(there, "{worst:?} is not so in the records");
                for (quantile, got) in [(0.01, got.first_percentile), (0.5, got.median)] {
                    let at = ((quantile * want.windows.len() as f64).ceil() as usize).max(1) - 1;
                    let (got, want) = (got.expect("windows"), want.windows[at].0);
                    prop_assert!((got - want).abs() <= 0.002 * want + 2e-6, "{quantile}: {got}, want {want}");
                }
            }
            (None, None) => {}
            (got, want) => prop_assert!(false, "{got:?}, want {want:?}"),
        }
    }
}

/// Figure 1 of the paper: p takes <2, 3> and q <9, 1>; d = 3/5 by eq. 16.
fn figure_1(order: &str, cycles: usize) -> Vec<Job> {
    let letters = order.chars().cycle().take(order.len() * cycles);
    letters
        .map(|letter| match letter {
            'p' => Job { flow: 0, bytes: 1, arrival: 0, demand: vec![2, 3] },
            _ => Job { flow: 1, bytes: 1, arrival: 0, demand: vec![9, 1] },
        })
        .collect()
}

#[test]
fn the_fair_schedule_of_figure_1_is_fair_and_the_efficient_one_is_not() {
    // p p p q: 15 units in which each flow is owed 9 and gets 9. Eight p and a q: 25 units, 15 owed, q gets 9.
    for (order, width, least, last) in [("pppq", 15, 1.0, 0), ("ppppppppq", 25, 0.6, 1)] {
        let meter = FairShare::new(2, Nanos(width * 4), Some(1.0));
        let jobs = figure_1(order, 100);
        let (shares, _) = watch(&jobs, &[], "fifo", Limits::UNLIMITED, PipelineMode::Unbounded, meter);
        let worst = shares.worst.expect("both wait to the end");
        // The first packet of p is on the link two units late.
        assert!((worst.share - least).abs() < 0.06, "{order}: {worst:?}");
        if last == 1 {
            assert_eq!(worst.flow, FlowId(1));
            assert!(near(worst.share, least));
        }
        // Each flow waits through all windows but the last.
        assert_eq!(shares.counted, 2 * 24);
        assert_eq!((shares.flows_at_once, shares.longest), (2, Nanos(9)));
        assert_eq!(shares.slack(), Nanos(36));
        assert_eq!(shares.dominant, Nanos(if last == 1 { 100 * (8 * 3 + 9) } else { 100 * (3 * 3 + 9) }));
    }
}

#[test]
fn a_pause_longer_than_many_windows_counts_each_of_them() {
    // A packet as long as a thousand windows: the flow behind it receives nothing in any of them, the packet's flow too much.
    let job = |flow, arrival, demand| Job { flow, bytes: 1, arrival, demand: vec![demand] };
    let jobs = [job(0, 0, 10_000), job(0, 0, 10), job(1, 5, 10)];
    let meter = FairShare::new(1, Nanos(10), None);
    let (shares, _) = watch(&jobs, &[], "fifo", Limits::UNLIMITED, PipelineMode::NoWait, meter);
    // Flow 0 waits from 0 to 10,000, flow 1 from 5 to 10,010.
    assert_eq!(shares.counted, 1_000 + 1_000);
    assert_eq!(shares.worst.map(|worst| (worst.share, worst.flow, worst.from)), Some((0.0, FlowId(1), Nanos(10))));
    assert_eq!(shares.shortfall, None);
}

#[test]
fn absurd_times_are_measured_without_panic() {
    let job = |flow, arrival, demand| Job { flow, bytes: 1, arrival, demand: vec![demand, 1] };
    let jobs = [job(0, 0, u64::MAX / 2), job(1, 1, u64::MAX - 1), job(0, 2, u64::MAX), job(1, u64::MAX - 1, 7)];
    for window in [1, 1 << 40, u64::MAX] {
        for mode in [PipelineMode::NoWait, PipelineMode::Unbounded, PipelineMode::Buffer(0)] {
            let meter = FairShare::new(2, Nanos(window), Some(1.0));
            let spec: PolicySpec = "fifo".parse().expect("there is one");
            let mut scheduler = spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("valid");
            let mut meter = meter;
            // What starts at the maximum of time is beyond the simulator; everything reported before has a figure.
            let _ = simulate(&mut Listed::new(&jobs, &[]), &mut scheduler, mode, &mut meter, Options::default());
            let shares = meter.finish();
            assert!(shares.worst.is_none_or(|worst| worst.share >= 0.0));
        }
    }
}
