//! Runs all combinations of ratio and threshold.

use dovetail_sched::{Nanos, PolicySpec};
use dovetail_sim::network::{Kind, Network, NetworkOutcome};

use super::{
    super::seeds::{play, setting, values},
    choose::{Choice, choose},
    point::{Got, Point},
};
use crate::{
    error::Error,
    network::{Asked, Under, provenance, times::SizeClass},
    progress::Progress,
    provenance::Provenance,
};

/// Ratios of the groups' quanta: starting with no preference, and including the paper's 2 and 30.
const RATIOS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0];

/// Thresholds around the paper's 20 kB.
const THRESHOLDS_BYTES: [u64; 6] = [2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/// Policies shown for comparison.
const BESIDE: [&str; 3] = ["fifo", FAIR, "las"];

/// The policy that prefers no flow.
pub(super) const FAIR: &str = "drr";

/// The whole grid and its outcome.
pub(super) struct Tuning {
    pub(super) network: String,
    pub(super) provenance: Provenance,
    pub(super) ratios: Vec<f64>,
    pub(super) thresholds_bytes: Vec<u64>,
    /// Ordered by ratio, then by threshold.
    pub(super) points: Vec<Point>,
    pub(super) beside: Vec<(&'static str, Got)>,
    pub(super) choice: Choice,
    /// Results without preference.
    pub(super) drr: Got,
}

/// Runs the grid with `points` values of each knob, or the default ones.
pub(super) fn sweep(
    asked: &Asked,
    policy: &str,
    points: Option<usize>,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Tuning, Error> {
    let network = &asked.network;
    let ratios = values(points, &RATIOS, |value| (value * 10.0).round() / 10.0);
    let thresholds: Vec<f64> = THRESHOLDS_BYTES.iter().map(|&bytes| bytes as f64).collect();
    let thresholds_bytes: Vec<u64> = values(points, &thresholds, |value| (value / 100.0).round() * 100.0)
        .into_iter()
        .map(|bytes| bytes as u64)
        .collect();
    let mut settings = Vec::new();
    for &ratio in &ratios {
        for &threshold_bytes in &thresholds_bytes {
            let knobs = format_args!("threshold={},ratio={ratio}", bytes_text(threshold_bytes));
            let spec: PolicySpec = setting(policy, knobs, "'threshold' and 'ratio'")?;
            settings.push((spec, ratio, threshold_bytes));
        }
    }
    let others = BESIDE.map(str::parse::<PolicySpec>).into_iter().collect::<Result<Vec<_>, _>>()?;
    let under: Vec<Under<'_>> = settings.iter().map(|(spec, ..)| spec).chain(&others).map(Under::Policy).collect();
    let provenance = provenance(asked, &under);
    let mut got = play(network, &under, jobs, progress, |run| Flows::of(network, &run.outcome), Got::of)?.into_iter();
    let points = settings.into_iter().zip(&mut got).map(|((spec, ratio, threshold_bytes), got)| Point {
        policy: spec.as_str().to_owned(),
        ratio,
        threshold_bytes,
        got,
    });
    let points: Vec<Point> = points.collect();
    let beside: Vec<(&str, Got)> = BESIDE.into_iter().zip(got).collect();
    let drr = beside.iter().find(|(policy, _)| *policy == FAIR).map(|(_, got)| *got);
    let drr = drr.ok_or(Error::Missing)?;
    let choice = choose(&points, drr);
    Ok(Tuning { network: network.name.clone(), provenance, ratios, thresholds_bytes, points, beside, choice, drr })
}

/// Formatted for a policy string.
fn bytes_text(bytes: u64) -> String {
    if bytes.is_multiple_of(1000) { format!("{}kB", bytes / 1000) } else { format!("{bytes}B") }
}

/// Durations and rates of one run's flows. An unfinished transfer counts with its time so far.
#[derive(Default)]
struct Flows {
    short: f64,
    short_s: f64,
    long_bits: f64,
    long_s: f64,
}

impl Flows {
    fn of(network: &Network, outcome: &NetworkOutcome) -> Self {
        let mut flows = Self::default();
        for transfer in &outcome.transfers {
            let seconds = transfer.took().unwrap_or(outcome.ended - transfer.begun).as_secs_f64();
            match SizeClass::of(transfer.bytes) {
                SizeClass::Short => {
                    flows.short += 1.0;
                    flows.short_s += seconds;
                }
                SizeClass::Middle => {}
                SizeClass::Long => {
                    flows.long_bits += if transfer.ended.is_some() { transfer.bytes as f64 * 8.0 } else { 0.0 };
                    flows.long_s += seconds;
                }
            }
        }
        // Other traffic counts only while transfers arrive: afterwards it has the link to itself.
        let until = outcome.transfers.iter().map(|transfer| transfer.begun).fold(Nanos::ZERO, Nanos::max);
        for stream in &outcome.streams {
            let traffic = &network.traffic[stream.traffic];
            if matches!(traffic.kind, Kind::LongLived(_)) {
                let second = |at: Nanos| at.as_secs_f64() as usize;
                let (from, to) = (second(traffic.start), second(until.min(traffic.stop)));
                let seconds = to.saturating_sub(from) as f64;
                flows.long_bits += stream.mean_bps(from, to) * seconds;
                flows.long_s += seconds;
            }
        }
        flows
    }
}

impl Got {
    fn of(runs: &[Flows]) -> Result<Self, Error> {
        let sum = |figure: fn(&Flows) -> f64| runs.iter().map(figure).sum::<f64>();
        let (short, long_s) = (sum(|run| run.short), sum(|run| run.long_s));
        if short == 0.0 || long_s == 0.0 {
            let why =
                "there is nothing to compare: tuning needs transfers under 20 kB, and some over 1 MB or unlimited";
            return Err(Error::NothingToWeigh(why.to_owned()));
        }
        Ok(Self { short_s: sum(|run| run.short_s) / short, long_mbps: sum(|run| run.long_bits) / long_s / 1e6 })
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sim::network::{Stream, Transfer};

    use super::*;
    use crate::network::builtin;

    #[test]
    fn what_flows_got_by_hand() {
        let transfer = |bytes, seconds: Option<u64>| Transfer {
            traffic: 0,
            bytes,
            begun: Nanos::from_secs(1),
            ended: seconds.map(|seconds| Nanos::from_secs(1 + seconds)),
            packets: 0,
            dropped: 0,
        };
        let network = builtin("drr-sff-ftp").unwrap();
        let mut outcome = NetworkOutcome {
            transfers: vec![
                transfer(1_000, Some(1)),
                transfer(1_000, Some(2)),
                transfer(50_000, Some(9)),
                transfer(2_000_000, Some(4)),
            ],
            ended: Nanos::from_secs(11),
            ..NetworkOutcome::default()
        };
        assert_eq!(Got::of(&[Flows::of(&network, &outcome)]).unwrap(), Got { short_s: 1.5, long_mbps: 4.0 });
        // The unfinished transfer took ten seconds for nothing, and the stream has carried 4 Mbit in its one second.
        outcome.transfers.push(transfer(9_000_000, None));
        outcome.streams = vec![Stream { traffic: 1, received_bytes: vec![500_000, 9, 9], ..Stream::default() }];
        assert_eq!(Got::of(&[Flows::of(&network, &outcome)]).unwrap().long_mbps, 20.0 / 15.0);
        assert!(Got::of(&[]).is_err());
    }
}
