//! Statistics over many runs.

use dovetail_compare::table::figure;
use dovetail_stats::median_of_runs;

/// The median of several runs' values, and the extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// For at least one value; values that are not finite are ignored.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let Some(median) = median_of_runs(values.iter().copied()) else {
            return Self { median: f64::NAN, least: f64::NAN, most: f64::NAN };
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { median, least, most }
    }

    /// `0.53 [0.42..0.61]`, with this many decimals.
    pub(super) fn to_decimals(self, digits: usize) -> String {
        format!("{:.digits$} [{:.digits$}..{:.digits$}]", self.median, self.least, self.most)
    }

    /// `0.530 [0.420..0.610]`, with the significant digits.
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
        assert_eq!(Spread::of([4.0, f64::NAN, 1.0]).median, 2.5);
        assert_eq!(Spread::of([0.42, 0.5, 0.61]).text(), "0.500 [0.420..0.610]");
        assert_eq!(Spread::of([0.42, 0.5, 0.61]).to_decimals(1), "0.5 [0.4..0.6]");
        assert!(Spread::of([]).median.is_nan());
    }
}
