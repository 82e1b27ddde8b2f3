//! What is known of the link, whichever policy knows it.

use dovetail_tower::dispatcher::Totals;
use serde::Serialize;

/// The link at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Link {
    /// What it carries of responses: learnt, where the policy learns, or as configured.
    pub(super) capacity_bytes_per_s: f64,
    /// What is let in now, where the policy paces.
    pub(super) pace_bytes_per_s: Option<f64>,
    /// How long a packet waits at its far end, if that is known.
    pub(super) far_delay_ms: Option<f64>,
}

impl Link {
    pub(super) fn of(totals: &Totals, goodput_bytes_per_s: f64) -> Self {
        let figure = |wanted| totals.figures.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        Self {
            capacity_bytes_per_s: figure("capacity").filter(|&rate| rate > 0.0).unwrap_or(goodput_bytes_per_s),
            pace_bytes_per_s: figure("pace"),
            // Probes are the gateway's; round-trip times only the policy knows of.
            far_delay_ms: totals.far.map(|far| far.delay.as_secs_f64() * 1e3).or(figure("far_delay_ms")),
        }
    }
}
