//! How long and how much.

use std::time::Duration;

/// What a measurement of one direction may take, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Its time.
    pub time: Duration,
    /// Bytes of payload; what is in flight at the end comes on top.
    pub bytes: u64,
    /// Connections at once.
    pub connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(12), bytes: 64_000_000, connections: 4 }
    }
}
