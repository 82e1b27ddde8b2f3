//! Recomputes a comparison's figures for a policy from the records that it names.

use std::path::Path;

use serde_json::Value;

use super::{
    near,
    recompute::{self, Row},
    records::{Records, read_records},
};

/// Default width of Jain's windows.
const WINDOW: u64 = 100_000_000;

/// Recomputes makespan, utilisation and throughput, which `compare` and `tune` both state; the makespan in nanoseconds.
pub fn check_carried(stated: &Value, rows: &[Row], resources: &[&str]) -> f64 {
    let makespan = recompute::makespan(rows) as f64;
    near(&stated["makespan_s"], makespan / 1e9, 1e-12, "makespan");
    for (j, resource) in resources.iter().enumerate() {
        near(&stated["utilisation"][resource], recompute::busy(rows, j) as f64 / makespan, 1e-9, resource);
    }
    let bits: f64 = rows.iter().map(|row| f64::from(row.bytes) * 8.0).sum();
    near(&stated["throughput_mbps"], bits * 1e3 / makespan, 1e-9, "throughput");
    makespan
}

/// Recomputes every number of each policy of a `compare --json`, except fairness; returns the records.
pub fn check_figures(policy: &Value, resources: &[&str]) -> Records {
    let name = policy["policy"].as_str().expect("a name");
    let records = read_records(Path::new(policy["records"].as_str().expect("a path")));
    let rows = &records.rows;
    assert_eq!(policy["sent"], rows.len() as u64, "{name}");
    assert_eq!(policy["dropped"], records.dropped, "{name}");
    assert_eq!(policy["left"], records.left, "{name}");
    check_carried(policy, rows, resources);
    let late = recompute::latencies(rows);
    let latency = &policy["latency_us"];
    near(&latency["mean"], late.iter().sum::<u64>() as f64 / late.len() as f64 / 1e3, 1e-9, "mean");
    near(&latency["max"], late[late.len() - 1] as f64 / 1e3, 1e-12, "max");
    for (key, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        near(&latency[key], recompute::quantile(&late, share) as f64 / 1e3, 0.001, key);
    }
    records
}

/// Recomputes the fairness figures, for flows of weight 1 and nothing left in the queues at the end.
pub fn check_fairness(policy: &Value, records: &Records) {
    let fairness = &policy["fairness"];
    match recompute::jain(&records.rows, |_| 1.0, WINDOW) {
        Some(jain) => near(&fairness["jain_dominant"], jain, 1e-9, "Jain"),
        None => assert!(fairness["jain_dominant"].is_null()),
    }
    match recompute::largest_gap(&records.rows, |_| 1.0) {
        // Printed in whole nanoseconds.
        Some(gap) => near(&fairness["max_active_time_gap_us"], gap.round() / 1e3, 1e-9, "gap"),
        None => assert!(fairness["max_active_time_gap_us"].is_null()),
    }
}
