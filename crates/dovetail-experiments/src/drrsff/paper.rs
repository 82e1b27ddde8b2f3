//! What the paper's experiments have in common.

/// Number of seeds, the same as for the ns-3 figures.
pub(super) const SEEDS: u64 = 16;

/// By how much a median may differ from the ns-3 one before a row reports it.
pub(super) const FAR: f64 = 0.15;
