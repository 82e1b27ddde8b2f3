//! Waiting times and time in the box of each class over the last seconds.

use dovetail_stats::Quantile;
use serde::Serialize;

use super::sample::quantile_ms;
use crate::{
    live::Status,
    node::{Cause, Waited},
};

/// Activity of the last seconds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Recent {
    over_s: f64,
    classes: Vec<RecentClass>,
}

#[derive(Debug, Clone, Serialize)]
struct RecentClass {
    name: String,
    sent_packets: u64,
    latency_mean_ms: Option<f64>,
    latency_p50_ms: Option<f64>,
    latency_p95_ms: Option<f64>,
    latency_p99_ms: Option<f64>,
    spent: Spent,
}

/// How the time of a class's packets was spent: sums over packets, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Spent {
    /// Own processing, and own time on the link.
    pub(super) on_cpu_s: f64,
    pub(super) on_link_s: f64,
    pub(super) before_cpu: BeforeCpu,
    pub(super) before_link: BeforeLink,
}

/// Waiting for the CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BeforeCpu {
    /// While it worked on packets of each class, in the order of the classes.
    pub(super) behind_s: Vec<f64>,
    /// While it was blocked by a packet without room before the link.
    pub(super) stalled_s: f64,
    /// While the policy chose no packet.
    pub(super) held_s: f64,
    /// While the box was late.
    pub(super) late_s: f64,
}

/// Waiting for the link, after the work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BeforeLink {
    pub(super) behind_s: Vec<f64>,
    pub(super) late_s: f64,
}

impl Spent {
    /// Difference between two statuses, or since the box started.
    pub(super) fn of(class: u16, classes: u16, now: &Waited, was: &Waited) -> Self {
        let seconds = |now: u128, was: u128| now.saturating_sub(was) as f64 / 1e9;
        let before_cpu = |cause| seconds(now.before_cpu(class, cause), was.before_cpu(class, cause));
        let before_link = |cause| seconds(now.before_link(class, cause), was.before_link(class, cause));
        Self {
            on_cpu_s: (now.on_cpu(class) - was.on_cpu(class)).as_secs_f64(),
            on_link_s: (now.on_link(class) - was.on_link(class)).as_secs_f64(),
            before_cpu: BeforeCpu {
                behind_s: (0..classes).map(Cause::Class).map(before_cpu).collect(),
                stalled_s: before_cpu(Cause::Stalled),
                held_s: before_cpu(Cause::Held),
                late_s: before_cpu(Cause::Late),
            },
            before_link: BeforeLink {
                behind_s: (0..classes).map(Cause::Class).map(before_link).collect(),
                late_s: before_link(Cause::Late),
            },
        }
    }
}

impl Recent {
    /// Activity between two statuses with the same classes.
    pub(super) fn between(from: &Status, until: &Status) -> Self {
        let classes = until.classes.len() as u16;
        let class = |at: u16| {
            let index = usize::from(at);
            let latency = until.latencies[index].since(&from.latencies[index]);
            let ((name, now), (_, was)) = (&until.classes[index], &from.classes[index]);
            let sent_packets = now.sent.saturating_sub(was.sent);
            let nanos = now.latency_nanos.saturating_sub(was.latency_nanos);
            RecentClass {
                name: name.to_string(),
                sent_packets,
                latency_mean_ms: (sent_packets > 0).then(|| nanos as f64 / sent_packets as f64 / 1e6),
                latency_p50_ms: quantile_ms(&latency, Quantile::MEDIAN),
                latency_p95_ms: quantile_ms(&latency, Quantile::P95),
                latency_p99_ms: quantile_ms(&latency, Quantile::P99),
                spent: Spent::of(at, classes, &until.waited, &from.waited),
            }
        };
        Self { over_s: (until.at - from.at).as_secs_f64(), classes: (0..classes).map(class).collect() }
    }
}
