//! Tunes how much to favour short flows.
//!
//! All combinations of ratio and threshold are run with the same transfers over TCP: how policies treat flows shows only in
//! closed loop, so this requires a network. A setting is judged by two figures, both over several seeds: the mean time of
//! short transfers, and the rate of long flows, which is all their bits over all the seconds that they took. [`choose`]
//! weighs them.

mod choose;
mod grid;
mod point;
mod show;

use std::io::Write;

use dovetail_sim::network::{Kind, Network};

use super::seeds::Asked;
use crate::{
    error::{Error, Misuse},
    files::Files,
    network::{self, resolve_builtin},
    options::{OutputOptions, TuneOptions},
    output::deliver,
    progress::Progress,
    side_by_side::cores,
};

/// What is tuned here.
pub(super) const ASKED: Asked = Asked {
    policy: "drr-sff",
    over: "a network of transfers, such as scenarios/drr-sff.toml",
    by: "the times of transfers",
};

/// Tunes over the given network or else the built-in one. `text` is the scenario's.
pub(super) fn tune(
    options: &TuneOptions,
    named: Option<network::Asked>,
    text: Option<&str>,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let policy = ASKED.alone(options)?;
    let asked = match named {
        Some(asked) => asked,
        None if options.input.scenario.is_some()
            || options.input.workload.is_some()
            || options.input.trace.is_some() =>
        {
            return Err(Misuse::policy(policy, format!("it is tuned over {}", ASKED.over)).into());
        }
        None => resolve_builtin("drr-sff", &options.input)?,
    };
    check(&asked.network)?;
    let OutputOptions { report, jobs, json, .. } = &options.output;
    let points = options.points.map(usize::from);
    let report = Files::of(&options.input, text).writes("report", report.as_deref())?;
    let tuning = grid::sweep(&asked, policy, points, jobs.map_or_else(cores, usize::from), progress)?;
    deliver(out, report, *json, || show::page(&tuning), || show::json(&tuning), |report| show::text(&tuning, report))
}

/// There must be both short and long flows to weigh.
fn check(network: &Network) -> Result<(), Error> {
    let transfers = network.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Transfers { .. }));
    if transfers {
        Ok(())
    } else {
        Err(Error::NothingToWeigh(format!("{}: there are no transfers to favour", network.name)))
    }
}
