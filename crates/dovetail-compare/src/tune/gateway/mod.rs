//! Tunes the order in which a gateway serves its users, how fast requests age, and the target delay of the far queue.
//!
//! All combinations of order, ageing and delay are run with the same requests over TCP. A setting is judged by what users
//! experience: the mean and the 99th percentile of their waits and the mean wait for long responses, each the median over
//! several seeds. [`choose`] weighs them.

mod choose;
mod grid;
mod page;
mod point;
mod show;

use std::io::Write;

use super::seeds::Asked;
use crate::{
    error::{Error, Misuse},
    files::Files,
    network,
    options::{OutputOptions, TuneOptions},
    output::deliver,
    progress::Progress,
    side_by_side::cores,
};

/// What is tuned here.
pub(super) const ASKED: Asked = Asked {
    policy: "grants",
    over: "a network with [access], such as scenarios/access.toml",
    by: "how long users wait",
};

/// Tunes over a network with a gateway. `text` is the scenario's.
pub(super) fn tune(
    options: &TuneOptions,
    asked: Option<network::Asked>,
    text: Option<&str>,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Some(asked) = asked else {
        let Asked { policy, over, .. } = ASKED;
        return Err(Misuse::policy(policy, format!("it is tuned over {over}: name one")).into());
    };
    let policy = ASKED.alone(options)?;
    let OutputOptions { report, jobs, json, .. } = &options.output;
    let points = options.points.map(usize::from);
    let report = Files::of(&options.input, text).writes("report", report.as_deref())?;
    let tuning = grid::sweep(&asked, policy, points, jobs.map_or_else(cores, usize::from), progress)?;
    deliver(out, report, *json, || page::page(&tuning), || show::json(&tuning), |report| show::text(&tuning, report))
}
