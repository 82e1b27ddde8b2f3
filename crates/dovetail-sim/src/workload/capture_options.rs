//! How a capture becomes a workload.

use super::ClassSet;

/// How a capture becomes a workload.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// The resources, and what packets cost on them.
    pub classes: ClassSet,
    /// Decides which class a flow gets that matches none, by the classes' shares.
    pub seed: u64,
    /// Times are multiplied by this: 0.5 doubles the load.
    pub time_scale: f64,
    /// How many packets there are, if they were counted.
    pub packets: Option<u64>,
}

impl CaptureOptions {
    /// Times as captured, seed 0.
    #[must_use]
    pub fn new(classes: ClassSet) -> Self {
        Self { classes, seed: 0, time_scale: 1.0, packets: None }
    }
}
