//! The best policy in each respect, in one line.
//!
//! A difference that whole packets explain does not make a policy better: which packet is last, and whose it is, may shift
//! every time by as much as one packet takes. Figures from a histogram are accurate to 0.1 %, so two of them differ only
//! beyond 0.2 %; throughput differs only beyond 0.1 %.
//!
//! Over several samples a policy is better than another if it is in at least 95 % of them, sample by sample. The policy with
//! the least median is named, together with all those that it does not beat.

use dovetail_sched::Nanos;
use dovetail_stats::median_of_runs;

use crate::run::PolicyRun;

/// Figures closer than this fraction of the best are equal.
const SAME: f64 = 0.001;

/// The same for figures from a histogram whose buckets are 0.1 % wide.
const SAME_PERCENTILE: f64 = 0.002;

/// The best in each respect: all that are as good as the best; empty if every policy is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    firsts: Vec<(&'static str, Vec<String>)>,
}

impl Verdict {
    pub(super) fn of(runs: &[PolicyRun]) -> Self {
        let names: Vec<&str> = runs.iter().map(|run| run.policy.as_str()).collect();
        Self::over(&names, &[&Paired::of(runs)])
    }

    /// Over several samples, each with the figures of all of `policies`.
    pub(super) fn over(policies: &[&str], samples: &[&Paired]) -> Self {
        // A policy that drops more finishes sooner: with drops, throughput is compared instead.
        let dropped = samples.iter().any(|sample| sample.dropped);
        let efficient: (_, _, fn(&Figures) -> Option<f64>, _) = if dropped {
            ("Most carried", false, |figures| Some(-figures.carried_mbps), SAME)
        } else {
            ("Done first", true, |figures| Some(figures.makespan_nanos), SAME)
        };
        let gap: fn(&Figures) -> Option<f64> = |figures| figures.gap_nanos;
        let late: fn(&Figures) -> Option<f64> = |figures| figures.p99_nanos;
        let respects = [efficient, ("smallest gap", true, gap, SAME), ("lowest p99", true, late, SAME_PERCENTILE)];
        let firsts = respects.into_iter().map(|(what, in_time, figure, same)| {
            let sample = |sample: &&Paired| Compared {
                figures: sample.figures.iter().map(figure).collect(),
                packet: if in_time { sample.packet_nanos } else { 0.0 },
            };
            let samples: Vec<Compared> = samples.iter().map(sample).collect();
            (what, first(&samples, same).into_iter().map(|at| policies[at].to_owned()).collect())
        });
        Self { firsts: firsts.filter(|(_, first): &(_, Vec<String>)| !first.is_empty()).collect() }
    }

    /// In one line, without a full stop.
    pub(super) fn line(&self) -> String {
        if self.firsts.is_empty() {
            return "The policies do not differ by more than whole packets explain".to_owned();
        }
        let said: Vec<_> = self.firsts.iter().map(|(what, who)| format!("{what}: {}", who.join(", "))).collect();
        said.join("; ")
    }
}

/// The figures by which policies are judged in one sample, in their order.
pub(super) struct Paired {
    figures: Vec<Figures>,
    /// Duration of the longest packet.
    packet_nanos: f64,
    dropped: bool,
}

struct Figures {
    carried_mbps: f64,
    makespan_nanos: f64,
    gap_nanos: Option<f64>,
    p99_nanos: Option<f64>,
}

impl Paired {
    pub(super) fn of(runs: &[PolicyRun]) -> Self {
        let figures = |run: &PolicyRun| Figures {
            carried_mbps: run.summary.throughput_mbps,
            makespan_nanos: run.summary.makespan.as_f64(),
            gap_nanos: run.summary.max_active_time_gap.map(Nanos::as_f64),
            p99_nanos: run.summary.latency.map(|latency| latency.p99.as_f64()),
        };
        Self {
            figures: runs.iter().map(figures).collect(),
            packet_nanos: runs.iter().map(|run| run.summary.longest_service).max().unwrap_or_default().as_f64(),
            dropped: runs.iter().any(|run| run.outcome.dropped > 0),
        }
    }
}

/// One figure of every policy in a sample, and how much a packet may change it.
struct Compared {
    figures: Vec<Option<f64>>,
    packet: f64,
}

/// Indices of the policy with the least median and of all that it does not beat; empty if that is every policy with the
/// figure.
fn first(samples: &[Compared], same: f64) -> Vec<usize> {
    let policies = samples.iter().map(|sample| sample.figures.len()).min().unwrap_or(0);
    let of = |at: usize| samples.iter().filter_map(move |sample| sample.figures[at]);
    let medians: Vec<(usize, f64)> = (0..policies).filter_map(|at| Some((at, median_of_runs(of(at))?))).collect();
    let Some(&(best, _)) = medians.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let first: Vec<usize> =
        medians.iter().map(|&(at, _)| at).filter(|&at| at == best || !beats(samples, best, at, same)).collect();
    if first.len() == medians.len() { Vec::new() } else { first }
}

/// Whether `one` has the lower figure in at least 95 % of the samples, by more than a packet and a fraction `same` of it.
fn beats(samples: &[Compared], one: usize, other: usize, same: f64) -> bool {
    let is_lower = |sample: &&Compared| {
        let pair = sample.figures[one].zip(sample.figures[other]);
        pair.is_some_and(|(one, other)| other > one + sample.packet.max(one.abs() * same))
    };
    samples.iter().filter(is_lower).count() * 100 >= samples.len() * 95
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_a_packet_makes_no_winner() {
        let first = |figures: &[f64], packet, same| {
            first(&[Compared { figures: figures.iter().copied().map(Some).collect(), packet }], same)
        };
        let figures = [100.0, 104.0, 120.0];
        assert_eq!(first(&figures, 5.0, 0.001), [0, 1]);
        assert_eq!(first(&figures, 3.0, 0.001), [0]);
        assert_eq!(first(&figures, 30.0, 0.001), [0; 0]);
        // Throughput is negated: more is better.
        assert_eq!(first(&[-276.0, -275.9, -262.0], 0.0, 0.001), [0, 1]);
        assert_eq!(first(&[], 1.0, 0.001), [0; 0]);
    }

    #[test]
    fn a_winner_wins_in_95_of_100_samples() {
        let samples = |lost: usize| -> Vec<Compared> {
            let figures = |at: usize| if at < lost { [9.0, 8.0, 20.0] } else { [1.0, 8.0, 20.0] };
            (0..100).map(|at| Compared { figures: figures(at).map(Some).to_vec(), packet: 0.5 }).collect()
        };
        assert_eq!(first(&samples(5), SAME), [0]);
        assert_eq!(first(&samples(6), SAME), [0, 1]);
    }
}
