//! A line through the last packets by least squares (CBCS-WFQ, eqs. 7 and 8).
//!
//! Over the last `n <= window` packets of length `l` and cost `c`:
//!
//! ```text
//! beta = (n·sum(c·l) - sum(c)·sum(l)) / (n·sum(l²) - sum(l)²)      alpha = mean(c) - beta·mean(l)
//! ```
//!
//! The sums are whole numbers, so adding the newest packet and removing the oldest is exact: nothing drifts, and a
//! window that has slid over a billion packets holds what a fresh one would. While all lengths are equal the
//! denominator is 0 and there is no line.
//!
//! The paper's line may slope down: fitted through expensive short packets and cheap long ones, it falls and predicts negative
//! costs for longer ones. An estimate is therefore kept between the two lines through the window's mean that a cost can
//! plausibly follow, the constant one and the one through the origin:
//!
//! ```text
//! mean(c)·min(1, l / mean(l))  <=  estimate(l)  <=  mean(c)·max(1, l / mean(l))
//! ```
//!
//! A fit with `alpha >= 0` and `beta >= 0` lies between them anyway. The left side is a floor that no sender can push its
//! estimate below: a fraction of the mean of what its last packets really cost.

use alloc::vec::Vec;

/// The last packets of a program, and the line through them.
#[derive(Debug, Clone)]
pub struct LeastSquares {
    window: usize,
    // A ring once it is full; `oldest` is replaced next.
    samples: Vec<(u32, u64)>,
    oldest: usize,
    length: i128,
    length_squared: i128,
    cost: i128,
    cost_by_length: i128,
}

/// Measurements are capped at this, some 18 minutes, so that sums over the largest window have products within 127 bits.
pub(super) const MAX_NANOS: u64 = 1 << 40;

impl LeastSquares {
    /// The largest window, in packets.
    pub const MAX_WINDOW: usize = 4096;

    /// A window of the last `window` packets, clamped to 2 to [`MAX_WINDOW`](Self::MAX_WINDOW). Allocates with the first packet.
    #[must_use]
    pub const fn new(window: usize) -> Self {
        let window = if window < 2 {
            2
        } else if window > Self::MAX_WINDOW {
            Self::MAX_WINDOW
        } else {
            window
        };
        Self { window, samples: Vec::new(), oldest: 0, length: 0, length_squared: 0, cost: 0, cost_by_length: 0 }
    }

    /// The number of packets in the window.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether nothing has been measured yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Records that a packet of `bytes` cost `nanos`; replaces the oldest if the window is full. O(1).
    pub fn observe(&mut self, bytes: u32, nanos: u64) {
        let sample = (bytes, nanos.min(MAX_NANOS));
        if self.samples.len() < self.window {
            self.samples.reserve_exact(self.window - self.samples.len());
            self.samples.push(sample);
        } else {
            let gone = core::mem::replace(&mut self.samples[self.oldest], sample);
            self.oldest = if self.oldest + 1 == self.window { 0 } else { self.oldest + 1 };
            self.add(gone, -1);
        }
        self.add(sample, 1);
    }

    fn add(&mut self, (bytes, nanos): (u32, u64), sign: i128) {
        let (length, cost) = (i128::from(bytes), i128::from(nanos));
        self.length += sign * length;
        self.length_squared += sign * length * length;
        self.cost += sign * cost;
        self.cost_by_length += sign * cost * length;
    }

