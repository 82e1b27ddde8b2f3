//! Repeated measurements.

use dovetail_stats::median_of_runs;
use serde::{Deserialize, Serialize};

/// The median of some repetitions and their extremes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub repetitions: usize,
}

impl Spread {
    /// `None` without measurements.
    pub fn of(measurements: &[f64]) -> Option<Self> {
        let median = median_of_runs(measurements.iter().copied())?;
        let min = measurements.iter().copied().fold(f64::INFINITY, f64::min);
        let max = measurements.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { median, min, max, repetitions: measurements.len() })
    }

    /// The spread of `ours[r] / theirs[r]`, round by round, so that a slow moment of the machine affects both.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        Self::of(&ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let odd = Spread::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max, odd.repetitions), (2.0, 1.0, 3.0, 3));
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
        assert!(Spread::of(&[]).is_none());
        assert_eq!(Spread::of_ratios(&[10.0, 30.0], &[1.0, 2.0]).unwrap().max, 15.0);
    }
}
