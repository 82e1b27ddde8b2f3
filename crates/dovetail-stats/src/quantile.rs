//! Nearest-rank quantiles.

/// A fraction of all samples, in whole billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile {
    billionths: u32,
}

const BILLION: u32 = 1_000_000_000;

impl Quantile {
    /// Half of all.
    pub const MEDIAN: Self = Self { billionths: BILLION / 2 };
    /// 95 of 100.
    pub const P95: Self = Self { billionths: BILLION / 100 * 95 };
    /// 99 of 100.
    pub const P99: Self = Self { billionths: BILLION / 100 * 99 };
    /// All: the largest sample.
    pub const MAX: Self = Self { billionths: BILLION };

    /// The fraction `share`, rounded to the nearest billionth; values below 0 and NaN count as 0, values over 1 as 1.
    #[must_use]
    pub fn of(share: f64) -> Self {
        Self { billionths: (share.clamp(0.0, 1.0) * f64::from(BILLION)).round() as u32 }
    }

    /// The rank, from 1, of this quantile among this many samples; 1 if there are none.
    #[must_use]
    pub const fn rank(self, count: u64) -> u64 {
        let rank = (count as u128 * self.billionths as u128).div_ceil(BILLION as u128) as u64;
        if rank == 0 { 1 } else { rank }
    }
}

/// The quantile of sorted samples; `None` if there are none.
#[must_use]
pub fn quantile<T: Copy>(sorted: &[T], quantile: Quantile) -> Option<T> {
    let rank = quantile.rank(sorted.len() as u64);
    sorted.get(rank as usize - 1).copied()
}

/// The median over repeated runs, in any order, ignoring values that are not finite: the middle one, or halfway between the two
/// in the middle. Runs are few and compared with each other, so that of four neither side is preferred. `None` if there are none.
#[must_use]
pub fn median_of_runs(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

/// The mean; `None` if there are no samples.
#[must_use]
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_by_hand() {
        let ranks = |count: u64| [Quantile::MEDIAN, Quantile::P95, Quantile::P99, Quantile::MAX].map(|q| q.rank(count));
        assert_eq!(ranks(1), [1, 1, 1, 1]);
        assert_eq!(ranks(20), [10, 19, 20, 20]);
        assert_eq!(ranks(100), [50, 95, 99, 100]);
        assert_eq!(ranks(101), [51, 96, 100, 101]);
        assert_eq!(Quantile::of(0.07).rank(100), 7, "0.07 · 100 is over 7 in floating point");
        assert_eq!(Quantile::MAX.rank(u64::MAX), u64::MAX);
        assert_eq!(Quantile::of(0.0).rank(5), 1);
        assert_eq!([f64::NAN, -1.0, 2.0].map(Quantile::of), [Quantile::of(0.0), Quantile::of(0.0), Quantile::MAX]);
    }

    #[test]
    fn of_runs_neither_side_is_preferred() {
        assert_eq!(median_of_runs([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median_of_runs([4.0, f64::NAN, 1.0]), Some(2.5));
        assert_eq!(median_of_runs([]), None);
    }
}
