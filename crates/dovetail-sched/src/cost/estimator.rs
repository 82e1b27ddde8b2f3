//! What one program costs on the packets of one flow.

use super::{LeastSquares, Smoothing, least_squares::LONGEST_NANOS};

/// How costs are estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The program's configured line; smoothing where none is configured.
    Line {
        /// Gain of the smoothing.
        gain: f64,
    },
    /// Single exponential smoothing.
    Smoothing {
        /// Its gain, 0 to 1.
        gain: f64,
    },
    /// Least squares; smoothing while all lengths are equal.
    LeastSquares {
        /// Over so many packets.
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

/// A measurement beyond this many times the window's mean is cut to it before it enters a least-squares window: a spike
/// has to fade, and a window forgets only after its length. Smaller than what eight equal packets share of one spike, so a
/// flow in which every eighth packet is dear moves its mean for good.
const WILD: f64 = 8.0;

/// What the packets of a program have shown.
#[derive(Debug, Clone)]
pub struct Estimator {
    smoothing: Smoothing,
    fit: Option<LeastSquares>,
    expansion: Smoothing,
}

impl Estimator {
    /// Nothing measured yet. The expansion factor starts at `expansion`.
    #[must_use]
    pub fn new(method: Method, expansion: f64) -> Self {
        let fit = match method {
            Method::LeastSquares { window, .. } => Some(LeastSquares::new(window)),
            Method::Line { .. } | Method::Smoothing { .. } => None,
        };
        Self { smoothing: Smoothing::new(method.gain()), fit, expansion: Smoothing::seeded(method.gain(), expansion) }
    }

    /// A packet of `bytes` took `nanos`. O(1).
    #[inline]
    pub fn observe(&mut self, bytes: u32, nanos: u64) {
        let nanos = nanos.min(LONGEST_NANOS);
        self.smoothing.observe(nanos as f64);
        if let Some(fit) = &mut self.fit {
            let most = fit.mean_ns().filter(|_| fit.len() as f64 >= WILD).map_or(u64::MAX, |mean| (mean * WILD) as u64);
            fit.observe(bytes, nanos.min(most.max(1)));
        }
    }

    /// A packet came out of processing `ratio` times as long as it went in.
    #[inline]
    pub fn observe_expansion(&mut self, ratio: f64) {
        self.expansion.observe(ratio);
    }

    /// The cost of a packet of `bytes` in nanoseconds, from 0 on; `None` before anything was measured. O(1).
    #[inline]
    #[must_use]
    pub fn estimate(&self, bytes: u32) -> Option<f64> {
        self.fit.as_ref().and_then(|fit| fit.estimate(bytes)).or_else(|| self.smoothing.estimate())
    }

    /// The line that could be written down as a cost, if least squares is kept: nanoseconds for each byte and packet.
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
