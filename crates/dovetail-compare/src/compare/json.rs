//! What every comparison reports about a policy's run in JSON.

use dovetail_sched::Nanos;
use dovetail_sim::measure::Percentiles;
use serde::Serialize;
use serde_json::Value;

use crate::run::PolicyRun;

/// A run.
#[derive(Serialize)]
pub(super) struct PolicyJson {
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<String>,
    sent: u64,
    dropped: u64,
    /// Packets that still waited when a network stopped.
    left: u64,
    makespan_s: f64,
    utilisation: serde_json::Map<String, serde_json::Value>,
    throughput_mbps: f64,
    fairness: FairnessJson,
    latency_us: Option<LatencyJson>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    counters: serde_json::Map<String, serde_json::Value>,
    wall_s: f64,
}

#[derive(Serialize)]
struct FairnessJson {
    jain_dominant: Option<f64>,
    max_active_time_gap_us: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct LatencyJson {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl From<Percentiles> for LatencyJson {
    fn from(latency: Percentiles) -> Self {
        Self {
            mean: latency.mean_nanos / 1e3,
            p50: latency.p50.as_micros_f64(),
            p95: latency.p95.as_micros_f64(),
            p99: latency.p99.as_micros_f64(),
            max: latency.max.as_micros_f64(),
        }
    }
}

/// Documents of several runs, for looking up figures.
pub(super) fn documents(runs: &[PolicyRun], resources: &[String]) -> Result<Vec<Value>, serde_json::Error> {
    runs.iter().map(|run| serde_json::to_value(PolicyJson::of(run, resources))).collect()
}

impl PolicyJson {
    pub(super) fn of(run: &PolicyRun, resources: &[String]) -> Self {
        Self {
            policy: run.policy.clone(),
            records: run.records.as_ref().map(|path| path.display().to_string()),
            sent: run.outcome.sent,
            dropped: run.outcome.dropped,
            left: run.outcome.left,
            makespan_s: run.summary.makespan.as_secs_f64(),
            utilisation: resources
                .iter()
                .zip(&run.summary.utilisation)
                .map(|(name, &share)| (name.clone(), share.into()))
                .collect(),
            throughput_mbps: run.summary.throughput_mbps,
            fairness: FairnessJson {
                jain_dominant: run.summary.jain_dominant,
                max_active_time_gap_us: run.summary.max_active_time_gap.map(Nanos::as_micros_f64),
            },
            latency_us: run.summary.latency.map(LatencyJson::from),
            counters: run.counters.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect(),
            wall_s: run.wall.as_secs_f64(),
        }
    }
}