    /// The mean cost in nanoseconds; `None` before the first packet.
    #[inline]
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.cost as f64 / self.len() as f64)
    }

    /// `(beta, alpha)`: nanoseconds per byte and per packet, as eqs. 7 and 8 give them; either may be negative. `None` while
    /// all lengths are equal.
    #[must_use]
    pub fn line(&self) -> Option<(f64, f64)> {
        let n = self.len() as i128;
        let denominator = n * self.length_squared - self.length * self.length;
        if denominator == 0 {
            return None;
        }
        let beta = (n * self.cost_by_length - self.cost * self.length) as f64 / denominator as f64;
        let n = n as f64;
        Some((beta, self.cost as f64 / n - beta * (self.length as f64 / n)))
    }

    /// The cost of a packet of `bytes` in nanoseconds, at least 0; `None` while there is no line.
    #[must_use]
    pub fn estimate(&self, bytes: u32) -> Option<f64> {
        let (beta, alpha) = self.line()?;
        let n = self.len() as f64;
        let (mean, proportional) = (self.cost as f64 / n, self.cost as f64 * f64::from(bytes) / self.length as f64);
        // The lengths differ, so their sum is positive.
        Some((alpha + beta * f64::from(bytes)).clamp(mean.min(proportional), mean.max(proportional)))
    }

    /// The line nearest to [`line`](Self::line) without a negative coefficient, which is a valid [`Cost`](super::Cost). `None`
    /// before the first packet; flat while all lengths are equal.
    #[must_use]
    pub fn plausible_line(&self) -> Option<(f64, f64)> {
        let mean = self.mean_ns()?;
        Some(match self.line() {
            Some((beta, alpha)) if beta >= 0.0 && alpha >= 0.0 => (beta, alpha),
            Some((beta, _)) if beta > 0.0 => (self.cost as f64 / self.length as f64, 0.0),
            _ => (0.0, mean),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// The fit by the textbook's centred sums, in another order of operations: mean first, deviations after.
    fn offline(samples: &[(u32, u64)]) -> Option<(f64, f64)> {
        let n = samples.len() as f64;
        let length = samples.iter().map(|&(l, _)| f64::from(l)).sum::<f64>() / n;
        let cost = samples.iter().map(|&(_, c)| c as f64).sum::<f64>() / n;
        let spread: f64 = samples.iter().map(|&(l, _)| (f64::from(l) - length).powi(2)).sum();
        let joint: f64 = samples.iter().map(|&(l, c)| (f64::from(l) - length) * (c as f64 - cost)).sum();
        let differ = samples.iter().any(|&(l, _)| l != samples[0].0);
        differ.then(|| (joint / spread, cost - joint / spread * length))
    }

    #[test]
    fn the_line_of_table_ii_is_found_again() {
        let mut fit = LeastSquares::new(64);
        for bytes in [64, 1500, 576, 300] {
            fit.observe(bytes, 15 * u64::from(bytes) + 84_500);
        }
        let (beta, alpha) = fit.line().unwrap();
        assert!((beta - 15.0).abs() < 1e-12 && (alpha - 84_500.0).abs() < 1e-8, "{beta} {alpha}");
        assert!((fit.estimate(1000).unwrap() - 99_500.0).abs() < 1e-8);
    }

    #[test]
    fn equal_lengths_have_no_line() {
        let mut fit = LeastSquares::new(8);
        for cost in [10, 20, 30] {
            fit.observe(100, cost);
        }
        assert_eq!((fit.line(), fit.estimate(100), fit.plausible_line()), (None, None, Some((0.0, 20.0))));
    }

    #[test]
    fn a_falling_line_is_not_followed_below_the_mean() {
        let mut fit = LeastSquares::new(8);
        fit.observe(100, 1000);
        fit.observe(1100, 500);
        assert_eq!(fit.line(), Some((-0.5, 1050.0)));
        assert_eq!(fit.estimate(5000), Some(750.0));
        assert_eq!(fit.plausible_line(), Some((0.0, 750.0)));
    }

    proptest! {
        #[test]
        fn a_window_that_slid_holds_what_an_offline_fit_gives(
            window in 2usize..40,
            samples in prop::collection::vec((0u32..70_000, 0u64..1 << 36), 2..300),
        ) {
            let mut fit = LeastSquares::new(window);
            for &(bytes, nanos) in &samples {
                fit.observe(bytes, nanos);
            }
            let kept: Vec<_> = samples.iter().rev().take(window).copied().collect();
            let (Some((beta, alpha)), Some((offline_beta, offline_alpha))) = (fit.line(), offline(&kept)) else {
                prop_assert_eq!(fit.line(), offline(&kept));
                return Ok(());
            };
            // Relative to the largest terms that either side sums.
            let scale = kept.iter().map(|&(_, c)| c as f64).fold(0.0, f64::max).max(beta.abs() * 70_000.0);
            prop_assert!((beta - offline_beta).abs() * 70_000.0 <= 1e-9 * scale, "{} {}", beta, offline_beta);
            prop_assert!((alpha - offline_alpha).abs() <= 1e-9 * scale, "{} {}", alpha, offline_alpha);
        }

        /// What the module's head promises against senders of any kind.
        #[test]
        fn an_estimate_stays_between_the_two_lines(
            samples in prop::collection::vec((any::<u32>(), any::<u64>()), 1..40),
            bytes: u32,
        ) {
            let mut fit = LeastSquares::new(16);
            for &(length, cost) in &samples {
                fit.observe(length, cost);
            }
            let kept: Vec<_> = samples.iter().rev().take(16).collect();
            let n = kept.len() as f64;
            let cost = kept.iter().map(|&&(_, c)| c.min(MAX_NANOS) as f64).sum::<f64>() / n;
            let length = kept.iter().map(|&&(l, _)| f64::from(l)).sum::<f64>() / n;
            if let Some(estimate) = fit.estimate(bytes) {
                let ratio = f64::from(bytes) / length;
                prop_assert!(estimate.is_finite());
                prop_assert!(estimate >= cost * ratio.min(1.0) * (1.0 - 1e-9));
                prop_assert!(estimate <= cost * ratio.max(1.0) * (1.0 + 1e-9));
            }
        }
    }
}
