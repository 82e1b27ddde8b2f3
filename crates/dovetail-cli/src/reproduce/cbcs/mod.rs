//! The figures and tables of the CBCS-WFQ report (Sabrina and Jha, *Design and performance analysis of the CBCS^WFQ
//! packet scheduling algorithm*, UNSW-CSE-TR-0306, 2003), and its headline over a grid of settings.
//!
//! | experiment | what |
//! |---|---|
//! | Figs. 2 to 4 | how well both estimators predict costs, measured on this machine ([`estimates`]) |
//! | Table 2 | delay guarantees of two flows, and the delays that they see ([`example`]) |
//! | Table 4 | each flow's share of CPU and link ([`shares`]) |
//! | Figs. 6 to 9 | delays of MPEG flow 1 ([`delays`]) |
//! | Figs. 10 to 13 | utilisation ([`utilisation`]) |
//! | the grid | worst delays under other loads, costs, arrivals and outputs ([`grid`]) |
//!
//! All but the second and the first run the ten flows of Table 3, scenario `cbcs`. Costs are not known beforehand, and
//! estimates are not settled (`settle=no`), as in the report.

mod cell;
mod delays;
mod estimates;
mod example;
mod grid;
mod grid_tables;
mod interval;
mod packets;
mod runs;
mod shares;
mod trips;
mod utilisation;
mod why;

use dovetail_sched::Nanos;

use super::Experiment;
use crate::{failure::Failure, input::builtin_scenario};
use packets::Packets;

const SOURCE: &str = "Sabrina & Jha, UNSW-CSE-TR-0306, 2003";

/// The ten flows of Table 3.
const SCENARIO: &str = "cbcs";

/// The two schedulers that are compared, and what the paper calls them.
const POLICIES: [(&str, &str); 2] = [("cbcs", "CBCS"), ("wfq-split", "WFQ")];

/// Utilisation of CPU and link at 45 s, in percent, by [`POLICIES`].
const PAPER_BUSY: [[f64; 2]; 2] = [[97.1, 97.17], [97.1, 97.39]];

/// How many seeds a mean is over.
const SEEDS: u64 = 20;

/// MPEG flow 1.
const FLOW_1: usize = 0;

pub(crate) const FIG2: Experiment = Experiment {
    name: "cbcs-fig2",
    title: "how well costs are predicted (Figs. 2 to 4)",
    source: SOURCE,
    by_trace: false,
    run: estimates::fig2,
};
pub(crate) const TABLE2: Experiment = Experiment {
    name: "cbcs-table2",
    title: "delay guarantees of two flows",
    source: SOURCE,
    by_trace: false,
    run: example::table2,
};
pub(crate) const TABLE4: Experiment = Experiment {
    name: "cbcs-table4",
    title: "shares of CPU and link",
    source: SOURCE,
    by_trace: false,
    run: shares::table4,
};
pub(crate) const FIG6: Experiment = Experiment {
    name: "cbcs-fig6",
    title: "delays of MPEG flow 1 (Figs. 6 to 9)",
    source: SOURCE,
    by_trace: false,
    run: delays::fig6,
};
pub(crate) const FIG10: Experiment = Experiment {
    name: "cbcs-fig10",
    title: "utilisation over time (Figs. 10 to 13)",
    source: SOURCE,
    by_trace: false,
    run: utilisation::fig10,
};
pub(crate) const GRID: Experiment = Experiment {
    name: "cbcs-grid",
    title: "worst delays over a grid of settings",
    source: SOURCE,
    by_trace: false,
    run: grid::grid,
};

/// A policy on costs that are learnt by `estimator`, as in the paper.
fn unsettled(policy: &str, estimator: &str) -> String {
    format!("{policy}:estimator={estimator},settle=no")
}

/// The paper's flows for 50 s.
fn paper_flows(seed: u64) -> Result<Packets, Failure> {
    let mut scenario = builtin_scenario(SCENARIO)?;
    scenario.seed = seed;
    Packets::of(&mut scenario.workload().map_err(Failure::new)?)
}

/// When the paper looks.
const LOOKED_AT: Nanos = Nanos::from_millis(45_000);
