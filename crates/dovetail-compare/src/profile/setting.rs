//! Conditions of the measurements.

use std::path::PathBuf;

/// Conditions of the measurements, and where output goes.
pub(super) struct Setting {
    pub(super) core: Result<usize, String>,
    pub(super) clock_nanos: u64,
    pub(super) seed: u64,
    pub(super) notes: Vec<String>,
    pub(super) output: Option<PathBuf>,
    pub(super) samples: Option<PathBuf>,
}
