//! The settings of the grid, and what is compared over it.

use super::{
    cell::{Arriving, Costs, Output},
    runs::{RunDelays, worst_of_all, worst_of_flow_1},
};

/// Loads of CPU and link, in percent.
pub(super) const LOADS: [u8; 3] = [90, 97, 99];
/// Costs of packets on the CPU.
pub(super) const COSTS: [Costs; 4] = [Costs::Exact, Costs::Spread(10), Costs::Spread(40), Costs::Spikes];
/// How packets arrive.
pub(super) const ARRIVING: [Arriving; 3] = [Arriving::Constant, Arriving::Poisson, Arriving::Bursts];
/// Length of the encoder's output relative to its input.
pub(super) const OUTPUTS: [Output; 2] = [Output::Encoded, Output::Unchanged];

/// Estimates as in the paper.
pub(super) const AS_IN_THE_PAPER: &str = "estimator=ses,settle=no";

/// What is compared, the ratio claimed by the paper, and the threshold of a claim of being no worse.
pub(super) struct Measure {
    pub(super) what: &'static str,
    pub(super) of: fn(&RunDelays) -> f64,
    pub(super) paper: Option<f64>,
    pub(super) least: f64,
}

pub(super) const MEASURES: [Measure; 2] = [
    Measure {
        what: "worst delay of MPEG flow 1",
        of: worst_of_flow_1,
        paper: Some(0.6693 / 0.3649),
        least: 0.6693 / 0.3649,
    },
    Measure { what: "worst delay of any flow", of: worst_of_all, paper: None, least: 1.0 },
];
