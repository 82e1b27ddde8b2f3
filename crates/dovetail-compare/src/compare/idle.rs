//! A box with so little to do that it needs no scheduler, and the load from which on it does.
//!
//! A scheduler decides among packets that wait. Where no resource has a load of more than 60 % and packets wait, under
//! every policy, on average less than they are processed, there is hardly anything to decide: at 60 % the queue of a
//! resource with constant service and random arrivals (M/D/1) is 0.45 packets long, and its packets wait for 0.75 of a
//! service time (Pollaczek and Khinchine's formula). The traffic's own bursts decide where waiting begins, so the
//! load from which on it matters is found by running the same traffic faster.

use dovetail_sched::{Nanos, PolicySpec};
use dovetail_sim::measure::Summary;

use crate::{
    error::Error,
    run::{Plan, PolicyRun},
    table::figure,
};

/// No resource has a higher load.
const IDLE_LOAD: f64 = 0.6;

/// The load at which packets wait in any box.
const FULL_LOAD: f64 = 1.0;

/// The load from which on a scheduler matters is found to within this.
const LOAD_STEP: f64 = 0.02;

/// What is said of an idle box; `None` of a busy one. `policies` are those of the runs, the first of which is run again
/// at higher loads.
pub(super) fn idle(plan: &Plan<'_>, policies: &[PolicySpec], runs: &[PolicyRun]) -> Result<Option<String>, Error> {
    let Some(run) = runs.first() else { return Ok(None) };
    let loads = loads(&run.summary);
    let Some((busiest, load)) = loads.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(None);
    };
    if load > IDLE_LOAD || runs.iter().any(|run| run.outcome.dropped > 0 || waits(&run.summary)) {
        return Ok(None);
    }
    let mut said = format!(
        "No scheduler is needed at this load: the busiest resource, {}, has a load of {:.0} %, and packets wait on \
         average {} µs, less than they are processed",
        plan.input.resources()[busiest],
        load * 100.0,
        figure(waiting_nanos(&run.summary) / 1e3),
    );
    match matters_from(plan, policies, load)? {
        Some(from) => {
            said += &format!(
                ". It starts to matter at a load of {:.0} %, found by running this traffic faster",
                from * 100.0
            )
        }
        None => said += ", and hardly wait at any load below 100 % either",
    }
    Ok(Some(said))
}

/// The least load, to within [`LOAD_STEP`], at which packets wait longer than they are processed.
fn matters_from(plan: &Plan<'_>, policies: &[PolicySpec], load: f64) -> Result<Option<f64>, Error> {
    let waits_at = |load: f64| -> Result<bool, Error> {
        let Some(input) = plan.input.at_load(load)? else { return Ok(false) };
        let plan = Plan { input: &input, records: None, one_bar: true, ..*plan };
        let runs = plan.run(&policies[..1])?;
        Ok(runs.iter().any(|run| run.outcome.dropped > 0 || waits(&run.summary)))
    };
    let (mut below, mut above) = (load, FULL_LOAD);
    if !waits_at(above)? {
        return Ok(None);
    }
    while above - below > LOAD_STEP {
        let middle = (below + above) / 2.0;
        if waits_at(middle)? { above = middle } else { below = middle }
    }
    Ok(Some(above))
}

/// The load of each resource while packets arrived; nothing where they all came at once.
fn loads(summary: &Summary) -> Vec<f64> {
    if summary.arrivals_took == Nanos::ZERO {
        return Vec::new();
    }
    let resources = summary.utilisation.iter();
    resources.map(|busy| busy * summary.makespan.as_f64() / summary.arrivals_took.as_f64()).collect()
}

/// Whether packets wait on average longer than they are processed.
fn waits(summary: &Summary) -> bool {
    waiting_nanos(summary) > processed_nanos(summary)
}

fn waiting_nanos(summary: &Summary) -> f64 {
    summary.latency.map_or(0.0, |latency| latency.mean_nanos - processed_nanos(summary))
}

/// How long the resources process a packet, on average.
fn processed_nanos(summary: &Summary) -> f64 {
    let all: f64 = summary.utilisation.iter().map(|busy| busy * summary.makespan.as_f64()).sum();
    all / summary.sent.max(1) as f64
}
