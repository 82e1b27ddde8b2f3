//! What the paper's experiments have in common.

/// As many as the ns-3 figures are over.
pub(super) const SEEDS: u64 = 16;

/// How far a median may be from the ns-3 one before a row says so.
pub(super) const FAR: f64 = 0.15;
