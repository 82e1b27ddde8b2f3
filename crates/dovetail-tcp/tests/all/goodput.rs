//! Unlimited flows: their rates in the first five seconds and after, fairness, and drops.

use dovetail_sched::Nanos;

use crate::{
    comparison::Comparison,
    not_yet,
    path::{Flow, Mishaps, UNLIMITED, run},
    recorded::{Goodput, Recorded, config},
};

const EARLY_S: u64 = 5;
const SECONDS: u64 = 20;

/// A row of the table: means over runs whose flows begin at different times.
#[derive(Debug, Default)]
struct Row {
    early: f64,
    late: f64,
    jain: f64,
    drops: f64,
    again: f64,
    // The first receiver's largest window, in kilobytes.
    window: f64,
}

impl Row {
    fn of(runs: &[Goodput]) -> Self {
        let count = runs.len() as f64;
        let mean = |of: &dyn Fn(&Goodput) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let rate = |bytes: &[u64], seconds: u64| bytes.iter().sum::<u64>() as f64 * 8.0 / 1e6 / seconds as f64;
        Self {
            early: mean(&|run| rate(&run.early_bytes, EARLY_S)),
            late: mean(&|run| rate(&run.late_bytes, SECONDS - EARLY_S)),
            jain: mean(&|run| jain(&run.late_bytes)),
            drops: mean(&|run| run.drops.iter().sum::<u64>() as f64),
            again: mean(&|run| run.retransmissions.iter().sum::<u64>() as f64),
            window: mean(&|run| run.window_bytes[0] as f64 / 1e3),
        }
    }
}

fn jain(bytes: &[u64]) -> f64 {
    let squares: f64 = bytes.iter().map(|&bytes| (bytes as f64).powi(2)).sum();
    (bytes.iter().sum::<u64>() as f64).powi(2) / bytes.len() as f64 / squares
}

/// The same run in the simulator.
fn simulated(kernel: &Goodput) -> Goodput {
    let flow = |at: u64| Flow {
        begins: Nanos::from_micros(at * (kernel.stagger * 7300 + 1300)),
        bytes: UNLIMITED,
        pauses: Nanos::ZERO,
        config: config(&kernel.congestion, kernel.receive_buffer_bytes),
    };
    let flows: Vec<_> = (0..kernel.flows as u64).map(flow).collect();
    let got = run(&kernel.path(), &Mishaps::default(), &flows, Nanos::from_secs(SECONDS));
    let sum = |from: usize, to: usize| got.iter().map(|flow| flow.tenths.iter().take(to).skip(from).sum()).collect();
    Goodput {
        early_bytes: sum(0, EARLY_S as usize * 10),
        late_bytes: sum(EARLY_S as usize * 10, SECONDS as usize * 10),
        drops: got.iter().map(|flow| flow.drops).collect(),
        retransmissions: got.iter().map(|flow| flow.retransmissions).collect(),
        window_bytes: got.iter().map(|flow| flow.window_bytes).collect(),
        ..kernel.clone()
    }
}

fn name(run: &Goodput) -> String {
    let mega = run.bits_per_s / 1_000_000;
    let round_trip_ms = run.delay_us / 500;
    format!("{} {} x {mega} Mbit/s {round_trip_ms} ms {}", run.congestion, run.flows, run.buffer_packets)
}

/// How much the means of two sets of such runs may differ by chance: two standard errors of their difference.
fn by_chance(runs: &[Goodput], of: impl Fn(&Row) -> f64) -> f64 {
    let figures: Vec<_> = runs.chunks(1).map(|run| of(&Row::of(run))).collect();
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0);
    2.0 * (2.0 * variance / count).sqrt()
}

/// Figures of runs with several flows in addition to goodput: Jain's index within 0.04, drops for information.
fn plain(row: &mut Comparison, name: &str, _: &[Goodput], simulator: &Row, kernel: &Row) -> [String; 2] {
    let jain = row.distance(name, "Jain", simulator.jain, kernel.jain, 0.04);
    [jain, format!("drops {:.1} / {:.1}", simulator.drops, kernel.drops)]
}

/// If senders use random numbers, both only have to agree within the chance difference of two sets of kernel runs.
fn random(row: &mut Comparison, name: &str, runs: &[Goodput], simulator: &Row, kernel: &Row) -> [String; 2] {
    let jain = by_chance(runs, |row| row.jain).max(0.01);
    let drops = by_chance(runs, |row| row.drops);
    [
        row.distance(name, "Jain", simulator.jain, kernel.jain, jain),
        row.distance(name, "drops", simulator.drops, kernel.drops, drops),
    ]
}

type OfSeveral = fn(&mut Comparison, &str, &[Goodput], &Row, &Row) -> [String; 2];

fn compare(
    recorded: &[Goodput],
    tolerance: f64,
    of_several: OfSeveral,
    not_yet: &'static [(&'static str, &'static str)],
) {
    let mut comparison = Comparison::new(not_yet);
    for runs in recorded.chunk_by(|one, next| name(one) == name(next)) {
        let name = name(&runs[0]);
        let kernel = Row::of(runs);
        let simulator = Row::of(&runs.iter().map(simulated).collect::<Vec<_>>());
        let mut cells = vec![
            comparison.ratio(&name, "early", simulator.early, kernel.early, tolerance),
            comparison.ratio(&name, "late", simulator.late, kernel.late, tolerance),
        ];
        if runs[0].flows > 1 {
            cells.extend(of_several(&mut comparison, &name, runs, &simulator, &kernel));
        } else {
            let few = (kernel.drops * 0.1).max(3.0);
            cells.push(comparison.distance(&name, "drops", simulator.drops, kernel.drops, few));
            cells.push(comparison.ratio(&name, "window", simulator.window, kernel.window, tolerance));
        }
        cells.push(format!("sent again {:.1} / {:.1}", simulator.again, kernel.again));
        println!("{name}: {}", cells.join(", "));
    }
    comparison.end();
}

#[test]
fn rows() {
    compare(&Recorded::read().rows, 0.05, plain, not_yet::ROWS);
}

#[test]
fn rows_through_a_token_bucket() {
    compare(&Recorded::read().bucket, 0.02, plain, not_yet::BUCKET);
}

/// Receivers' buffers with default settings: they grow with what arrives.
#[test]
fn rows_as_installed() {
    compare(&Recorded::read().rows_installed, 0.05, plain, not_yet::ROWS_INSTALLED);
}

#[test]
fn other_paths() {
    compare(&Recorded::read().paths, 0.05, plain, not_yet::PATHS);
}

/// The initial phases of its flows are random, in the kernel and here.
#[test]
fn rows_of_bbr() {
    compare(&Recorded::read().bbr, 0.02, random, not_yet::BBR);
}
