//! Every figure recomputed the slow way from what the records hold.

mod support;

use std::collections::BTreeMap;

use dovetail_sched::{Limits, Nanos, PolicySpec, Setup};
use dovetail_sim::{Observer, Options, PipelineMode, measure::Meters, simulate};
use proptest::prelude::*;
use support::{Listed, Seen, events::Job};

const WINDOW: u64 = 200;

#[derive(Debug, Clone)]
struct Row {
    flow: u32,
    bytes: u32,
    arrival: u64,
    start: Vec<u64>,
    end: Vec<u64>,
}

/// Mean of Jain's index over windows, by scanning all rows for each window.
fn jain(rows: &[Row], weights: &[f64]) -> Option<f64> {
    let flows: Vec<u32> =
        rows.iter().map(|row| row.flow).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let end_of_run = rows.iter().map(|row| row.start[0].max(row.arrival)).max()?;
    let mut values = Vec::new();
    // A window counts once something happens at or after its end.
    for window in 0..end_of_run / WINDOW {
        let (from, to) = (window * WINDOW, (window + 1) * WINDOW);
        let mut shares = Vec::new();
        for &flow in &flows {
            // Backlogged all through: the times waited, merged where they touch or overlap, cover the window.
            let waits: Vec<(u64, u64)> =
                rows.iter().filter(|row| row.flow == flow).map(|row| (row.arrival, row.start[0])).collect();
            let mut covered = None;
            for (arrival, start) in waits {
                match covered {
                    Some((_, until)) if arrival <= until => covered = covered.map(|(since, _)| (since, start)),
                    Some((since, until)) if since <= from && until >= to => break,
                    _ => covered = Some((arrival, start)),
                }
            }
            if covered.is_none_or(|(since, until)| since > from || until < to) {
                continue;
            }
            let m = rows[0].start.len();
            let started = rows.iter().filter(|row| row.flow == flow && (from..to).contains(&row.start[0]));
            let mut service = vec![0; m];
            for row in started {
                for j in 0..m {
                    service[j] += row.end[j] - row.start[j];
                }
            }
            shares.push(service.into_iter().max().unwrap_or(0) as f64 / weights[flow as usize]);
        }
        let squares: f64 = shares.iter().map(|x| x * x).sum();
        if shares.len() >= 2 && squares > 0.0 {
            values.push(shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * squares));
        }
    }
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest gap in active time, with positions kept in a plain map and every packet's alone-run recomputed.
fn largest_gap(rows: &[Row], weights: &[f64]) -> Option<f64> {
    enum Event {
        Arrives(usize),
        Starts(usize),
    }
    let mut events: Vec<(u64, u8, usize, Event)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        events.push((row.arrival, 0, at, Event::Arrives(at)));
        events.push((row.start[0], 1, at, Event::Starts(at)));
    }
    // Rows are in order of release; at one instant arrivals come first, and a packet of no length starts in order.
    events.sort_by_key(|&(at, kind, row, _)| (at, kind, row));
    let mut waiting: BTreeMap<u32, u32> = BTreeMap::new();
    let mut position: BTreeMap<u32, f64> = BTreeMap::new();
    let mut last_end: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut level = 0.0;
    let mut largest = None;
    for (_, _, _, event) in events {
        match event {
            Event::Arrives(at) => {
                let flow = rows[at].flow;
                let count = waiting.entry(flow).or_default();
                *count += 1;
                if *count == 1 {
                    if position.is_empty() {
                        level = 0.0;
                    }
                    position.insert(flow, level);
                    last_end.remove(&flow);
                }
            }
            Event::Starts(at) => {
                let row = &rows[at];
                let weight = weights[row.flow as usize];
                let times: Vec<u64> = (0..row.start.len()).map(|j| row.end[j] - row.start[j]).collect();
                // Alone in a no-wait pipeline: as early as no resource is met busy.
                let before = last_end.get(&row.flow);
                let finished = before.map_or(0, |ends| *ends.last().expect("at least one resource"));
                let mut start = 0;
                let mut prefix = 0;
                for (j, &time) in times.iter().enumerate() {
                    start = start.max(before.map_or(0, |ends| ends[j]).saturating_sub(prefix));
                    prefix += time;
                }
                let ends: Vec<u64> = times
                    .iter()
                    .scan(start, |at, &time| {
                        *at += time;
                        Some(*at)
                    })
                    .collect();
                let active = (ends.last().expect("at least one resource") - finished) as f64;
                last_end.insert(row.flow, ends);
                let sum: f64 = position.keys().map(|&flow| weights[flow as usize]).sum();
                level += active / sum;
                let moved = position[&row.flow] + active / weight;
                position.insert(row.flow, moved);
                let others = position.iter().filter(|&(&flow, _)| flow != row.flow).map(|(_, &at)| at);
                if let Some(least) = others.min_by(f64::total_cmp) {
                    largest = Some(f64::max(largest.unwrap_or(0.0), moved - least));
                }
                let count = waiting.get_mut(&row.flow).expect("it waited");
                *count -= 1;
                if *count == 0 {
                    position.remove(&row.flow);
                }
            }
        }
    }
    largest
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=3).prop_flat_map(|m| {
        let job = (0u32..4, 1u32..1600, 0u64..30, prop::collection::vec(1u64..50, m));
        prop::collection::vec(job, 1..120).prop_map(|rows| {
            let mut now = 0;
            rows.into_iter()
                .map(|(flow, bytes, gap, demand)| {
                    now += gap;
                    Job { flow, bytes, arrival: now, demand }
                })
                .collect()
        })
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

        let makespan = rows.iter().map(|row| row.end[m - 1]).max().unwrap_or(0)
            - rows.iter().map(|row| row.arrival).min().unwrap_or(0);
        prop_assert_eq!(summary.makespan, Nanos(makespan));
        for j in 0..m {
            let busy: u64 = rows.iter().map(|row| row.end[j] - row.start[j]).sum();
            prop_assert!((summary.utilisation[j] - busy as f64 / makespan as f64).abs() < 1e-12);
            let over_time: f64 = summary.series.utilisation[j].iter().sum::<f64>() * summary.series.width.as_f64();
            prop_assert!((over_time - busy as f64).abs() < 1e-6 * busy as f64 + 1e-6);
        }
        let bits: f64 = rows.iter().map(|row| f64::from(row.bytes) * 8.0).sum();
        prop_assert!((summary.throughput_mbps - bits * 1e3 / makespan as f64).abs() < 1e-9 * summary.throughput_mbps);

        let mut late: Vec<u64> = rows.iter().map(|row| row.end[m - 1] - row.arrival).collect();
        late.sort_unstable();
        let latency = summary.latency.expect("something was sent");
        prop_assert!((latency.mean_nanos - late.iter().sum::<u64>() as f64 / late.len() as f64).abs() < 1e-6);
        prop_assert_eq!(latency.max.0, late[late.len() - 1]);
        for (quantile, got) in [(0.5, latency.p50), (0.95, latency.p95), (0.99, latency.p99)] {
            let rank = ((quantile * late.len() as f64).ceil() as usize).max(1);
            let exact = late[rank - 1] as f64;
            prop_assert!((got.as_f64() - exact).abs() <= 0.001 * exact, "{quantile}: {got:?} for {exact}");
        }

        match (summary.jain_dominant, jain(&rows, &weights)) {
            (Some(got), Some(want)) => prop_assert!((got - want).abs() < 1e-9, "Jain {got} for {want}"),
            (got, want) => prop_assert_eq!(got, want),
        }
        match (summary.max_active_time_gap, largest_gap(&rows, &weights)) {
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
    let mut unwatched = ();
    Observer::dropped(
        &mut unwatched,
        &dovetail_sched::Packet {
            flow: dovetail_sched::FlowId(0),
            bytes: 0,
            arrival: Nanos::ZERO,
            handle: 0,
            demand: dovetail_sched::Demand::new(&[Nanos::ZERO]).expect("one"),
        },
        Nanos::ZERO,
    );
}
