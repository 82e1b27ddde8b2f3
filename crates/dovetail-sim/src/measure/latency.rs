//! Latencies in constant memory.
//!
//! A [histogram](Histogram) whose percentiles exceed a value that occurred in the run by at most 0.1 %. Mean and maximum are
//! exact. It contains only packets that were sent; those that still waited at the end are counted as left.

use dovetail_sched::Nanos;
use dovetail_stats::{Histogram, Quantile};

/// Mean, percentiles and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// The mean, exact, in nanoseconds.
    pub mean_nanos: f64,
    /// Median.
    pub p50: Nanos,
    /// 95th percentile.
    pub p95: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// The maximum, exact.
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
    /// Creates an empty histogram.
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

    /// The percentiles; `None` without packets.
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

    /// Points of the distribution, dense enough for a chart.
    #[must_use]
    pub fn cdf(&self) -> Vec<(Nanos, f64)> {
        let total = self.histogram.count() as f64;
        let mut points: Vec<(Nanos, f64)> = Vec::new();
        for (latency, within) in self.histogram.steps() {
            let share = within as f64 / total;
            // A point every 0.2 %, and every packet in the tail: as much as a chart can show.
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
