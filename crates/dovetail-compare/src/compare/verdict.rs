//! Who was best at what, for a reader who wants one line.
//!
//! A policy is not better than another for a difference that whole packets explain: which packet is last, and whose it
//! is, may move every figure in time by as long as one packet takes. Figures that are read off a histogram are known to
//! 0.1 %, so two of them differ only beyond 0.2 %; what is carried differs only beyond 0.1 %.

use dovetail_sched::Nanos;

use crate::run::PolicyRun;

/// Figures closer than this part of the best are equal, whatever they are.
const SAME: f64 = 0.001;

/// And those from a histogram whose buckets are 0.1 % wide.
const SAME_PERCENTILE: f64 = 0.002;

/// Who is first in each respect: all that are as good as the best; empty where every policy is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    firsts: Vec<(&'static str, Vec<String>)>,
}

impl Verdict {
    pub(super) fn of(runs: &[PolicyRun]) -> Self {
        let packet = runs.iter().map(|run| run.summary.longest_service).max().unwrap_or_default().as_f64();
        // Who drops more is done sooner: with drops, what was carried counts.
        let dropped = runs.iter().any(|run| run.outcome.dropped > 0);
        let efficient = if dropped {
            ("Most carried", first(runs, 0.0, SAME, |run| Some(-run.summary.throughput_mbps)))
        } else {
            ("Done first", first(runs, packet, SAME, |run| Some(run.summary.makespan.as_f64())))
        };
        let gap = first(runs, packet, SAME, |run| run.summary.max_active_time_gap.map(Nanos::as_f64));
        let late = first(runs, packet, SAME_PERCENTILE, |run| Some(run.summary.latency?.p99.as_f64()));
        let firsts = [efficient, ("smallest gap", gap), ("lowest p99", late)];
        Self { firsts: firsts.into_iter().filter(|(_, first)| !first.is_empty()).collect() }
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

/// Those whose figure is as low as the least, to within `packet` and a part `same` of it; none where all are.
fn first(runs: &[PolicyRun], packet: f64, same: f64, figure: impl Fn(&PolicyRun) -> Option<f64>) -> Vec<String> {
    let figures: Vec<(&str, f64)> = runs.iter().filter_map(|run| Some((run.policy.as_str(), figure(run)?))).collect();
    as_low_as_the_least(&figures, packet, same)
}

fn as_low_as_the_least(figures: &[(&str, f64)], packet: f64, same: f64) -> Vec<String> {
    let Some(least) = figures.iter().map(|(_, figure)| *figure).min_by(f64::total_cmp) else { return Vec::new() };
    let bound = least + packet.max(least.abs() * same);
    let first: Vec<_> =
        figures.iter().filter(|(_, figure)| *figure <= bound).map(|(who, _)| (*who).to_owned()).collect();
    if first.len() == figures.len() { Vec::new() } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_a_packet_makes_no_winner() {
        let figures = [("a", 100.0), ("b", 104.0), ("c", 120.0)];
        assert_eq!(as_low_as_the_least(&figures, 5.0, 0.001), ["a", "b"]);
        assert_eq!(as_low_as_the_least(&figures, 3.0, 0.001), ["a"]);
        assert_eq!(as_low_as_the_least(&figures, 30.0, 0.001), [""; 0]);
        // What is carried is turned round: more is better.
        let carried = [("a", -276.0), ("b", -275.9), ("c", -262.0)];
        assert_eq!(as_low_as_the_least(&carried, 0.0, 0.001), ["a", "b"]);
        assert_eq!(as_low_as_the_least(&[], 1.0, 0.001), [""; 0]);
    }
}
