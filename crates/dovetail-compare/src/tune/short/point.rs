//! Results of a setting.

/// A setting and its results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) policy: String,
    pub(super) ratio: f64,
    pub(super) threshold_bytes: u64,
    pub(super) got: Got,
}

/// Results of flows under a policy, all seeds together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Got {
    /// The mean time of short transfers, in seconds.
    pub(super) short_s: f64,
    /// All bits of long flows over all the seconds that they took.
    pub(super) long_mbps: f64,
}
