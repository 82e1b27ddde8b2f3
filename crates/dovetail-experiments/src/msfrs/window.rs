//! Figs. 11 and 12: the window, and its target utilisation.

use super::runs::{Job, Made, Setting, made, median, runs};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::{
    report::{
        charts::note_over_time,
        plot::{Axis, Plot, Series},
    },
    table::Table,
};
use dovetail_sched::Nanos;

/// One of the scheduler's own figures, second by second.
fn notes<'a>(made: &'a Made, name: &'a str) -> impl Iterator<Item = (Nanos, f64)> + 'a {
    let notes = made.outcome.access.iter().flat_map(|access| &access.notes);
    notes.filter_map(move |(at, figures)| {
        let value = figures.iter().find(|(known, _)| *known == name)?.1;
        Some((*at, value))
    })
}

pub(super) fn fig11(given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(Setting::Sparse, &["msf-rs"], 1, given)?;
    let run = all.first().and_then(|runs| runs.first()).ok_or_else(|| Error::broken("a finished run is missing"))?;
    // Starts when the last responses of the busy period have ended.
    let quiet = (Nanos::from_secs(530), Nanos::from_secs(1000));
    let window = |(least, most): (f64, f64), (_, value): (Nanos, f64)| (least.min(value), most.max(value));
    let in_quiet = notes(run, "window").filter(|(at, _)| *at >= quiet.0 && *at < quiet.1);
    let (least, most) = in_quiet.fold((f64::INFINITY, f64::NEG_INFINITY), window);
    let outstanding = notes(run, "outstanding").filter(|(at, _)| *at >= quiet.0 && *at < quiet.1);
    let outstanding = outstanding.map(|(_, value)| value).fold(0.0, f64::max);
    let link = &run.network.links[run.network.watched];
    let used = |from: usize, to: usize| run.load.utilisation(link, from, to) * 100.0;
    let (first, quiet, last) = (used(100, 500), used(530, 1000), used(1010, 1500));
    let rows = vec![
        Row::new("utilisation, 100 to 500 s", "%", Some(98.0), 98.0, first, 2.0),
        Row::new("W+ in the quiet time: most less least", "", Some(0.0), 0.0, most - least, 0.0),
        Row::at_most("utilisation in the quiet time", "%", None, 50.0, quiet),
        Row::new("utilisation, 10 s after the quiet time to 1500 s", "%", Some(98.0), 98.0, last, 2.0),
        Row::at_most("most outstanding in the quiet time, over W+", "", None, 1.0, outstanding / least),
    ];
    let notes = run.outcome.access.as_ref().map(|access| access.notes.as_slice()).unwrap_or_default();
    let charts = ["window", "outstanding", "utilisation"].into_iter().filter_map(|name| {
        Some(chart(&format!("Fig. 11: {name}"), "Noted every second.", note_over_time(name, notes)?))
    });
    Ok(Finding { rows, charts: charts.collect(), ..Finding::default() })
}

const TARGETS: [f64; 8] = [0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98];
const SEEDS: u64 = 5;

pub(super) fn fig12(given: &Given<'_>) -> Result<Finding, Error> {
    let targets: Vec<f64> = TARGETS.into_iter().chain([0.99]).collect();
    let job = |&target: &f64| {
        (1..=SEEDS).map(move |seed| Job {
            setting: Setting::Thinking { equal: false },
            gateway: format!("msf-rs:target={target}"),
            seed,
        })
    };
    let jobs: Vec<Job> = targets.iter().flat_map(job).collect();
    let all = made(&jobs, given)?;
    let by_target: Vec<_> = all.chunks(SEEDS as usize).collect();
    let mut table =
        Table::new(&["U+", "latency s", "queued at the gateway s", "a packet at the far end ms", "link %"], 0);
    let far_s = |made: &Made| made.load.mean_wait_s();
    let latency = |made: &Made| made.figures.all.mean_s.unwrap_or(f64::NAN);
    let queued = |made: &Made| made.figures.all.queued_s.unwrap_or(f64::NAN);
    for (target, runs) in targets.iter().zip(&by_target) {
        table.push([
            format!("{target}"),
            format!("{:.2}", median(runs, latency)),
            format!("{:.2}", median(runs, queued)),
            format!("{:.1}", median(runs, far_s) * 1e3),
            format!("{:.1}", median(runs, |made| made.figures.utilisation) * 100.0),
        ]);
    }
    let at = |target: f64| targets.iter().position(|&known| known == target).map_or(&[][..], |at| by_target[at]);
    let rows = vec![
        Row::at_most(
            "latency at U+ = 0.98 over 0.65",
            "",
            None,
            1.0,
            median(at(0.98), latency) / median(at(0.65), latency),
        ),
        Row::at_least(
            "a packet at the far end, U+ = 0.99 over 0.65",
            "",
            None,
            1.0,
            median(at(0.99), far_s) / median(at(0.65), far_s),
        ),
    ];
    let mut plot = Plot::new(Axis::linear("U+"), Axis::linear("s"));
    for (name, value) in [("latency", &latency as &dyn Fn(&Made) -> f64), ("queued at the gateway", &queued)] {
        plot.add(Series::line(name, targets.clone(), by_target.iter().map(|runs| median(runs, value)).collect()));
    }
    Ok(Finding {
        rows,
        tables: vec![("Median over five runs".into(), table)],
        charts: vec![chart("Fig. 12", "Closed loop, ten users at each client with think times of 5 s.", plot)],
        ..Finding::default()
    })
}
