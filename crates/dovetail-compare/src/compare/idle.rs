//! A box with so little to do that it needs no scheduler, and the load from which on it does.
//!
//! A scheduler decides among packets that wait. Where no resource has a load of more than 60 % and packets wait, under
//! every policy, on average less than they are processed, there is hardly anything to decide: at 60 % the queue of a
//! resource with constant service and random arrivals (M/D/1) is 0.45 packets long, and its packets wait for 0.75 of a
//! service time (Pollaczek and Khinchine's formula). The traffic's own bursts decide where waiting begins, so the
//! load from which on it matters is found by running the same traffic faster.
//!
//! Several samples are idle where at least 95 % of them are, as a policy wins where it does in 95 % of them; the figures are
//! medians.

use dovetail_sched::{Nanos, PolicySpec};
use dovetail_sim::measure::Summary;
use dovetail_stats::median_of_runs;

use crate::{
    error::Error,
    interval::interval,
    run::{Plan, PolicyRun},
    table::figure,
};

/// No resource has a higher load.
const IDLE_LOAD: f64 = 0.6;

/// The load at which packets wait in any box.
const FULL_LOAD: f64 = 1.0;

/// The load from which on a scheduler matters is found to within this.
const LOAD_STEP: f64 = 0.02;

/// How little a box has to do.
pub(super) struct Idleness {
    busiest: usize,
    load: f64,
    /// On average, under the first policy.
    waiting_nanos: f64,
    is_idle: bool,
}

impl Idleness {
    /// Of a sample's runs, one of each policy; `None` where there is no load to speak of.
    pub(super) fn of(runs: &[PolicyRun]) -> Option<Self> {
        let run = runs.first()?;
        let loads = loads(&run.summary);
        let (busiest, load) = loads.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let waits = runs.iter().any(|run| run.outcome.dropped > 0 || waits(&run.summary));
        let is_idle = load <= IDLE_LOAD && !waits;
        Some(Self { busiest, load, waiting_nanos: waiting_nanos(&run.summary), is_idle })
    }
}

/// What is said of an idle box; `None` of a busy one. `samples` are those of `plans`, in their order; the first policy is run
/// again at higher loads over each.
pub(super) fn idle(
    plans: &[Plan<'_>],
    policies: &[PolicySpec],
    samples: &[Option<&Idleness>],
) -> Result<Option<String>, Error> {
    let idle = samples.iter().filter(|sample| sample.is_some_and(|sample| sample.is_idle)).count();
    let (Some(plan), Some(first)) = (plans.first(), samples.iter().flatten().next()) else { return Ok(None) };
    if idle * 100 < samples.len() * 95 {
        return Ok(None);
    }
    let median = |of: fn(&Idleness) -> f64| median_of_runs(samples.iter().flatten().map(|sample| of(sample)));
    let (load, waiting) = (median(|sample| sample.load), median(|sample| sample.waiting_nanos));
    let mut said = format!(
        "No scheduler is needed at this load: the busiest resource, {}, has a load of {:.0} %, and packets wait on \
         average {} µs, less than they are processed",
        plan.input.resources()[first.busiest],
        load.unwrap_or(first.load) * 100.0,
        figure(waiting.unwrap_or(first.waiting_nanos) / 1e3),
    );
    let mut from = Vec::new();
    for (plan, sample) in plans.iter().zip(samples) {
        let Some(sample) = sample.filter(|sample| sample.is_idle) else { continue };
        // A sample that hardly waits at any load counts as the highest.
        from.push(matters_from(plan, policies, sample.load)?.unwrap_or(f64::INFINITY));
    }
    match median_of_runs(from.iter().copied()).filter(|from| from.is_finite()) {
        Some(least) => {
            said += &format!(". It starts to matter at a load of {:.0} %", least * 100.0);
            if let Some([low, high]) = interval(&from).filter(|_| from.len() > 1) {
                let high =
                    if high.is_finite() { format!("{:.0} %", high * 100.0) } else { "never below 100 %".to_owned() };
                said += &format!(" (5–95 % of the samples: {:.0} % to {high})", low * 100.0);
            }
            said += ", found by running this traffic faster";
        }
        None => said += ", and hardly wait at any load below 100 % either",
    }
    if samples.len() > 1 {
        said += &format!(" (medians; {idle} of the {} samples are idle)", samples.len());
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
