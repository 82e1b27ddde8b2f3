//! The cost of one program on the packets of one flow.

use super::{LeastSquares, Smoothing, least_squares::MAX_NANOS};

/// How costs are estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The program's configured line; smoothing if none is configured.
    Line {
        /// Gain of the smoothing.
        gain: f64,
    },
    /// Single exponential smoothing.
    Smoothing {
        /// The gain, 0 to 1.
        gain: f64,
    },
    /// Least squares; smoothing while all lengths are equal.
    LeastSquares {
        /// The window, in packets.
        window: usize,
        /// Gain of the smoothing.
        gain: f64,
    },
}

impl Method {
    const fn gain(self) -> f64 {
        match self {
            Self::Line { gain } | Self::Smoothing { gain } | Self::LeastSquares { gain, .. } => gain,
        }
    }
}

/// A measurement that exceeds the mean of a least-squares window by more than this factor is cut to it before it enters the
/// window: a spike has to fade, and a window forgets only after its length. If more than one packet in eight is costly, the cut
/// ones raise the mean enough for the next to be cut higher, so the mean follows.
const WILD: f64 = 8.0;

/// Estimates a program's cost from its past packets.
#[derive(Debug, Clone)]
pub struct Estimator {
    smoothing: Smoothing,
    fit: Option<LeastSquares>,
    expansion: Smoothing,
}

impl Estimator {
    /// Creates an estimator without measurements. The expansion factor starts at `expansion`.
    #[must_use]
    pub fn new(method: Method, expansion: f64) -> Self {
        let fit = match method {
            Method::LeastSquares { window, .. } => Some(LeastSquares::new(window)),
            Method::Line { .. } | Method::Smoothing { .. } => None,
        };
        Self { smoothing: Smoothing::new(method.gain()), fit, expansion: Smoothing::seeded(method.gain(), expansion) }
    }

    /// Records that a packet of `bytes` took `nanos`. O(1).
    #[inline]
    pub fn observe(&mut self, bytes: u32, nanos: u64) {
        let nanos = nanos.min(MAX_NANOS);
        self.smoothing.observe(nanos as f64);
        if let Some(fit) = &mut self.fit {
            let most = fit.mean_ns().filter(|_| fit.len() as f64 >= WILD).map_or(u64::MAX, |mean| (mean * WILD) as u64);
            fit.observe(bytes, nanos.min(most.max(1)));
        }
    }

    /// Records that a packet's length after processing was `ratio` times its length before.
    #[inline]
    pub fn observe_expansion(&mut self, ratio: f64) {
        self.expansion.observe(ratio);
    }

    /// The cost of a packet of `bytes` in nanoseconds, never negative; `None` before the first measurement. O(1).
    #[inline]
    #[must_use]
    pub fn estimate(&self, bytes: u32) -> Option<f64> {
        self.fit.as_ref().and_then(|fit| fit.estimate(bytes)).or_else(|| self.smoothing.estimate())
    }

    /// The line to report as the program's cost, if least squares is kept: nanoseconds per byte and per packet.
    #[must_use]
    pub(super) fn plausible_line(&self) -> Option<(f64, f64)> {
        self.fit.as_ref()?.plausible_line()
    }

    /// Length after processing over length before.
    #[inline]
    #[must_use]
    pub fn expansion(&self) -> f64 {
        self.expansion.estimate().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLSR: Method = Method::LeastSquares { window: 64, gain: 0.5 };

    /// Ten nanoseconds per byte.
    fn steady(packets: u32) -> Estimator {
        let mut estimator = Estimator::new(LLSR, 1.0);
        for packet in 0..packets {
            let bytes = 100 + packet % 7 * 100;
            estimator.observe(bytes, u64::from(bytes) * 10);
        }
        estimator
    }

    #[test]
    fn a_wild_outlier_moves_a_window_little_and_leaves_it_in_the_end() {
        let mut estimator = steady(64);
        assert!((estimator.estimate(400).unwrap() - 4000.0).abs() < 1.0);
        estimator.observe(400, 1_000_000_000);
        // Cut to eight times the mean of 4,000, it adds 28,000 to a window of 64: 438 at its own length.
        let shaken = estimator.estimate(400).unwrap();
        assert!((4300.0..4500.0).contains(&shaken), "{shaken}");
        for _ in 0..64 {
            estimator.observe(400, 4000);
            estimator.observe(500, 5000);
        }
        assert!((estimator.estimate(400).unwrap() - 4000.0).abs() < 1.0);
    }

    /// Every fifth packet a hundred times as costly is not an outlier: the mean follows.
    #[test]
    fn costly_packets_that_come_again_and_again_are_believed() {
        let mut estimator = steady(64);
        for packet in 0..4096 {
            let bytes = 100 + packet % 7 * 100;
            estimator.observe(bytes, u64::from(bytes) * if packet % 5 == 0 { 1000 } else { 10 });
        }
        // The true mean is 0.2 · 400,000 + 0.8 · 4,000 = 83,200 at the mean length.
        let believed = estimator.estimate(400).unwrap();
        assert!((75_000.0..90_000.0).contains(&believed), "{believed}");
    }

    #[test]
    fn without_a_line_smoothing_answers() {
        let mut estimator = Estimator::new(LLSR, 1.0);
        assert_eq!(estimator.estimate(100), None);
        estimator.observe(100, 8000);
        estimator.observe(100, 4000);
        assert_eq!(estimator.estimate(700), Some(6000.0));
        assert_eq!(Estimator::new(LLSR, 0.25).expansion(), 0.25);
    }
}
