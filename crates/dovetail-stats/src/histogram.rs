//! Quantiles of samples that are too many to keep.

use hdrhistogram::Histogram as Buckets;

use crate::Quantile;

/// Digits that two samples of one bucket have in common.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Whole numbers in buckets as wide as a thousandth of what is in them: a quantile is the upper end of the bucket that holds
/// the nearest rank, and so at most 0.1 % over it.
#[derive(Debug)]
pub struct Histogram {
    buckets: Buckets<u64>,
    count: u64,
}

impl Histogram {
    /// Nothing recorded.
    #[must_use]
    pub fn new() -> Self {
        let buckets = Buckets::new(SIGNIFICANT_DIGITS).expect("3 is in the histogram's range of 0 to 5");
        Self { buckets, count: 0 }
    }

    /// Records a sample.
    #[inline]
    pub fn record(&mut self, sample: u64) {
        self.record_many(sample, 1);
    }

    /// Records `times` samples of one size; beyond as many as can be counted they are left out.
    #[inline]
    pub fn record_many(&mut self, sample: u64, times: u64) {
        let times = times.min(u64::MAX - self.count);
        self.count += times;
        // Fails only beyond what the histogram can be resized to; such a sample counts as the largest it can.
        if self.buckets.record_n(sample, times).is_err() {
            self.buckets.saturating_record_n(sample, times);
        }
    }

    /// The number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A quantile; `None` of nothing.
    #[must_use]
    pub fn quantile(&self, at: Quantile) -> Option<u64> {
        let rank = at.rank(self.count);
        self.steps().find(|&(_, within)| within >= rank).map(|(value, _)| value)
    }

    /// The buckets that hold samples, in order: the upper end, and how many samples are within it.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter_recorded().scan(0u64, |within, step| {
            *within += step.count_at_value();
            Some((step.value_iterated_to(), *within))
        })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}
