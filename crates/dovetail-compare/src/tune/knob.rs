//! Tunable knobs: a policy, its knob, the values to try from the fairest on, and what each value promises.
//!
//! To make another policy tunable, add its line to [`TUNABLE`].

use dovetail_sched::{PolicyError, PolicySpec, registry::with_knobs};
use dovetail_sim::PipelineMode;

use super::{gateway, short};
use crate::error::{Error, Misuse};

/// A knob that trades fairness for efficiency.
pub(crate) struct Tunable {
    pub(crate) policy: &'static str,
    pub(crate) knob: &'static str,
    /// The values to try, the fairest first: this many, or a useful number.
    values: fn(Option<usize>) -> Vec<f64>,
    /// The fraction of its fair dominant share that every flow keeps in the pipeline that it is designed for.
    promise: fn(f64) -> Option<f64>,
    /// The pipeline mode that it is designed for.
    pub(crate) made_for: PipelineMode,
}

impl Tunable {
    /// The fraction of its fair dominant share that every flow is guaranteed.
    pub(crate) fn promise(&self, value: f64, pipeline: PipelineMode) -> Option<f64> {
        (self.promise)(value).filter(|_| pipeline == self.made_for)
    }
}

/// All tunable knobs.
const TUNABLE: &[Tunable] = &[
    Tunable { policy: "tradeoff", knob: "alpha", values: alphas, promise: Some, made_for: PipelineMode::Unbounded },
    Tunable { policy: "atfq", knob: "batch", values: batches, promise: |_| None, made_for: PipelineMode::NoWait },
];

/// From perfect fairness to half of it, in steps of a twentieth by default, with one smaller step first: with many flows the
/// first hundredths of fairness matter most. A policy that gives a flow less than half of its share hardly shares.
fn alphas(points: Option<usize>) -> Vec<f64> {
    let Some(points) = points else {
        return vec![1.0, 0.98, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5];
    };
    let steps = points.max(2) - 1;
    // Promises are round numbers.
    (0..=steps).map(|step| ((1.0 - 0.5 * step as f64 / steps as f64) * 1e4).round() / 1e4).collect()
}

/// From strict order to loops of 100 packets, each about twice the previous, since gains fall off with the logarithm.
fn batches(points: Option<usize>) -> Vec<f64> {
    let Some(points) = points else { return vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] };
    let steps = points.max(2) - 1;
    let mut batches: Vec<f64> = (0..=steps).map(|step| 100f64.powf(step as f64 / steps as f64).round()).collect();
    batches.dedup();
    batches
}

/// A policy to tune, with its other keys as given.
pub(crate) struct Sweep {
    pub(crate) tunable: &'static Tunable,
    pub(crate) points: Vec<(f64, PolicySpec)>,
}

/// The requested sweeps, or else all.
pub(crate) fn sweeps(asked: &[String], points: Option<usize>) -> Result<Vec<Sweep>, Error> {
    if asked.is_empty() {
        return TUNABLE.iter().map(|tunable| sweep(tunable, tunable.policy, points)).collect();
    }
    let mut sweeps = Vec::new();
    for (at, text) in asked.iter().enumerate() {
        let spec: PolicySpec =
            text.parse().map_err(|error: PolicyError| Misuse::option(&["policies"], error.to_string()))?;
        let tunable = TUNABLE.iter().find(|tunable| tunable.policy == spec.entry().name).ok_or_else(|| {
            let known = TUNABLE.iter().map(|t| format!("{} (by {})", t.policy, t.knob));
            let over = [&short::ASKED, &gateway::ASKED].map(|asked| format!("{} (over {})", asked.policy, asked.over));
            let known: Vec<_> = known.chain(over).collect();
            Misuse::policy(text, format!("there is nothing to tune; what can be is {}", known.join(", ")))
        })?;
        if asked[..at].contains(text) {
            return Err(Misuse::Twice(text.clone()).into());
        }
        sweeps.push(sweep(tunable, text, points)?);
    }
    Ok(sweeps)
}

fn sweep(tunable: &'static Tunable, text: &str, points: Option<usize>) -> Result<Sweep, Error> {
    let specs = (tunable.values)(points).into_iter().map(|value| {
        // Fails if the text sets the knob itself, or a key that excludes it.
        let spec = with_knobs(text, format_args!("{}={value}", tunable.knob)).parse();
        let spec = spec.map_err(|error: PolicyError| {
            Misuse::policy(text, format!("{error} (tune sets '{}' itself)", tunable.knob))
        })?;
        Ok((value, spec))
    });
    Ok(Sweep { tunable, points: specs.collect::<Result<_, Error>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_from_fair_to_efficient_without_repeats() {
        assert_eq!((alphas(None).len(), batches(None).len()), (12, 7), "as --help says");
        assert_eq!(alphas(Some(3)), [1.0, 0.75, 0.5]);
        assert_eq!(batches(Some(3)), [1.0, 10.0, 100.0]);
        for points in [None].into_iter().chain((2..=100).map(Some)) {
            let (alphas, batches) = (alphas(points), batches(points));
            assert_eq!((alphas[0], *alphas.last().expect("two")), (1.0, 0.5));
            assert!(points.is_none_or(|points| alphas.len() == points));
            assert!(alphas.windows(2).all(|pair| pair[0] > pair[1]));
            assert!(batches.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!((batches[0], *batches.last().expect("two")), (1.0, 100.0));
        }
    }
}
