//! The state of the link, from whichever policy is in use.

use dovetail_tower::dispatcher::Totals;
use serde::Serialize;

/// The link at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Link {
    /// The rate at which it carries responses: as learnt, if the policy learns it, or as configured.
    pub(super) capacity_bytes_per_s: f64,
    /// The rate at which responses are let in, if the policy paces them.
    pub(super) pace_bytes_per_s: Option<f64>,
    /// How long packets are queued at its far end, if known.
    pub(super) far_delay_ms: Option<f64>,
}

impl Link {
    pub(super) fn of(totals: &Totals, goodput_bytes_per_s: f64) -> Self {
        let figure = |wanted| totals.figures.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        Self {
            capacity_bytes_per_s: figure("capacity").filter(|&rate| rate > 0.0).unwrap_or(goodput_bytes_per_s),
            pace_bytes_per_s: figure("pace"),
            // The gateway measures probes; only the policy knows round-trip times.
            far_delay_ms: totals.far.map(|far| far.delay.as_secs_f64() * 1e3).or(figure("far_delay_ms")),
        }
    }
}
