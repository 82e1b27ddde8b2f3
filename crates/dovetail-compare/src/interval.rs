//! The interval of figures over several samples: from the 5th to the 95th percentile, by nearest rank.

use dovetail_stats::{Quantile, median_of_runs, quantile};
use serde_json::{Map, Value, json};

/// The ends of the interval.
pub(crate) const ENDS: [f64; 2] = [0.05, 0.95];

/// The interval of these numbers; `None` without any.
pub(crate) fn interval(numbers: &[f64]) -> Option<[f64; 2]> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [low, high] = ENDS.map(|end| quantile(&sorted, Quantile::of(end)));
    Some([low?, high?])
}

/// Combines the same document of several samples: each number becomes its median and interval over the samples that have it.
pub(crate) fn together(samples: &[&Value]) -> Value {
    if let Some(Value::Object(first)) = samples.iter().find(|value| value.is_object()) {
        let of = |key: &String| samples.iter().filter_map(|sample| sample.get(key)).collect::<Vec<_>>();
        return Value::Object(first.keys().map(|key| (key.clone(), together(&of(key)))).collect::<Map<_, _>>());
    }
    let numbers: Vec<f64> = samples.iter().filter_map(|value| value.as_f64()).collect();
    match (median_of_runs(numbers.iter().copied()), interval(&numbers)) {
        (Some(median), Some([p5, p95])) => {
            json!({ "median": median, "p5": p5, "p95": p95, "samples": numbers.len() })
        }
        _ => samples.first().map_or(Value::Null, |value| (*value).clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_medians_with_their_intervals() {
        let samples: Vec<Value> = (1..=40).map(|at| json!({ "policy": "drr", "of": { "x": at, "y": null } })).collect();
        let together = together(&samples.iter().collect::<Vec<_>>());
        let x = json!({ "median": 20.5, "p5": 2.0, "p95": 38.0, "samples": 40 });
        assert_eq!(together, json!({ "policy": "drr", "of": { "x": x, "y": null } }));
    }
}
