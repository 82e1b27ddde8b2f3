//! Latencies in constant memory.
//!
//! A [histogram](Histogram) whose percentiles are at most 0.1 % over a value that the run really had. Mean and maximum
//! are exact. Only packets that were sent are in it; those that still waited at the end are counted as left.

use dovetail_sched::Nanos;
use dovetail_stats::{Histogram, Quantile};

/// Mean, percentiles and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// The mean, exact, in nanoseconds.
    pub mean_nanos: f64,
    /// Half of the packets are at most so late.
    pub p50: Nanos,
    /// 95 % are.
    pub p95: Nanos,
    /// 99 % are.
    pub p99: Nanos,
    /// The latest, exact.
    pub max: Nanos,
}

/// A histogram of latencies.
#[derive(Debug)]
pub struct Latency {
    histogram: Histogram,
    sum_nanos: f64,
    max: Nanos,
}

impl Latency {
    /// Nothing recorded.
    #[must_use]
    pub fn new() -> Self {
        Self { histogram: Histogram::new(), sum_nanos: 0.0, max: Nanos::ZERO }
    }

    /// Records one packet.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.histogram.record(latency.0);
        self.max = self.max.max(latency);
        self.sum_nanos += latency.as_f64();
    }

    /// The percentiles; `None` for no packets.
    #[must_use]
    pub fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile| Some(Nanos(self.histogram.quantile(quantile)?).min(self.max));
        Some(Percentiles {
            p50: at(Quantile::MEDIAN)?,
            p95: at(Quantile::P95)?,
            p99: at(Quantile::P99)?,
            mean_nanos: self.sum_nanos / self.histogram.count() as f64,
            max: self.max,
        })
    }

    /// Points of the distribution, fine enough for a chart.
    #[must_use]
    pub fn cdf(&self) -> Vec<(Nanos, f64)> {
        let total = self.histogram.count() as f64;
        let mut points: Vec<(Nanos, f64)> = Vec::new();
        for (latency, within) in self.histogram.steps() {
            let share = within as f64 / total;
            // A point every 0.2 % and in the tail every packet: what a chart can show.
            if points.last().is_none_or(|&(_, last)| share - last >= 0.002 || share > 0.998) {
                points.push((Nanos(latency).min(self.max), share));
            }
        }
        points
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}
