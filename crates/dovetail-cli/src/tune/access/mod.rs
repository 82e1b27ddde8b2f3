//! `dovetail tune --policy grants`: in which order a gateway serves its users, how fast requests age, and how long the far
//! queue shall be.
//!
//! Every order meets every ageing and every delay, and the same requests over TCP. A setting is judged by what users feel:
//! the mean and the 99th percentile of their waits and the mean wait for long responses, each the median over several seeds.
//! [`choose`] weighs them.

mod choose;
mod grid;
mod page;
mod point;
mod show;

use dovetail_sim::network::Network;

use super::seeds::Asked;
use crate::{
    args::{OutputArgs, TuneArgs},
    failure::Failure,
    output::deliver,
    side_by_side::cores,
};

/// What is tuned here.
pub(super) const ASKED: Asked = Asked {
    policy: "grants",
    over: "a network with [access], such as scenarios/access.toml",
    by: "how long users wait",
};

/// Does it over a network with a gateway.
pub(super) fn tune(args: &TuneArgs, network: Option<Network>) -> Result<(), Failure> {
    let Some(network) = network else {
        let Asked { policy, over, .. } = ASKED;
        return Err(Failure::usage(format!("--policy {policy}: it is tuned over {over}: name one")));
    };
    let policy = ASKED.alone(args)?;
    let OutputArgs { report, jobs, json, .. } = &args.output;
    let points = args.points.map(usize::from);
    let tuning = grid::sweep(&network, policy, points, jobs.map_or_else(cores, usize::from))?;
    let report = report.as_deref();
    deliver(report, *json, || page::page(&tuning), || show::json(&tuning), || show::text(&tuning, report))
}
