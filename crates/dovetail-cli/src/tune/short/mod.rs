//! `dovetail tune --policy drr-sff`: how much to favour short flows.
//!
//! Every ratio meets every threshold, and the same transfers over TCP: how policies treat flows shows only in closed
//! loop, so this takes a network. A setting is judged by two figures, both over several seeds: the mean time of short
//! transfers, and the rate of long flows, all their bits over all the seconds that they took. [`choose`] weighs them.

mod choose;
mod grid;
mod point;
mod show;

use dovetail_sim::network::{Kind, Network};

use super::seeds::Asked;
use crate::{
    args::{OutputArgs, TuneArgs},
    failure::Failure,
    network::{adapt, builtin},
    output::deliver,
    side_by_side::cores,
};

/// What is tuned here.
pub(super) const ASKED: Asked = Asked {
    policy: "drr-sff",
    over: "a network of transfers, such as scenarios/drr-sff.toml",
    by: "the times of transfers",
};

/// Does it, over the network that the command line names or else the one that comes with the command.
pub(super) fn tune(args: &TuneArgs, named: Option<Network>) -> Result<(), Failure> {
    let policy = ASKED.alone(args)?;
    let network = match named {
        Some(network) => network,
        None if args.input.scenario.is_some() || args.input.workload.is_some() || args.input.trace.is_some() => {
            return Err(Failure::usage(format!("--policy {policy}: it is tuned over {}", ASKED.over)));
        }
        None => {
            let mut network = builtin("drr-sff")?;
            adapt(&mut network, &args.input)?;
            network
        }
    };
    check(&network)?;
    let OutputArgs { report, jobs, json, .. } = &args.output;
    let points = args.points.map(usize::from);
    let tuning = grid::sweep(&network, policy, points, jobs.map_or_else(cores, usize::from))?;
    let report = report.as_deref();
    deliver(report, *json, || show::page(&tuning), || show::json(&tuning), || show::text(&tuning, report))
}

/// There have to be short flows and long ones to weigh.
fn check(network: &Network) -> Result<(), Failure> {
    let transfers = network.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Transfers { .. }));
    if transfers { Ok(()) } else { Err(Failure::new(format!("{}: there are no transfers to favour", network.name))) }
}
