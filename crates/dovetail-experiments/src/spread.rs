//! What many runs have in common.

use dovetail_compare::table::figure;
use dovetail_stats::{Quantile, quantile};

/// The median of some runs' values, and the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of at least one value; values that are none are left out.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let at = |part| quantile(&values, part).unwrap_or(f64::NAN);
        Self { median: at(Quantile::MEDIAN), least: at(Quantile::of(0.0)), most: at(Quantile::MAX) }
    }

    /// `0.53 [0.42..0.61]`, with this many decimals.
    pub(super) fn to_decimals(self, digits: usize) -> String {
        format!("{:.digits$} [{:.digits$}..{:.digits$}]", self.median, self.least, self.most)
    }

    /// `0.530 [0.420..0.610]`, with the digits that matter.
    pub(super) fn text(self) -> String {
        format!("{} [{}..{}]", figure(self.median), figure(self.least), figure(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, least: 1.0, most: 3.0 });
        assert_eq!(Spread::of([4.0, f64::NAN, 1.0]).median, 1.0, "the lower of two");
        assert_eq!(Spread::of([0.42, 0.5, 0.61]).text(), "0.500 [0.420..0.610]");
        assert_eq!(Spread::of([0.42, 0.5, 0.61]).to_decimals(1), "0.5 [0.4..0.6]");
        assert!(Spread::of([]).median.is_nan());
    }
}
