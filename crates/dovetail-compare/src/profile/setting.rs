//! How functions were measured.

use std::path::PathBuf;

/// How it was measured, and where it goes.
pub(super) struct Setting {
    pub(super) core: Result<usize, String>,
    pub(super) clock_nanos: u64,
    pub(super) seed: u64,
    pub(super) notes: Vec<String>,
    pub(super) output: Option<PathBuf>,
    pub(super) samples: Option<PathBuf>,
}
