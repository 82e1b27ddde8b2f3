//! Fig. 1: two flows whose fair schedule leaves the link idle for a third of the time.

use super::{
    paper::POINTS,
    runs::{Job, run_all},
    watch::Watch,
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::report::plot::{Axis, Plot, Series};

/// Guarantees that permit the schedule of Fig. 1b: flow 2's part of it, 9/25, is 0.6 of its fair share of 3/5.
const EFFICIENT: [f64; 2] = [0.6, 0.1];

pub(super) fn fig1(given: &Given<'_>) -> Result<Finding, Error> {
    let alphas = [1.0, EFFICIENT[0], EFFICIENT[1]];
    let jobs = alphas.map(|alpha| Job::tradeoff("tradeoff-fig1", alpha));
    let runs = run_all(&jobs, given)?;
    let mut finding = Finding::default();
    let resources = ["CPU", "link"].map(str::to_owned);
    let mut plot = Plot::new(Axis::names("", resources.into()), Axis::linear("busy, %"));
    for (alpha, run) in alphas.into_iter().zip(&runs) {
        let fair = alpha == 1.0;
        let busy = [0, 1].map(|j| run.mean_utilisation(j) * 100.0);
        let shares = [0, 1].map(|flow| share(run, flow) * 100.0);
        let mut row = |what: &str, paper, expected, measured| {
            finding.rows.push(Row::new(format!("{what}, alpha={alpha}"), "%", paper, expected, measured, POINTS));
        };
        row("CPU utilisation", Some(100.0), 100.0, busy[0]);
        let idle = if fair { 100.0 / 3.0 } else { 0.0 };
        row("link idle", Some(idle), idle, 100.0 - busy[1]);
        let [first, second] = if fair { [60.0, 60.0] } else { [96.0, 36.0] };
        row("flow 1's share of the link", Some(first), first, shares[0]);
        row("flow 2's share of the CPU", Some(second), second, shares[1]);
        plot.add(Series::bars(format!("alpha={alpha}"), busy.to_vec()));
    }
    finding.charts.push(chart("Fig. 1", "Utilisation of both resources.", plot));
    finding.remarks.push(
        "The efficient schedule gives flow 2 9/25 of the CPU, 0.6 of its fair share of 3/5: it is found from alpha=0.6 \
         downwards, and is the same for a smaller one."
            .to_owned(),
    );
    Ok(finding)
}

/// A flow's share of its dominant resource.
fn share(run: &Watch, flow: usize) -> f64 {
    let seconds = 0..run.makespan().as_secs_f64().ceil() as usize;
    let served: f64 = seconds.map(|second| run.flows[flow].share(second)).sum();
    served / run.makespan().as_secs_f64()
}
