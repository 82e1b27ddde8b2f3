//! Compares every figure with the result of counting.

use dovetail_stats::{Durations, Histogram, Quantile, quantile};
use proptest::prelude::*;

/// The smallest sample such that at least `parts` of `of` samples do not exceed it.
fn least_that_holds(samples: &[u64], parts: u64, of: u64) -> u64 {
    let holds = |value: &&u64| {
        let within = samples.iter().filter(|sample| sample <= value).count() as u64;
        within * of >= parts * samples.len() as u64
    };
    *samples.iter().filter(holds).min().expect("the largest holds")
}

fn per_mille() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(500), Just(950), Just(990), Just(1000), 0..=1000u64]
}

fn at(per_mille: u64) -> Quantile {
    Quantile::of(per_mille as f64 / 1000.0)
}

proptest! {
    #[test]
    fn quantiles_are_nearest_ranks(mut samples in prop::collection::vec(0..50u64, 1..200), part in per_mille()) {
        let want = least_that_holds(&samples, part, 1000);
        samples.sort_unstable();
        prop_assert_eq!(quantile(&samples, at(part)), Some(want));
    }

    #[test]
    fn histograms_are_within_a_thousandth(
        samples in prop::collection::vec(prop_oneof![0..3000u64, 0..1_000_000_000_000u64, any::<u64>()], 1..200),
        part in per_mille(),
    ) {
        let mut histogram = Histogram::new();
        samples.iter().for_each(|&sample| histogram.record(sample));
        let want = least_that_holds(&samples, part, 1000);
        let got = histogram.quantile(at(part)).expect("there are samples");
        prop_assert!(got >= want && (got - want) as f64 <= 0.001 * want as f64, "{got} for {want}");
        prop_assert_eq!(histogram.count(), samples.len() as u64);
        prop_assert_eq!(histogram.steps().last().expect("a step").1, samples.len() as u64);
    }

    /// Whatever happens to unfinished durations, figures reported as exact are, and lower bounds are not exceeded by the outcome.
    #[test]
    fn estimates_hold_whatever_becomes_of_the_rest(
        samples in prop::collection::vec((0..50u64, prop::option::of(0..60u64)), 1..60),
        part in per_mille(),
    ) {
        let mut durations = Durations::new();
        for &(lasted, more) in &samples {
            match more {
                None => durations.ended(lasted as f64),
                Some(_) => durations.not_ended(lasted as f64),
            }
        }
        let whole: Vec<u64> = samples.iter().map(|(lasted, more)| lasted + more.unwrap_or(0)).collect();
        let durations = durations.sorted();
        prop_assert_eq!(durations.count(), samples.len());
        let open = samples.iter().filter(|(_, more)| more.is_some()).count();
        prop_assert_eq!(durations.not_ended(), open);

        let got = durations.quantile(at(part)).expect("there are samples");
        let want = least_that_holds(&whole, part, 1000) as f64;
        let holds = if got.is_lower_bound { got.value <= want } else { got.value == want };
        prop_assert!(holds, "{got:?} of {want}");
        // A lower bound is reported only if needed: if nothing unfinished ever ended, the figure would be larger.
        let endless: Vec<u64> =
            samples.iter().map(|&(lasted, more)| if more.is_some() { 1000 } else { lasted }).collect();
        prop_assert_eq!(got.is_lower_bound, least_that_holds(&endless, part, 1000) as f64 > got.value);

        let mean = durations.mean().expect("there are samples");
        let want = whole.iter().sum::<u64>() as f64 / whole.len() as f64;
        let holds = if mean.is_lower_bound { mean.value <= want + 1e-9 } else { (mean.value - want).abs() < 1e-9 };
        prop_assert!(holds, "{mean:?} of {want}");
        prop_assert_eq!(mean.is_lower_bound, open > 0);
    }
}
