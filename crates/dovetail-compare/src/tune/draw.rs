//! Runs the values of a knob.

use dovetail_sched::Nanos;
use dovetail_sim::measure::FairShare;

use super::{
    curve::{Curve, Point},
    knob::Sweep,
    window::{longest, round_down},
};
use crate::{error::Error, run::Plan};

/// A second, or the largest round width of which the fairest run contains five.
pub(super) fn window_for(plan: &Plan<'_>, sweep: &Sweep) -> Result<Nanos, Error> {
    let alone = Plan { records: None, pipeline: Some(plan.pipeline_or(sweep.tunable.made_for)), ..*plan };
    let fairest = sweep.points.iter().take(1).map(|(_, spec)| spec.clone()).collect::<Vec<_>>();
    let makespan = alone.run(&fairest)?.first().map_or(Nanos::ZERO, |run| run.summary.makespan);
    Ok(round_down(longest(makespan)))
}

/// Runs every value of every knob, each policy in the given pipeline or else in the one it is designed for.
pub(super) fn draw(plan: &Plan<'_>, sweeps: Vec<Sweep>) -> Result<Vec<Curve>, Error> {
    let mut jobs = Vec::new();
    let mut settings = Vec::new();
    for Sweep { tunable, points } in &sweeps {
        let pipeline = plan.pipeline_or(tunable.made_for);
        for (value, spec) in points {
            jobs.push((spec.clone(), pipeline));
            settings.push((*value, tunable.promise(*value, pipeline)));
        }
    }
    let resources = plan.input.resources().len();
    let meter = |at: usize| FairShare::new(resources, plan.window, settings[at].1);
    let runs = plan.run_watched(&jobs, meter, FairShare::finish)?;
    let points = runs.into_iter().zip(&settings);
    let mut points = points.map(|((run, shares), &(value, promise))| Point { value, promise, run, shares });
    let curve = |sweep: &Sweep| Curve {
        tunable: sweep.tunable,
        pipeline: plan.pipeline_or(sweep.tunable.made_for),
        points: points.by_ref().take(sweep.points.len()).collect(),
    };
    Ok(sweeps.iter().map(curve).collect())
}
