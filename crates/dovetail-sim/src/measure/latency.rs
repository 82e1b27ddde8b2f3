//! Latencies in constant memory.
//!
//! A high dynamic range histogram with three significant digits: a reported percentile is at most 0.1 % over a value
//! that the run really had. Mean and maximum are exact.

use dovetail_sched::Nanos;
use hdrhistogram::Histogram;

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
    histogram: Histogram<u64>,
    sum_nanos: f64,
    max: Nanos,
}

const SIGNIFICANT_DIGITS: u8 = 3;

impl Latency {
    /// Nothing recorded.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new(SIGNIFICANT_DIGITS).expect("3 is in the histogram's range of 0 to 5");
        Self { histogram, sum_nanos: 0.0, max: Nanos::ZERO }
    }

    /// Records one packet.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        // Fails only beyond what a 64-bit histogram can be resized to; such a latency counts as the longest it can.
        if self.histogram.record(latency.0).is_err() {
            self.histogram.saturating_record(latency.0);
        }
        self.max = self.max.max(latency);
        self.sum_nanos += latency.as_f64();
    }

    /// The percentiles; `None` for no packets.
    #[must_use]
    pub fn percentiles(&self) -> Option<Percentiles> {
        let count = self.histogram.len();
        let at = |quantile| Nanos(self.histogram.value_at_quantile(quantile)).min(self.max);
        (count > 0).then(|| Percentiles {
            mean_nanos: self.sum_nanos / count as f64,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: self.max,
        })
    }

    /// Points of the distribution, fine enough for a chart.
    #[must_use]
    pub fn cdf(&self) -> Vec<(Nanos, f64)> {
        let total = self.histogram.len() as f64;
        let mut points: Vec<(Nanos, f64)> = Vec::new();
        let mut below = 0;
        for step in self.histogram.iter_recorded() {
            below += step.count_at_value();
            let share = below as f64 / total;
            // A point every 0.2 % and in the tail every packet: what a chart can show.
            if points.last().is_none_or(|&(_, last)| share - last >= 0.002 || share > 0.998) {
                points.push((Nanos(step.value_iterated_to()).min(self.max), share));
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
