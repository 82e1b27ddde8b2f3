//! What the paper's experiments have in common.

/// The settings of Table 2.
pub(crate) const ALPHAS: [f64; 7] = [1.0, 0.95, 0.9, 0.85, 0.7, 0.6, 0.5];

/// The modules of the testbed.
pub(crate) const MODULES: [&str; 3] = ["checking", "monitoring", "ipsec"];

/// Tolerance of utilisations, in points.
pub(crate) const POINTS: f64 = 1.5;
