//! Options for reading a capture as a workload.

use super::ClassSet;

/// Options for reading a capture as a workload.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// The resources, and the costs of packets on them.
    pub classes: ClassSet,
    /// Seed for assigning classes to flows that match none, by the classes' shares.
    pub seed: u64,
    /// Times are multiplied by this: 0.5 doubles the load.
    pub time_scale: f64,
    /// The number of packets, if they were counted.
    pub packets: Option<u64>,
}

impl CaptureOptions {
    /// Times as captured, seed 0.
    #[must_use]
    pub fn new(classes: ClassSet) -> Self {
        Self { classes, seed: 0, time_scale: 1.0, packets: None }
    }
}
