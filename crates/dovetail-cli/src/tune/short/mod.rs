//! `dovetail tune --policy drr-sff`: how much to favour short flows.
//!
//! Every ratio meets every threshold, and the same transfers over TCP: how policies treat flows shows only in closed
//! loop, so this takes a network. A setting is judged by two figures, both over several seeds: the mean time of short
//! transfers, and the rate of long flows, all their bits over all the seconds that they took. [`choose`] weighs them.

mod choose;
mod grid;
mod point;
mod show;

use dovetail_sched::PolicySpec;
use dovetail_sim::network::{Kind, Network};

use crate::{
    args::{OutputArgs, TuneArgs},
    failure::Failure,
    network::{adapt, builtin, resolve},
    output::deliver,
    side_by_side::cores,
};

/// The policy that is tuned here.
pub(super) const POLICY: &str = "drr-sff";

/// Does it if the command line asks for this: by the policy, or by a network. False if it asks for something else.
/// `text` is that of the file that it names.
pub(super) fn tune(args: &TuneArgs, text: Option<&str>) -> Result<bool, Failure> {
    let named = resolve(&args.input, text)?;
    let ours = |text: &String| text.parse::<PolicySpec>().is_ok_and(|spec| spec.entry().name == POLICY);
    let asked = args.policies.iter().filter(|text| ours(text)).count();
    if named.is_none() && asked == 0 {
        return Ok(false);
    }
    if asked < args.policies.len() {
        let why = format!("--policy: {POLICY} is tuned over a network, and alone; other policies over packets");
        return Err(Failure::usage(why));
    }
    if args.window.is_some() || args.output.records.is_some() {
        return Err(Failure::usage(format!(
            "--window, --records: {POLICY} is tuned by the times of transfers, not by packets"
        )));
    }
    let policy = match args.policies.as_slice() {
        [] => POLICY,
        [one] => one,
        _ => return Err(Failure::usage(format!("--policy {POLICY} is given twice"))),
    };
    let network = match named {
        Some(network) => network,
        None if args.input.scenario.is_some() || args.input.workload.is_some() || args.input.trace.is_some() => {
            let why = format!("--policy {POLICY}: it is tuned over a network, such as scenarios/drr-sff.toml");
            return Err(Failure::usage(why));
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
    deliver(report, *json, || show::page(&tuning), || show::json(&tuning), || show::text(&tuning, report))?;
    Ok(true)
}

/// There have to be short flows and long ones to weigh.
fn check(network: &Network) -> Result<(), Failure> {
    let transfers = network.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Transfers { .. }));
    if transfers { Ok(()) } else { Err(Failure::new(format!("{}: there are no transfers to favour", network.name))) }
}
