//! Limits of a measurement.

use std::time::Duration;

/// Limits of a measurement of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Its duration.
    pub time: Duration,
    /// Bytes of payload, not counting what is in flight at the end.
    pub bytes: u64,
    /// Number of parallel connections.
    pub connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(12), bytes: 64_000_000, connections: 4 }
    }
}
