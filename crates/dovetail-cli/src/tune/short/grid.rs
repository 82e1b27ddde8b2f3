//! Every ratio with every threshold.

use dovetail_sched::{Nanos, PolicySpec, registry::with_knobs};
use dovetail_sim::network::{Network, NetworkOutcome, Transfer};

use super::choose::{Choice, choose};
use crate::{
    failure::Failure,
    network::{
        Keep, run,
        times::{SizeClass, Times},
    },
    run::counting_bar,
    side_by_side::side_by_side_on,
};

/// Ratios of the groups' quanta: from none preferred on, the paper's 2 and 30 among them.
const RATIOS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0];

/// Thresholds around the paper's 20 kB.
const THRESHOLDS_BYTES: [u64; 6] = [2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/// Seeds that each setting is run with, from the network's own on.
const SEEDS: u64 = 3;

/// What stands beside the settings.
const BESIDE: [&str; 3] = ["fifo", FAIR, "las"];

/// Who prefers nobody.
const FAIR: &str = "drr";

/// A setting and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) policy: String,
    pub(super) ratio: f64,
    pub(super) threshold_bytes: u64,
    pub(super) got: Got,
}

/// What flows got under a policy, all seeds together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Got {
    /// The mean time of short transfers, in seconds.
    pub(super) short_s: f64,
    /// All bits of long flows over all the seconds that they took.
    pub(super) long_mbps: f64,
}

