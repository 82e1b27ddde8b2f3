//! Detects a middlebox with so little load that it needs no scheduler, and the load at which it would.
//!
//! A scheduler decides among waiting packets. If no resource has a load of more than 60 % and, under every policy, packets
//! wait less on average than they are processed, there is hardly anything to decide: at 60 % the queue of a resource with
//! constant service and random arrivals (M/D/1) is 0.45 packets long, and its packets wait for 0.75 of a service time
//! (Pollaczek and Khinchine's formula). Where waiting begins depends on the traffic's bursts, so the load at which scheduling
//! starts to matter is found by running the same traffic faster: a capture or table whole, a scenario for as many packets as it
//! has at its own load, or [`MAX_TRIED_PACKETS`] if that is more. (In its whole duration it could have any number.)
//!
//! Several samples are idle if at least 95 % of them are, just as a policy wins if it does in 95 % of them; the figures are
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

/// An idle middlebox has no resource with a higher load.
const IDLE_LOAD: f64 = 0.6;

/// The load at which packets wait in any middlebox.
const FULL_LOAD: f64 = 1.0;

/// Precision of the load at which a scheduler starts to matter.
const LOAD_STEP: f64 = 0.02;

/// Enough for the mean wait of random arrivals at any load in question, and a fraction of a second per run.
const MAX_TRIED_PACKETS: u64 = 250_000;

/// How idle a middlebox is.
pub(super) struct Idleness {
    busiest: usize,
    load: f64,
    /// Mean, under the first policy.
    waiting_nanos: f64,
    /// Those that arrived.
    packets: u64,
    is_idle: bool,
}

impl Idleness {
    /// For a sample's runs, one per policy; `None` if there is no measurable load.
    pub(super) fn of(runs: &[PolicyRun]) -> Option<Self> {
        let run = runs.first()?;
        let loads = loads(&run.summary);
        let (busiest, load) = loads.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let waits = runs.iter().any(|run| run.outcome.dropped > 0 || waits(&run.summary));
        let is_idle = load <= IDLE_LOAD && !waits;
        Some(Self { busiest, load, waiting_nanos: waiting_nanos(&run.summary), packets: run.outcome.arrived, is_idle })
    }
}

/// Text about an idle middlebox; `None` for a busy one. `samples` are those of `plans`, in order; the first policy is run
/// again over each at higher loads.
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
        "No scheduler is needed at this load: the busiest resource, {}, has a load of {:.0} %, and packets wait \
         {} µs on average, less than their processing time",
        plan.input.resources()[first.busiest],
        load.unwrap_or(first.load) * 100.0,
        figure(waiting.unwrap_or(first.waiting_nanos) / 1e3),
    );
    let mut from = Vec::new();
    for (plan, sample) in plans.iter().zip(samples) {
        let Some(sample) = sample.filter(|sample| sample.is_idle) else { continue };
        // A sample with hardly any waiting at any load counts as the highest.
        from.push(matters_from(plan, policies, sample)?.unwrap_or(f64::INFINITY));
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

/// The lowest load, to within [`LOAD_STEP`], at which packets wait longer than they are processed.
fn matters_from(plan: &Plan<'_>, policies: &[PolicySpec], sample: &Idleness) -> Result<Option<f64>, Error> {
    let most = sample.packets.max(MAX_TRIED_PACKETS);
    let waits_at = |load: f64| -> Result<bool, Error> {
        let Some(input) = plan.input.at_load(load, most)? else { return Ok(false) };
        let plan = Plan { input: &input, records: None, one_bar: true, ..*plan };
        let runs = plan.run(&policies[..1])?;
        Ok(runs.iter().any(|run| run.outcome.dropped > 0 || waits(&run.summary)))
    };
    let (mut below, mut above) = (sample.load, FULL_LOAD);
    if !waits_at(above)? {
        return Ok(None);
    }
    while above - below > LOAD_STEP {
        let middle = (below + above) / 2.0;
        if waits_at(middle)? { above = middle } else { below = middle }
    }
    Ok(Some(above))
}

/// The load of each resource while packets arrived; empty if all arrived at once.
fn loads(summary: &Summary) -> Vec<f64> {
    if summary.arrivals_took == Nanos::ZERO {
        return Vec::new();
    }
    let resources = summary.utilisation.iter();
    resources.map(|busy| busy * summary.makespan.as_f64() / summary.arrivals_took.as_f64()).collect()
}

/// Whether packets wait longer on average than they are processed.
fn waits(summary: &Summary) -> bool {
    waiting_nanos(summary) > processed_nanos(summary)
}

/// Mean time that a packet waits. The difference of two times may round below none.
fn waiting_nanos(summary: &Summary) -> f64 {
    summary.latency.map_or(0.0, |latency| (latency.mean_nanos - processed_nanos(summary)).max(0.0))
}

/// Mean total processing time of a packet.
fn processed_nanos(summary: &Summary) -> f64 {
    let all: f64 = summary.utilisation.iter().map(|busy| busy * summary.makespan.as_f64()).sum();
    all / summary.sent.max(1) as f64
}
