//! Single exponential smoothing (CBCS-WFQ, eq. 5): `F' = g·X + (1 - g)·F`.
//!
//! The errors always sum up to almost nothing: `sum (X - F) = (F_end - F_start) / g`, so a flow whose packets are measured
//! before the next is estimated pays for all but `1/g` packets of what it takes, however it alternates. And an estimate never
//! falls below what remains of the last expensive packet: a cost `X` that lies `k` packets back keeps it at `g·(1 - g)^k·X` or
//! more. An outlier fades at the same pace.

/// A smoothed cost in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothing {
    gain: f64,
    // Negative before the first measurement.
    forecast: f64,
}

impl Smoothing {
    /// The gain of the paper's experiments (section 3.3.3).
    pub const PAPER_GAIN: f64 = 0.5;

    /// No measurements yet; `gain` is clamped to the range of eq. 5, 0 to 1.
    #[must_use]
    pub const fn new(gain: f64) -> Self {
        Self { gain: if gain >= 0.0 { gain.min(1.0) } else { 0.0 }, forecast: -1.0 }
    }

    /// Starts at `seed` nanoseconds, as if the first packet had cost that.
    #[must_use]
    pub const fn seeded(gain: f64, seed: f64) -> Self {
        Self { forecast: seed, ..Self::new(gain) }
    }

    /// Records a measured cost of `nanos`, finite and not negative.
    #[inline]
    pub fn observe(&mut self, nanos: f64) {
        self.forecast = if self.forecast < 0.0 { nanos } else { self.gain * nanos + (1.0 - self.gain) * self.forecast };
    }

    /// The next packet's estimated cost in nanoseconds; `None` before the first measurement.
    #[inline]
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        (self.forecast >= 0.0).then_some(self.forecast)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equation_5_by_hand() {
        let mut smoothing = Smoothing::new(0.5);
        assert_eq!(smoothing.estimate(), None);
        let estimates: std::vec::Vec<_> = [8.0, 4.0, 4.0, 20.0]
            .iter()
            .map(|&cost| {
                smoothing.observe(cost);
                smoothing.estimate()
            })
            .collect();
        assert_eq!(estimates, [Some(8.0), Some(6.0), Some(5.0), Some(12.5)]);
        let mut seeded = Smoothing::seeded(0.25, 100.0);
        seeded.observe(200.0);
        assert_eq!(seeded.estimate(), Some(125.0));
    }

    proptest! {
        /// The two claims of the module's head.
        #[test]
        fn errors_cancel_and_costly_packets_are_remembered(
            gain in 0.01..=1.0,
            costs in prop::collection::vec(0.0..1e9, 1..200),
        ) {
            let mut smoothing = Smoothing::seeded(gain, costs[0]);
            let mut errors = 0.0;
            for (at, &cost) in costs.iter().enumerate() {
                let estimate = smoothing.estimate().unwrap();
                errors += cost - estimate;
                for (back, &costly) in costs[..at].iter().rev().enumerate() {
                    let floor = gain * f64::powi(1.0 - gain, back as i32) * costly;
                    prop_assert!(estimate >= floor * (1.0 - 1e-9), "{estimate} < {floor}, {back} packets back");
                }
                smoothing.observe(cost);
            }
            let promised = (smoothing.estimate().unwrap() - costs[0]) / gain;
            prop_assert!((errors - promised).abs() <= 1e-6 * 1e9 * costs.len() as f64 / gain);
        }
    }
}
