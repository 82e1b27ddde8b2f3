//! Short transfers, alone and together with unlimited flows, averaged over delays that differ by less than a packet's time.

use dovetail_sched::Nanos;

use crate::{
    comparison::Comparison,
    not_yet,
    path::{Flow, Mishaps, UNLIMITED, run},
    recorded::{Recorded, Short, config},
};

/// The same run in the simulator.
fn simulated(kernel: &Short) -> Short {
    let flow = |begins, bytes| {
        let config = config(&kernel.congestion, kernel.receive_buffer_bytes);
        Flow { begins, bytes, pauses: Nanos::ZERO, config }
    };
    let long = (0..kernel.flows as u64).map(|at| flow(Nanos::from_micros(at * 1300), UNLIMITED));
    let begins = |at| Nanos::from_secs(5) + Nanos::from_millis(kernel.gap_ms * at);
    let short = (0..kernel.transfers).map(|at| flow(begins(at), kernel.segments * 1460));
    let flows: Vec<_> = long.chain(short).collect();
    let until = Nanos::from_secs(15 + kernel.transfers * kernel.gap_ms / 1000);
    let got = run(&kernel.path(), &Mishaps::default(), &flows, until);
    let took = |got: &crate::path::Got| got.took.map_or(0, |took| took.0 / 1000);
    Short { took_us: got[kernel.flows..].iter().map(took).collect(), ..kernel.clone() }
}

/// Mean and median in milliseconds, each averaged over runs.
fn figures(runs: &[Short]) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for run in runs {
        let mut took = run.took_us.clone();
        assert!(took.iter().all(|&took| took > 0), "all end: {run:?}");
        took.sort_unstable();
        sums[0] += took.iter().sum::<u64>() as f64 / took.len() as f64 / 1e3;
        sums[1] += took[took.len() / 2] as f64 / 1e3;
    }
    sums.map(|sum| sum / runs.len() as f64)
}

/// How much ratios of two sets of such kernel runs may differ from one by chance: two standard errors of the difference.
fn by_chance(runs: &[Short]) -> [f64; 2] {
    let mean = figures(runs);
    let mut squares = [0.0; 2];
    for run in runs.chunks(1) {
        let figures = figures(run);
        (0..2).for_each(|at| squares[at] += (figures[at] / mean[at] - 1.0).powi(2));
    }
    let count = runs.len() as f64;
    squares.map(|squares: f64| 2.0 * (2.0 * squares / (count - 1.0) / count).sqrt())
}

/// All transfers of the runs, in ascending order.
fn all(runs: &[Short]) -> Vec<u64> {
    let mut all: Vec<_> = runs.iter().flat_map(|run| run.took_us.iter().copied()).collect();
    all.sort_unstable();
    all
}

/// The largest distance between two distributions (Kolmogorov-Smirnov). Losses determine how long a transfer takes, so times
/// come in clusters, and a median between two clusters says little.
fn distance(one: &[u64], other: &[u64]) -> f64 {
    let part = |all: &[u64], at: u64| all.partition_point(|&took| took <= at) as f64 / all.len() as f64;
    one.iter().chain(other).map(|&at| (part(one, at) - part(other, at)).abs()).fold(0.0, f64::max)
}

fn name(run: &Short) -> String {
    let Short { congestion, flows, buffer_packets, segments, gap_ms, .. } = run;
    format!("{segments} segments beside {flows} {congestion}, buffer {buffer_packets}, every {gap_ms} ms")
}

fn compare(recorded: &[Short], not_yet: &'static [(&'static str, &'static str)]) {
    let mut comparison = Comparison::new(not_yet);
    for runs in recorded.chunk_by(|one, next| name(one) == name(next)) {
        let name = name(&runs[0]);
        let kernel = figures(runs);
        let simulated: Vec<_> = runs.iter().map(simulated).collect();
        let simulator = figures(&simulated);
        let mean = comparison.ratio(&name, "mean", simulator[0], kernel[0], 0.10);
        let median = comparison.ratio(&name, "median", simulator[1], kernel[1], 0.05);
        let apart = distance(&all(runs), &all(&simulated));
        let [by_mean, by_median] = by_chance(runs);
        println!(
            "{name}: {mean} (by chance ±{by_mean:.3}), {median} (±{by_median:.3}), distributions {apart:.2} apart"
        );
    }
    comparison.end();
}

#[test]
fn short() {
    compare(&Recorded::read().short, not_yet::SHORT);
}

#[test]
fn sizes() {
    compare(&Recorded::read().sizes, not_yet::SIZES);
}
