//! Quantiles of more samples than can be kept.

use std::fmt;

use hdrhistogram::Histogram as Buckets;

use crate::Quantile;

/// Digits that samples in the same bucket share.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The same for histograms of fixed memory.
const FIXED_DIGITS: u8 = 2;

/// A histogram of integers, with buckets a thousandth as wide as their values: a quantile is the upper end of the bucket
/// that holds the nearest rank, and so at most 0.1 % too high.
#[derive(Clone)]
pub struct Histogram {
    buckets: Buckets<u64>,
    count: u64,
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let buckets = Buckets::new(SIGNIFICANT_DIGITS).expect("3 is in the histogram's range of 0 to 5");
        Self { buckets, count: 0 }
    }

    /// An empty histogram of fixed memory, for samples of 1 to `most`; larger ones count as `most`. Buckets are a hundredth
    /// as wide as their values, so that a quantile is at most 1 % too high. Takes 1 kB for each doubling of `most`: 32 kB
    /// for nanoseconds up to 100 s.
    #[must_use]
    pub fn fixed(most: u64) -> Self {
        let buckets =
            Buckets::new_with_bounds(1, most.max(2), FIXED_DIGITS).expect("2 is over 1, and 2 digits in range");
        Self { buckets, count: 0 }
    }

    /// Records a sample.
    #[inline]
    pub fn record(&mut self, sample: u64) {
        self.record_many(sample, 1);
    }

    /// Records `times` samples of the same value; those beyond the maximum count are ignored.
    #[inline]
    pub fn record_many(&mut self, sample: u64, times: u64) {
        let times = times.min(u64::MAX - self.count);
        self.count += times;
        // Fails only beyond the size that the histogram can grow to; such a sample counts as the largest possible one.
        if self.buckets.record_n(sample, times).is_err() {
            self.buckets.saturating_record_n(sample, times);
        }
    }

    /// The number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A quantile; `None` if there are no samples.
    #[must_use]
    pub fn quantile(&self, at: Quantile) -> Option<u64> {
        let rank = at.rank(self.count);
        self.steps().find(|&(_, within)| within >= rank).map(|(value, _)| value)
    }

    /// Number of samples up to `bound`, including those in the same bucket.
    #[must_use]
    pub fn within(&self, bound: u64) -> u64 {
        self.buckets.count_between(0, bound.min(self.buckets.high()))
    }

    /// The samples recorded since an earlier copy; all samples if the earlier one is empty.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut buckets = self.buckets.clone();
        match self.count.checked_sub(earlier.count) {
            Some(count) if buckets.subtract(&earlier.buckets).is_ok() => Self { buckets, count },
            _ => self.clone(),
        }
    }

    /// The non-empty buckets, in order: the upper end, and the number of samples up to it.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter_recorded().scan(0u64, |within, step| {
            *within += step.count_at_value();
            Some((step.value_iterated_to(), *within))
        })
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |quantile| self.quantile(quantile);
        let [median, p99, most] = [Quantile::MEDIAN, Quantile::P99, Quantile::MAX].map(at);
        write!(f, "Histogram of {}: median {median:?}, p99 {p99:?}, most {most:?}", self.count)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 4, 9 … up to 10 s, in nanoseconds.
    fn samples() -> Vec<u64> {
        (1..100_000).map(|root: u64| root * root).collect()
    }

    #[test]
    fn fixed_memory_is_within_a_hundredth() {
        let mut histogram = Histogram::fixed(100_000_000_000);
        let places = histogram.buckets.distinct_values();
        samples().into_iter().for_each(|sample| histogram.record(sample));
        for at in [Quantile::MEDIAN, Quantile::P95, Quantile::P99] {
            let exact = samples()[at.rank(histogram.count()) as usize - 1];
            let told = histogram.quantile(at).expect("there are samples");
            assert!(told >= exact && told <= exact + exact / 100, "{told} for {exact}");
        }
        histogram.record(u64::MAX);
        assert_eq!(histogram.buckets.distinct_values(), places, "nothing was allocated");
        let most = histogram.quantile(Quantile::MAX).expect("there are samples");
        assert!((100_000_000_000..102_000_000_000).contains(&most), "{most}");
        assert!(places * 8 < 33_000, "{places} places");
    }

    #[test]
    fn differences_are_what_came_since() {
        let mut histogram = Histogram::fixed(1_000_000);
        [5, 50, 500].into_iter().for_each(|sample| histogram.record(sample));
        let earlier = histogram.clone();
        [7, 700_000].into_iter().for_each(|sample| histogram.record(sample));
        let since = histogram.since(&earlier);
        assert_eq!((since.count(), since.quantile(Quantile::MEDIAN)), (2, Some(7)));
        assert_eq!((since.within(6), since.within(7), since.within(u64::MAX)), (0, 1, 2));
        let other = Histogram::fixed(1_000_000);
        assert_eq!(other.since(&histogram).count(), 0, "it began anew");
        assert_eq!(histogram.since(&other).count(), 5);
    }
}
