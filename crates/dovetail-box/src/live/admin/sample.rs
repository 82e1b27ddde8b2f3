//! One second of the box: utilisation of CPU and link, and each class's share.

use dovetail_sched::Nanos;
use dovetail_stats::{Histogram, Quantile};
use serde::Serialize;

use crate::live::{ClassCounters, Status};

/// The second that ended with a status.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Sample {
    /// Number of samples before this one since the port was opened.
    number: u64,
    /// Seconds since the box started.
    at_s: f64,
    /// Fractions of the time, 0 to 1.
    cpu_utilisation: f64,
    cpu_blocked: f64,
    link_utilisation: f64,
    late: f64,
    queued_packets: u64,
    /// Per class, like everything below: fractions of the time.
    cpu: Vec<f64>,
    link: Vec<f64>,
    sent_packets_per_s: Vec<f64>,
    sent_bytes_per_s: Vec<f64>,
    dropped_packets_per_s: Vec<f64>,
    /// `None` for a class without packets.
    latency_p50_ms: Vec<Option<f64>>,
    latency_p95_ms: Vec<Option<f64>>,
    latency_p99_ms: Vec<Option<f64>>,
}

impl Sample {
    /// Activity between two statuses with the same classes.
    pub(super) fn between(number: u64, from: &Status, until: &Status) -> Self {
        let nanos = (until.at - from.at).as_f64();
        let part = |now: Nanos, was: Nanos| (now - was).as_f64() / nanos;
        // Relative to the time of all workers.
        let workers = until.workers.len().max(1) as f64;
        let of_cpu = |now: Nanos, was: Nanos| part(now, was) / workers;
        let rate = |now: u64, was: u64| now.saturating_sub(was) as f64 / nanos * 1e9;
        let (now, was) = (&until.figures, &from.figures);
        let numbers = 0..until.classes.len() as u16;
        let counters = |count: fn(&ClassCounters) -> u64| -> Vec<f64> {
            let both = until.classes.iter().zip(&from.classes);
            both.map(|(now, was)| rate(count(&now.1), count(&was.1))).collect()
        };
        let latencies: Vec<_> = until.latencies.iter().zip(&from.latencies).map(|(now, was)| now.since(was)).collect();
        let quantile = |at| latencies.iter().map(|latency| quantile_ms(latency, at)).collect();
        Self {
            number,
            at_s: (until.at - until.started).as_secs_f64(),
            cpu_utilisation: of_cpu(now.cpu_busy, was.cpu_busy),
            cpu_blocked: of_cpu(now.cpu_blocked, was.cpu_blocked),
            link_utilisation: part(now.link_busy, was.link_busy),
            late: part(now.late, was.late),
            queued_packets: until.backlog.packets,
            cpu: numbers.clone().map(|class| of_cpu(until.waited.on_cpu(class), from.waited.on_cpu(class))).collect(),
            link: numbers.map(|class| part(until.waited.on_link(class), from.waited.on_link(class))).collect(),
            sent_packets_per_s: counters(|class| class.sent),
            sent_bytes_per_s: counters(|class| class.sent_bytes),
            dropped_packets_per_s: counters(ClassCounters::dropped),
            latency_p50_ms: quantile(Quantile::MEDIAN),
            latency_p95_ms: quantile(Quantile::P95),
            latency_p99_ms: quantile(Quantile::P99),
        }
    }
}

impl Sample {
    /// Fractions of the CPU's time, by class.
    pub(super) fn cpu(&self) -> &[f64] {
        &self.cpu
    }

    /// Fractions of the link's time, by class.
    pub(super) fn link(&self) -> &[f64] {
        &self.link
    }
}

/// A quantile of nanoseconds, in milliseconds.
pub(super) fn quantile_ms(latency: &Histogram, at: Quantile) -> Option<f64> {
    latency.quantile(at).map(|nanos| nanos as f64 / 1e6)
}
