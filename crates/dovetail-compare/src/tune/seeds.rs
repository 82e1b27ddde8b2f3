//! What kinds of tuning over a network have in common: the requested policy, the values to try, and runs of every setting
//! over the same seeds.

use std::{fmt::Display, str::FromStr};

use dovetail_sched::registry::with_knobs;
use dovetail_sim::network::Network;

use crate::{
    error::{Error, Misuse},
    network::{Keep, NetworkRun, Under, bar, run},
    options::TuneOptions,
    progress::Progress,
    side_by_side::side_by_side_on,
};

/// Number of seeds that each setting is run with, starting with the network's own.
pub(super) const SEEDS: u64 = 3;

/// Heading of a page's provenance.
pub(super) const COME_FROM: &str = "Where these figures come from";

/// The seeds, starting with the network's own.
pub(super) fn seeds_from(first: Option<u64>) -> Vec<u64> {
    first.map_or_else(Vec::new, |first| (0..SEEDS).map(|seed| first.wrapping_add(seed)).collect())
}

/// Times that differ by less than this fraction are alike: a few seeds cannot resolve finer differences.
pub(super) const ALIKE: f64 = 0.02;

/// A policy tuned over a network.
pub(super) struct Asked {
    pub(super) policy: &'static str,
    /// The kind of network that it requires.
    pub(super) over: &'static str,
    /// The figures that it is judged by.
    pub(super) by: &'static str,
}

impl Asked {
    fn names(&self, text: &str) -> bool {
        text.split(':').next() == Some(self.policy)
    }

    /// Whether the options name it, with any knobs.
    pub(super) fn is_named(&self, options: &TuneOptions) -> bool {
        options.policies.iter().any(|text| self.names(text))
    }

    /// The policy as given, or with defaults.
    ///
    /// # Errors
    /// If another policy is requested too, or options that only apply to packets.
    pub(super) fn alone<'a>(&self, options: &'a TuneOptions) -> Result<&'a str, Error> {
        let Self { policy, over, by } = *self;
        if let Some(other) = options.policies.iter().find(|text| !self.names(text)) {
            return Err(Misuse::policy(other, format!("over {over}, only {policy} is tuned")).into());
        }
        if options.window.is_some() || options.output.records.is_some() {
            let why = format!("{policy} is tuned by {by}, not by packets");
            return Err(Misuse::option(&["window", "records"], why).into());
        }
        match options.policies.as_slice() {
            [] => Ok(policy),
            [one] => Ok(one),
            _ => Err(Misuse::Twice(policy.to_owned()).into()),
        }
    }
}

/// `policy` with the knobs set by tuning; `sets` names them.
pub(super) fn setting<P: FromStr<Err: Display>>(policy: &str, knobs: impl Display, sets: &str) -> Result<P, Error> {
    let wrong = |error| Misuse::policy(policy, format!("{error} (tune sets {sets} itself)"));
    Ok(with_knobs(policy, knobs).parse().map_err(wrong)?)
}

/// `points` values from the first of the usual ones to the last, in a geometric progression, without repeats; for one point
/// it is the last.
pub(super) fn values(points: Option<usize>, usual: &[f64], round: fn(f64) -> f64) -> Vec<f64> {
    let (Some(points), Some(&first), Some(&last)) = (points, usual.first(), usual.last()) else {
        return usual.to_vec();
    };
    let Some(steps) = points.checked_sub(1).filter(|&steps| steps > 0) else { return vec![last] };
    let mut values: Vec<f64> =
        (0..=steps).map(|step| round(first * (last / first).powf(step as f64 / steps as f64))).collect();
    values.dedup();
    values
}

/// Runs each of `examined` with all seeds: `of` extracts the results of a run, and `together` combines those of all seeds.
pub(super) fn play<T: Send, G>(
    network: &Network,
    examined: &[Under<'_>],
    jobs: usize,
    progress: &dyn Progress,
    of: impl Fn(&NetworkRun) -> T + Sync,
    together: impl Fn(&[T]) -> Result<G, Error>,
) -> Result<Vec<G>, Error> {
    let runs: Vec<(Under<'_>, u64)> =
        examined.iter().flat_map(|&under| (0..SEEDS).map(move |seed| (under, seed))).collect();
    let bar = bar(network, runs.len(), progress);
    let outcomes = side_by_side_on(jobs, &runs, |&(under, seed)| {
        let seed = network.seed.wrapping_add(seed);
        let network = Network { seed, ..network.clone() };
        run(&network, under, Keep::default(), bar.as_ref()).map(|run| of(&run))
    })?;
    drop(bar);
    outcomes.chunks(SEEDS as usize).map(together).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_from_the_first_to_the_last() {
        let whole = |value: f64| value.round();
        let usual = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0];
        assert_eq!(values(None, &usual, whole), usual);
        assert_eq!(values(Some(1), &usual, whole), [30.0]);
        assert_eq!(values(Some(2), &usual, whole), [1.0, 30.0]);
        assert_eq!(values(Some(3), &[1.0, 100.0], whole), [1.0, 10.0, 100.0]);
        assert!(values(Some(100), &usual, whole).windows(2).all(|pair| pair[0] < pair[1]));
    }
}
