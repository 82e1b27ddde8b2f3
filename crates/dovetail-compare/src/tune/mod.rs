//! Recommends the value of a fairness knob, with reasons.
//!
//! All values of the knob see the same traffic. The gain is how much less time the same work takes; the price is the loss of
//! the worst flow's share of its fair dominant share ([`dovetail_sim::measure::share`]). The recommended value is the last
//! step of that curve that gains enough for its price, its [`knee`], by the same rule for every knob; a setting that gains
//! more is offered as an alternative, with its price. How much to favour short flows is weighed differently, in [`short`],
//! and so is how a gateway schedules its users' requests, in [`gateway`].

mod advice;
mod curve;
mod draw;
mod gateway;
mod knee;
mod knob;
mod page;
mod samples;
mod seeds;
mod short;
mod show;
mod window;

use std::{io::Write, mem, path::Path};

use crate::{
    error::{Error, Misuse},
    files::Files,
    input::{Input, UnnamedLink, scenario_text},
    network::resolve,
    options::{OutputOptions, TuneOptions},
    output::deliver,
    progress::Progress,
    run::Plan,
    sampling::are_asked_for,
};
use draw::{draw, window_for};
use knob::sweeps;
use show::Tuning;
use window::MAX_WINDOW;

/// Recommends the value of a policy's knob, and writes it with reasons to `out`.
///
/// # Errors
/// [`Error::Misuse`] if the options are inconsistent; others if a file is invalid or a run fails.
pub fn tune(options: &TuneOptions, progress: &dyn Progress, out: &mut dyn Write) -> Result<(), Error> {
    let text = scenario_text(&options.input)?;
    let asked = resolve(&options.input, text.as_deref())?;
    let several = are_asked_for(&options.seeds, &options.further_traces);
    if several && (asked.is_some() || gateway::ASKED.is_named(options) || short::ASKED.is_named(options)) {
        let why = format!(
            "a network is tuned with {} seeds anyway, and without captures: --seed names the first of them",
            seeds::SEEDS
        );
        return Err(Misuse::option(&["seeds"], why).into());
    }
    if several {
        return samples::tune(options, text.as_deref(), progress, out);
    }
    let behind_gateway = asked.as_ref().is_some_and(|asked| asked.network.access.is_some());
    if behind_gateway || gateway::ASKED.is_named(options) {
        return gateway::tune(options, asked.filter(|_| behind_gateway), text.as_deref(), progress, out);
    }
    if asked.is_some() || short::ASKED.is_named(options) {
        return short::tune(options, asked, text.as_deref(), progress, out);
    }
    let sweeps = sweeps(&options.policies, options.points.map(usize::from))?;
    let OutputOptions { report, records, json, .. } = &options.output;
    let mut files = Files::of(&options.input, text.as_deref());
    let report = files.writes("report", report.as_deref())?;
    files.writes_records(&options.output, sweeps.iter().flat_map(|sweep| sweep.points.iter().map(|(_, spec)| spec)))?;
    let input = Input::resolve(
        &options.input,
        options.output.shows_provenance(),
        text.as_deref(),
        UnnamedLink::Balanced,
        progress,
    )?;
    let mut plan = Plan::new(&input, &options.input, &options.output, MAX_WINDOW, progress)?;
    plan.one_bar = true;
    plan.assumed_pipeline = None;
    plan.window = match options.window {
        Some(window) => window,
        None => window_for(&plan, &sweeps[0])?,
    };
    let settings = sweeps.iter().flat_map(|sweep| sweep.points.iter().map(|(_, spec)| spec));
    let provenance = plan.provenance(settings);
    let mut curves = draw(&plan, sweeps)?;
    let points = curves.iter_mut().flat_map(|curve| &mut curve.points);
    let mut failures: Vec<Error> = points.flat_map(|point| mem::take(&mut point.run.unwritten)).collect();
    let tuning = Tuning { plan: &plan, provenance, curves: &curves };
    let text = |report: Option<&Path>| tuning.text(report, records.as_deref());
    failures.extend(deliver(out, report, *json, || page::page(&tuning), || tuning.json(), text).err());
    Error::unless_none(failures)
}
