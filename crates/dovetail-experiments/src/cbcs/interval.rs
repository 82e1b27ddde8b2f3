//! Inference from a few seeds: means with confidence intervals.
//!
//! For n independent values with mean x̄ and standard deviation s, the true mean lies within x̄ ± t·s/√n in 95 % of cases, t
//! being the 0.975 quantile of Student's distribution with n - 1 degrees of freedom. Ratios are averaged by their logarithms:
//! then twice as long and half as long cancel, and numerator and denominator can be exchanged.

/// An estimated mean, and the interval that contains the true one in 95 % of cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The 0.975 quantiles of Student's distribution for 1 to 19 degrees of freedom.
const STUDENT: [f64; 19] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093,
];

impl Interval {
    /// The mean of at most 20 values. A single value has an unlimited interval.
    pub(super) fn of_mean(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half = match values.len().checked_sub(2).and_then(|at| STUDENT.get(at)) {
            Some(t) => t * (squares / (n - 1.0) / n).sqrt(),
            None => f64::INFINITY,
        };
        Self { mean, low: mean - half, high: mean + half }
    }

    /// The geometric mean of at most 20 positive ratios.
    pub(super) fn of_ratios(ratios: &[f64]) -> Self {
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let Self { mean, low, high } = Self::of_mean(&logarithms);
        Self { mean: mean.exp(), low: low.exp(), high: high.exp() }
    }

    /// Which side of 1 a ratio is on.
    pub(super) fn side(self) -> Side {
        match self {
            Self { low, .. } if low > 1.0 => Side::Above,
            Self { high, .. } if high < 1.0 => Side::Below,
            _ => Side::Undecided,
        }
    }
}

/// Position of an interval relative to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
    Undecided,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9 * want.abs(), "{got} instead of {want}");
    }

    #[test]
    fn a_mean_by_hand() {
        // Deviations -2, -1, 0, 3: squares 14 over 3; 14/3/4 = 7/6; three degrees of freedom.
        let Interval { mean, low, high } = Interval::of_mean(&[1.0, 2.0, 3.0, 6.0]);
        near(mean, 3.0);
        near(high, 3.0 + 3.182 * (7.0f64 / 6.0).sqrt());
        near(low, 3.0 - 3.182 * (7.0f64 / 6.0).sqrt());
    }

    #[test]
    fn ratios_by_hand() {
        // Logarithms 0 and ln 4: mean ln 2, deviation ln 4 / √2, over √2: ln 2.
        let Interval { mean, low, high } = Interval::of_ratios(&[1.0, 4.0]);
        near(mean, 2.0);
        near(high, 2.0 * 2f64.powf(12.706));
        near(low, 2.0 / 2f64.powf(12.706));
        let upside_down = Interval::of_ratios(&[1.0, 0.25]);
        near(upside_down.mean, 0.5);
        near(upside_down.low, 1.0 / high);
    }

    #[test]
    fn a_side_is_taken_only_by_the_whole_interval() {
        let side = |low, high| Interval { mean: 1.0, low, high }.side();
        assert_eq!(side(1.01, 1.5), Side::Above);
        assert_eq!(side(0.5, 0.99), Side::Below);
        assert_eq!(side(0.9, 1.1), Side::Undecided);
        assert_eq!(Interval::of_ratios(&[3.0]).side(), Side::Undecided);
        assert_eq!(Interval::of_ratios(&[1.2; 20]).side(), Side::Above);
    }
}
