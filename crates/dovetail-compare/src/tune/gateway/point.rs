//! Results of a setting.

use crate::network::users::Figures;

/// A setting and its results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) policy: String,
    pub(super) order: &'static str,
    /// Units per second, for orders with ageing.
    pub(super) ageing: Option<u64>,
    pub(super) delay_ms: u64,
    pub(super) got: Got,
}

/// Results of users: for each figure the median over the seeds that have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Got {
    /// The mean wait, in seconds; infinite if no request was answered.
    pub(super) mean_s: f64,
    /// The 99th percentile of waits, in seconds; infinite likewise.
    pub(super) p99_s: f64,
    /// The mean wait for long responses, in seconds; `None` if there were none.
    pub(super) long_s: Option<f64>,
    /// Fraction of requests, over all seeds, that were not answered or were cancelled.
    pub(super) unanswered: f64,
}

impl Got {
    /// Combines all seeds.
    pub(super) fn of(runs: &[Figures]) -> Self {
        let median_of =
            |figure: fn(&Figures) -> Option<f64>| dovetail_stats::median_of_runs(runs.iter().filter_map(figure));
        let requests: u64 = runs.iter().map(|run| run.all.requests).sum();
        let unanswered: u64 = runs.iter().map(|run| run.all.unfinished + run.all.cancelled).sum();
        Self {
            mean_s: median_of(|run| run.all.mean_s).unwrap_or(f64::INFINITY),
            p99_s: median_of(|run| run.all.p99_s).unwrap_or(f64::INFINITY),
            long_s: median_of(|run| run.long_mean_s),
            unanswered: unanswered as f64 / requests.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::users::Latency;

    #[test]
    fn medians_over_the_seeds_that_have_the_figure_and_what_was_left_of_all() {
        let run = |mean_s, long_mean_s, unfinished, cancelled| Figures {
            all: Latency { requests: 10, unfinished, cancelled, mean_s, p99_s: mean_s, ..Latency::default() },
            long_mean_s,
            long_mean_at_least: false,
            utilisation: 0.0,
            dropped: 0.0,
            lost_probes: 0,
            connections: 0,
            classes: Vec::new(),
        };
        let got = Got::of(&[run(Some(9.0), None, 0, 1), run(Some(1.0), Some(4.0), 2, 0), run(Some(2.0), None, 0, 0)]);
        assert_eq!(got, Got { mean_s: 2.0, p99_s: 2.0, long_s: Some(4.0), unanswered: 0.1 });
        let nothing = Got::of(&[run(None, None, 10, 0)]);
        assert_eq!(nothing, Got { mean_s: f64::INFINITY, p99_s: f64::INFINITY, long_s: None, unanswered: 1.0 });
    }
}
