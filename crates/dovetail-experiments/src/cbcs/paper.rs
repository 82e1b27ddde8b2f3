//! What the report's experiments have in common.

use dovetail_compare::input::builtin_scenario;
use dovetail_sched::Nanos;

use super::packets::Packets;
use crate::error::Error;

/// The ten flows of Table 3.
pub(super) const SCENARIO: &str = "cbcs";

/// The two schedulers compared, and their names in the paper.
pub(super) const POLICIES: [(&str, &str); 2] = [("cbcs", "CBCS"), ("wfq-split", "WFQ")];

/// Utilisation of CPU and link at 45 s, in percent, by [`POLICIES`].
pub(super) const PAPER_BUSY: [[f64; 2]; 2] = [[97.1, 97.17], [97.1, 97.39]];

/// Number of seeds that means are over.
pub(super) const SEEDS: u64 = 20;

/// MPEG flow 1.
pub(super) const FLOW_1: usize = 0;

/// A policy with costs estimated by `estimator`, as in the paper.
pub(super) fn unsettled(policy: &str, estimator: &str) -> String {
    format!("{policy}:estimator={estimator},settle=no")
}

/// The paper's flows for 50 s.
pub(super) fn paper_flows(seed: u64) -> Result<Packets, Error> {
    let mut scenario = builtin_scenario(SCENARIO)?;
    scenario.seed = seed;
    Packets::of(&mut scenario.workload().map_err(Error::broken)?)
}

/// When the paper samples.
pub(super) const SAMPLED_AT: Nanos = Nanos::from_millis(45_000);
