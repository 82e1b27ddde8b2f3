//! Every figure recomputed from the records in a straightforward way.

use crate::support::{
    Listed, Seen,
    events::{Job, one_after_another},
    recompute::{Row, busy, jain, largest_gap, latencies, makespan, quantile},
};
use dovetail_sched::{Limits, Nanos, PolicySpec, Setup};
use dovetail_sim::{
    Options, PipelineMode,
    measure::{Meters, Series, Summary},
    simulate,
    workload::{Scenario, Workload},
};
use proptest::prelude::*;

const WINDOW: u64 = 200;

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=3).prop_flat_map(|m| {
        let job = (0u32..4, 1u32..1600, 0u64..30, prop::collection::vec(1u64..50, m));
        prop::collection::vec(job, 1..120).prop_map(one_after_another)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn figures_follow_from_the_records(
        jobs in jobs(),
        no_wait in any::<bool>(),
        policy in prop_oneof![Just("fifo"), Just("drr")],
        weights in prop::collection::vec(prop_oneof![Just(1.0), Just(2.0), Just(0.5)], 4),
    ) {
        let mode = if no_wait { PipelineMode::NoWait } else { PipelineMode::Unbounded };
        let m = jobs[0].demand.len();
        let spec: PolicySpec = policy.parse().expect("there is one");
        let mut scheduler = spec.build(&Setup::new(m, Limits::UNLIMITED)).expect("valid");
        let mut meters = Meters::new(m, Nanos(WINDOW));
        let mut seen = Seen::default();
        let mut both = (&mut meters, &mut seen);
        simulate(&mut Listed::new(&jobs, &weights), &mut scheduler, mode, &mut both, Options::default()).expect("runs");
        let summary = meters.finish();
        let rows: Vec<Row> = seen.sent.iter().map(|(packet, passage)| Row {
            flow: packet.flow.0,
            bytes: packet.bytes,
            arrival: packet.arrival.0,
            start: passage.start().iter().map(|at| at.0).collect(),
            end: passage.end().iter().map(|at| at.0).collect(),
        }).collect();

        let makespan = makespan(&rows);
        prop_assert_eq!(summary.makespan, Nanos(makespan));
        for j in 0..m {
            let busy = busy(&rows, j);
            prop_assert!((summary.utilisation[j] - busy as f64 / makespan as f64).abs() < 1e-12);
            let over_time: f64 = summary.series.utilisation[j].iter().sum::<f64>() * summary.series.width.as_f64();
            prop_assert!((over_time - busy as f64).abs() < 1e-6 * busy as f64 + 1e-6);
        }
        let bits: f64 = rows.iter().map(|row| f64::from(row.bytes) * 8.0).sum();
        prop_assert!((summary.throughput_mbps - bits * 1e3 / makespan as f64).abs() < 1e-9 * summary.throughput_mbps);

        let late = latencies(&rows);
        let latency = summary.latency.expect("something was sent");
        prop_assert!((latency.mean_nanos - late.iter().sum::<u64>() as f64 / late.len() as f64).abs() < 1e-6);
        prop_assert_eq!(latency.max.0, late[late.len() - 1]);
        for (share, got) in [(0.5, latency.p50), (0.95, latency.p95), (0.99, latency.p99)] {
            let exact = quantile(&late, share) as f64;
            prop_assert!((got.as_f64() - exact).abs() <= 0.001 * exact, "{share}: {got:?} for {exact}");
        }

        let weight = |flow: u32| weights[flow as usize];
        match (summary.jain_dominant, jain(&rows, weight, WINDOW)) {
            (Some(got), Some(want)) => prop_assert!((got - want).abs() < 1e-9, "Jain {got} for {want}"),
            (got, want) => prop_assert_eq!(got, want),
        }
        match (summary.max_active_time_gap, largest_gap(&rows, weight)) {
            (Some(got), Some(want)) => prop_assert!((got.as_f64() - want).abs() <= 0.51, "gap {got:?} for {want}"),
            (got, want) => prop_assert_eq!(got, want.map(Nanos::from_f64)),
        }
    }
}

#[test]
fn dropped_packets_are_nobodys_service() {
    let jobs: Vec<Job> = (0..10).map(|_| Job { flow: 0, bytes: 100, arrival: 0, demand: vec![5] }).collect();
    let mut meters = Meters::new(1, Nanos(WINDOW));
    let mut scheduler =
        "fifo".parse::<PolicySpec>().expect("named").build(&Setup::new(1, Limits::per_flow(3))).expect("valid");
    let mut workload = Listed::new(&jobs, &[]);
    let outcome =
        simulate(&mut workload, &mut scheduler, PipelineMode::NoWait, &mut meters, Options::default()).expect("runs");
    let summary = meters.finish();
    assert_eq!((outcome.sent, outcome.dropped), (3, 7));
    assert_eq!((summary.sent, summary.dropped, summary.flows[0].dropped), (3, 7, 7));
    assert_eq!(summary.makespan, Nanos(15));
}

/// Figures of an open-loop scenario whose flows share a small buffer, with meters modified by `make`.
fn figures(policy: &str, mode: PipelineMode, with_cpu: bool, make: impl FnOnce(Meters) -> Meters) -> Summary {
    let (cpu, cost) = if with_cpu { ("[[resource]]\nname = \"cpu\"", "cpu = \"900ns*bytes\"") } else { ("", "") };
    let text = format!(
        r#"
        name = "watched"
        packets = 5000
        load = 1.05
        {cpu}
        [[resource]]
        name = "link"
        rate = "10Mbps"
        [[class]]
        name = "all"
        cost = {{ {cost} }}
        [[flow]]
        name = "steady"
        count = 5
        size = 500
        arrivals = {{ constant = "1000/s" }}
        [[flow]]
        name = "chance"
        count = 8
        size = {{ uniform = {{ min = 64, max = 1500 }} }}
        arrivals = {{ poisson = "1000/s" }}
        "#
    );
    let scenario = Scenario::parse(&text, "watched.toml", &mut |_| Err(std::io::ErrorKind::NotFound.into()));
    let mut workload = scenario.and_then(|scenario| scenario.workload()).expect("it is a scenario");
    assert!(workload.is_open_loop());
    let m = workload.resources().len();
    let limits = Limits { flow_packets: Some(9), packets: Some(40), ..Limits::UNLIMITED };
    let mut scheduler = policy.parse::<PolicySpec>().expect("named").build(&Setup::new(m, limits)).expect("valid");
    let mut meters = make(Meters::new(m, Nanos::from_millis(10)));
    simulate(&mut workload, &mut scheduler, mode, &mut meters, Options::default()).expect("runs");
    meters.finish()
}

#[test]
fn what_is_known_or_left_out_changes_no_figure() {
    for policy in ["fifo", "drr", "wfq", "drfq", "atfq:batch=20"] {
        for mode in [PipelineMode::Unbounded, PipelineMode::NoWait, PipelineMode::Buffer(2)] {
            for with_cpu in [false, true] {
                let of = |make: fn(Meters) -> Meters| figures(policy, mode, with_cpu, make);
                let plain = of(|meters| meters);
                assert!(plain.sent > 1000 && plain.dropped > 0 && plain.jain_dominant.is_some(), "{plain:?}");
                assert_eq!(format!("{:?}", of(|meters| meters.of_open_loop(true))), format!("{plain:?}"));
                let bare = Summary { series: Series::default(), ..plain };
                let without = of(|meters| meters.of_open_loop(true).without_series());
                assert_eq!(format!("{without:?}"), format!("{bare:?}"));
            }
        }
    }
}