/// The whole grid, and what it says.
pub(super) struct Tuning {
    pub(super) network: String,
    pub(super) ratios: Vec<f64>,
    pub(super) thresholds_bytes: Vec<u64>,
    /// By ratio, and with one ratio by threshold.
    pub(super) points: Vec<Point>,
    pub(super) beside: Vec<(&'static str, Got)>,
    pub(super) choice: Choice,
    /// What long flows get where nobody is preferred.
    pub(super) drr_mbps: f64,
}

/// What flows get under each policy.
fn play(network: &Network, policies: &[PolicySpec], jobs: usize) -> Result<Vec<Got>, Failure> {
    let seeds = 0..SEEDS;
    let runs: Vec<(&PolicySpec, u64)> =
        policies.iter().flat_map(|policy| seeds.clone().map(move |seed| (policy, seed))).collect();
    let bar = counting_bar("transfers", &network.name, 0, Some(network.transfers() * runs.len() as u64));
    let outcomes = side_by_side_on(jobs, &runs, |&(policy, seed)| {
        let seed = network.seed.wrapping_add(seed);
        let outcome = run(&Network { seed, ..network.clone() }, policy, Keep::default(), &bar)?.outcome;
        Ok(Flows::of(&outcome))
    })?;
    bar.finish_and_clear();
    outcomes.chunks(SEEDS as usize).map(Got::of).collect()
}

/// Runs the grid; `points` values of each knob, or the usual ones.
pub(super) fn sweep(network: &Network, policy: &str, points: Option<usize>, jobs: usize) -> Result<Tuning, Failure> {
    let ratios = values(points, &RATIOS, |value| (value * 10.0).round() / 10.0);
    let thresholds: Vec<f64> = THRESHOLDS_BYTES.iter().map(|&bytes| bytes as f64).collect();
    let thresholds_bytes: Vec<u64> = values(points, &thresholds, |value| (value / 100.0).round() * 100.0)
        .into_iter()
        .map(|bytes| bytes as u64)
        .collect();
    let mut settings = Vec::new();
    for &ratio in &ratios {
        for &threshold_bytes in &thresholds_bytes {
            let text = with_knobs(policy, format_args!("threshold={},ratio={ratio}", bytes_text(threshold_bytes)));
            let spec: PolicySpec = text.parse().map_err(|error| {
                Failure::usage(format!("--policy {policy}: {error} (tune sets 'threshold' and 'ratio' itself)"))
            })?;
            settings.push((spec, ratio, threshold_bytes));
        }
    }
    let others = BESIDE.map(str::parse::<PolicySpec>).into_iter().collect::<Result<Vec<_>, _>>()?;
    let policies: Vec<PolicySpec> = settings.iter().map(|(spec, ..)| spec.clone()).chain(others).collect();
    let mut got = play(network, &policies, jobs)?.into_iter();
    let points = settings.into_iter().zip(&mut got).map(|((spec, ratio, threshold_bytes), got)| Point {
        policy: spec.as_str().to_owned(),
        ratio,
        threshold_bytes,
        got,
    });
    let points: Vec<Point> = points.collect();
    let beside: Vec<(&str, Got)> = BESIDE.into_iter().zip(got).collect();
    let drr_mbps = beside.iter().find(|(policy, _)| *policy == FAIR).map_or(0.0, |(_, got)| got.long_mbps);
    let choice = choose(&points, drr_mbps);
    Ok(Tuning { network: network.name.clone(), ratios, thresholds_bytes, points, beside, choice, drr_mbps })
}

/// As a policy string has it.
fn bytes_text(bytes: u64) -> String {
    if bytes.is_multiple_of(1000) { format!("{}kB", bytes / 1000) } else { format!("{bytes}B") }
}

/// `points` values from the first of the usual ones to the last, each as many times the one before, without repeats.
fn values(points: Option<usize>, usual: &[f64], round: fn(f64) -> f64) -> Vec<f64> {
    let (Some(points), Some(&first), Some(&last)) = (points, usual.first(), usual.last()) else {
        return usual.to_vec();
    };
    let steps = points.max(2) - 1;
    let mut values: Vec<f64> =
        (0..=steps).map(|step| round(first * (last / first).powf(step as f64 / steps as f64))).collect();
    values.dedup();
    values
}

/// What one run's flows took and got.
struct Flows {
    short: Times,
    long_bits: f64,
    long_s: f64,
}

impl Flows {
    fn of(outcome: &NetworkOutcome) -> Self {
        let mut flows = Self { short: Times::of(SizeClass::Short.transfers(outcome)), long_bits: 0.0, long_s: 0.0 };
        let of_transfer = |transfer: &Transfer| transfer.took().map(|took| (transfer.bytes, took));
        // What is sent beside transfers counts while transfers come: afterwards it is alone.
        let until = outcome.transfers.iter().map(|transfer| transfer.begun).fold(Nanos::ZERO, Nanos::max);
        let seconds = until.as_secs_f64() as usize;
        let of_streams =
            outcome.streams.iter().map(|stream| (stream.mean_bps(0, seconds) / 8.0 * seconds as f64, seconds as f64));
        let of_transfers = SizeClass::Long.transfers(outcome).filter_map(of_transfer);
        for (bytes, took) in of_transfers.map(|(bytes, took)| (bytes as f64, took.as_secs_f64())).chain(of_streams) {
            flows.long_bits += bytes * 8.0;
            flows.long_s += took;
        }
        flows
    }
}

impl Got {
    fn of(runs: &[Flows]) -> Result<Self, Failure> {
        let done: u64 = runs.iter().map(|run| run.short.done).sum();
        let short_s: f64 = runs.iter().map(|run| run.short.mean_s.unwrap_or(0.0) * run.short.done as f64).sum();
        let (bits, seconds) = runs.iter().fold((0.0, 0.0), |(bits, s), run| (bits + run.long_bits, s + run.long_s));
        if done == 0 || seconds == 0.0 {
            let why = "there is nothing to weigh: transfers under 20 kB, and over 1 MB or without end, have to be done";
            return Err(Failure::new(why));
        }
        Ok(Self { short_s: short_s / done as f64, long_mbps: bits / seconds / 1e6 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_from_the_first_to_the_last() {
        let whole = |value: f64| value.round();
        assert_eq!(values(None, &RATIOS, whole), RATIOS);
        assert_eq!(values(Some(2), &RATIOS, whole), [1.0, 30.0]);
        assert_eq!(values(Some(3), &[1.0, 100.0], whole), [1.0, 10.0, 100.0]);
        assert!(values(Some(100), &RATIOS, whole).windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn what_flows_got_by_hand() {
        let transfer = |bytes, seconds: u64| Transfer {
            traffic: 0,
            bytes,
            begun: Nanos::from_secs(1),
            ended: Some(Nanos::from_secs(1 + seconds)),
            packets: 0,
            dropped: 0,
        };
        let transfers = vec![transfer(1_000, 1), transfer(1_000, 2), transfer(50_000, 9), transfer(2_000_000, 4)];
        let flows = Flows::of(&NetworkOutcome { transfers, ..NetworkOutcome::default() });
        assert_eq!(Got::of(&[flows]).unwrap(), Got { short_s: 1.5, long_mbps: 4.0 });
        assert!(Got::of(&[]).is_err());
    }
}
