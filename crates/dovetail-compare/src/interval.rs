//! The interval that figures of several samples are in: from the 5th to the 95th percentile, by nearest rank.

use dovetail_stats::{Quantile, quantile};

/// The ends of the interval.
pub(crate) const ENDS: [f64; 2] = [0.05, 0.95];

/// Of these numbers; `None` without any.
pub(crate) fn interval(numbers: &[f64]) -> Option<[f64; 2]> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [low, high] = ENDS.map(|end| quantile(&sorted, Quantile::of(end)));
    Some([low?, high?])
}
