//! The state of the link: the downlink from whichever policy is in use, and the uplink.

use dovetail_tower::dispatcher::Totals;
use serde::Serialize;

use super::seen::Seen;

/// The downlink at a moment.
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

/// The uplink at a moment.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Up {
    /// Its capacity for uploads, as learnt or as configured, if its rate is configured: uploads are paced.
    pub(super) goodput_bytes_per_s: Option<f64>,
    /// Whether so much is sent that the far queue's delay may be the uplink's.
    pub(super) is_busy: bool,
    /// What was sent since the start.
    pub(super) sent_bytes: u64,
}

impl Up {
    pub(super) fn of(seen: &Seen) -> Self {
        let uplink = seen.link.uplink();
        Self { goodput_bytes_per_s: uplink.capacity(), is_busy: uplink.is_busy(), sent_bytes: uplink.sent_bytes() }
    }
}
