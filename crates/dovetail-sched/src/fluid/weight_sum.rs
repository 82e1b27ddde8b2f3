//! The total weight of an ever-changing set of flows, without drift.
//!
//! A fluid's virtual time runs at one over the total weight of its busy flows. Kept as a floating-point number, that total
//! would collect a rounding error at every arrival and departure, and one flow of weight 10^6 would wipe out what the weights
//! of 10^-6 had left. So the sum is exact: a [`Weight`](crate::Weight) lies between 2^-20 and 2^20 and has 53 significant bits,
//! so it is a whole multiple of 2^-72; and 2^26 flows of 2^20 are 2^118 of these.

/// An exact sum of weights.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WeightSum {
    units: u128,
    total: f64,
}

const UNITS_PER_WEIGHT: f64 = (1u128 << 72) as f64;

impl WeightSum {
    /// The sum, rounded once; 0 for no flow.
    #[inline]
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// Adds a flow of this weight.
    #[inline]
    pub(crate) fn add(&mut self, weight: f64) {
        self.set(self.units.saturating_add(units(weight)));
    }

    /// Removes a flow of this weight.
    #[inline]
    pub(crate) fn remove(&mut self, weight: f64) {
        debug_assert!(units(weight) <= self.units, "a flow left that never joined");
        self.set(self.units.saturating_sub(units(weight)));
    }

    /// Changes a flow's weight from `old` to `new`.
    #[inline]
    pub(crate) fn replace(&mut self, old: f64, new: f64) {
        debug_assert!(units(old) <= self.units, "a flow left that never joined");
        self.set(self.units.saturating_sub(units(old)).saturating_add(units(new)));
    }

    /// Removes all flows.
    pub(crate) fn clear(&mut self) {
        self.set(0);
    }

    #[inline]
    fn set(&mut self, units: u128) {
        self.units = units;
        // In halves, each of which the processor can convert.
        self.total = (units >> 64) as u64 as f64 * UNITS_IN_HIGH_HALF + units as u64 as f64 / UNITS_PER_WEIGHT;
    }
}

const UNITS_IN_HIGH_HALF: f64 = (1u128 << 64) as f64 / UNITS_PER_WEIGHT;

/// The weight in units, rounded down. Shifts the mantissa into place, which is faster than a conversion.
#[inline]
fn units(weight: f64) -> u128 {
    let bits = weight.to_bits();
    let exponent = (bits >> 52) as i32;
    let mantissa = u128::from(bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52);
    // The mantissa counts 2^(exponent - 1075), a unit is 2^-72.
    match exponent - 1075 + 72 {
        left @ 0..=75 => mantissa << left,
        right @ -127..0 => mantissa >> -right,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_weight_leaves_no_trace() {
        let mut sum = WeightSum::default();
        for _ in 0..1000 {
            sum.add(1e-6);
            sum.add(1e6);
            sum.add(1.0 / 3.0);
            sum.remove(1e6);
            sum.remove(1.0 / 3.0);
        }
        assert_eq!(sum.total(), 1000.0 * 1e-6);
    }

    proptest! {
        #[test]
        fn units_are_what_a_conversion_gives(weight in prop_oneof![1e-6f64..1e6, 0.0f64..1e-20, Just(0.0), Just(1e6)]) {
            prop_assert_eq!(units(weight), (weight * UNITS_PER_WEIGHT) as u128);
        }

        #[test]
        fn to_replace_is_to_leave_and_to_join(weights in prop::collection::vec(1e-6f64..1e6, 1..50), new in 1e-6f64..1e6) {
            let mut sum = WeightSum::default();
            weights.iter().for_each(|&weight| sum.add(weight));
            let mut at_once = sum;
            at_once.replace(weights[0], new);
            sum.remove(weights[0]);
            sum.add(new);
            prop_assert_eq!((at_once.units, at_once.total()), (sum.units, sum.total()));
        }

        #[test]
        fn all_that_join_and_leave_cancel(weights in prop::collection::vec(1e-6f64..1e6, 1..100)) {
            let mut sum = WeightSum::default();
            weights.iter().for_each(|&weight| sum.add(weight));
            let plain: f64 = weights.iter().sum();
            prop_assert!((sum.total() - plain).abs() <= 1e-12 * plain);
            weights.iter().for_each(|&weight| sum.remove(weight));
            prop_assert_eq!(sum.total(), 0.0);
        }
    }
}
