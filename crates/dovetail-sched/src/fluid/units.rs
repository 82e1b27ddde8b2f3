//! The grains in which a fluid's time and work are counted.
//!
//! Both are whole numbers of 2^-16 ns, so that sums do not drift, two ways to compute the same thing agree to the last bit, and
//! ties are ties. A virtual time of 64 bits lasts for more than three days at that grain (it may run up to `1/w` times as fast
//! as the clock for a flow of weight `w`) before it has to be rebased. Products of times and rates are exact to the grain below
//! 2^53 grains, 137 s.

use crate::{Nanos, flow::per_weight};

/// Grains in a nanosecond.
const GRAINS: f64 = 65_536.0;
const GRAIN_BITS: u32 = 16;
const OF_A_NANO: u64 = (1 << GRAIN_BITS) - 1;

/// The most work that one packet counts for, far below where tags would overflow: 2^44 ns per unit of weight, which is 4.9
/// hours at weight 1 and 17.6 ms at 10^-6. Time beyond that is not charged to the flow.
const MAX_WORK: f64 = (1u64 << 60) as f64;

/// 2^52: from here on all floating-point numbers are integers. The bits of 2^52 and of its sum with a smaller whole number
/// differ by that number.
const WHOLE: f64 = (1u64 << 52) as f64;

/// A time on the fluid's clock: whole nanoseconds, and the grains beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Fine {
    nanos: u64,
    grains: u64,
}

impl Fine {
    #[inline]
    pub(super) fn from_nanos(at: Nanos) -> Self {
        Self { nanos: at.0, grains: 0 }
    }

    /// The nanosecond that contains it.
    #[inline]
    pub(super) fn floor(self) -> Nanos {
        Nanos(self.nanos)
    }

    /// The first whole nanosecond at or after it.
    #[inline]
    pub(super) fn ceil(self) -> Nanos {
        Nanos(self.nanos.saturating_add(u64::from(self.grains > 0)))
    }

    /// Whether `time` is at or after it.
    #[inline]
    pub(super) fn is_past(self, time: Nanos) -> bool {
        self.nanos < time.0 || (self.nanos == time.0 && self.grains == 0)
    }

    /// The time in nanoseconds.
    pub(super) fn as_f64(self) -> f64 {
        self.in_grains() as f64 / GRAINS
    }

    fn in_grains(self) -> u128 {
        u128::from(self.nanos) << GRAIN_BITS | u128::from(self.grains)
    }

    /// Grains since `earlier`; 0 if that is later.
    #[inline]
    pub(super) fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.in_grains().saturating_sub(earlier.in_grains())).unwrap_or(u64::MAX)
    }

    /// The time `grains` later.
    #[inline]
    pub(super) fn plus(self, grains: u64) -> Self {
        let part = self.grains + (grains & OF_A_NANO);
        match self.nanos.checked_add((grains >> GRAIN_BITS) + (part >> GRAIN_BITS)) {
            Some(nanos) => Self { nanos, grains: part & OF_A_NANO },
            // The end of time, which is never past.
            None => Self { nanos: u64::MAX, grains: OF_A_NANO },
        }
    }
}

/// The work of a packet of a flow of `weight` whose dominant time is `dominant`, in grains per unit of weight; at least one.
#[inline]
pub(super) fn work(dominant: Nanos, weight: f64) -> u64 {
    per_weight(dominant.as_f64() * GRAINS, weight).clamp(1.0, MAX_WORK) as i64 as u64
}

/// A quantity that grows at a rate and is counted in whole grains; fractions are carried over.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Grains per grain of time.
    pub(super) rate: f64,
    carry: f64,
}

impl Pace {
    /// No growth.
    pub(super) const STILL: Self = Self { rate: 0.0, carry: 0.0 };

    /// The growth in this much time.
    #[inline]
    pub(super) fn pass(&mut self, grains: u64) -> u64 {
        // Signed integers convert in one instruction, unsigned ones in several; the range lasts for 4 years.
        let grown = self.rate * grains.min(i64::MAX as u64) as i64 as f64 + self.carry;
        let whole = grown as i64;
        self.carry = grown - whole as f64;
        whole as u64
    }

    /// The time until it has grown by `left`, which may be negative; `u64::MAX` (never) if it does not grow.
    #[inline]
    pub(super) fn until(&self, left: i64) -> u64 {
        time_to(left, self.rate, self.carry)
    }

    /// The time until it and `other` together have grown by `left`.
    #[inline]
    pub(super) fn until_with(&self, other: &Self, left: i64) -> u64 {
        time_to(left, self.rate + other.rate, self.carry + other.carry)
    }

    /// [`until`](Self::until) before rounding up: not negative, and infinite if it does not grow.
    #[inline(always)]
    pub(super) fn nearly_until(&self, left: i64) -> f64 {
        exactly(left, self.rate, self.carry)
    }

    /// [`until_with`](Self::until_with) before rounding up; `rate` is the sum of both rates.
    #[inline(always)]
    pub(super) fn nearly_until_with(&self, other: &Self, rate: f64, left: i64) -> f64 {
        // Rates are not added here: one wide load would fetch each with its carry, and stall on the store of the carry.
        exactly(left, rate, self.carry + other.carry)
    }
}

#[inline(always)]
fn exactly(left: i64, rate: f64, carry: f64) -> f64 {
    let exact = (left as f64 - carry) / rate;
    if exact > 0.0 { exact } else { 0.0 }
}

/// Whether two times are far enough apart for rounding up not to change their order.
#[inline(always)]
pub(super) fn are_apart(one: f64, other: f64) -> bool {
    let apart = one - other;
    apart >= 2.0 || apart <= -2.0
}

/// Rounds a time up to a whole number, if it is short enough.
#[inline(always)]
pub(super) fn rounded_up(exact: f64) -> Option<u64> {
    if exact < WHOLE {
        // `f64::ceil` is not in core. This rounds to nearest, without the range check of `as`.
        let sum = exact + WHOLE;
        let nearest = sum.to_bits() - WHOLE.to_bits();
        return Some(nearest + u64::from(sum - WHOLE < exact));
    }
    None
}

#[inline]
fn time_to(left: i64, rate: f64, carry: f64) -> u64 {
    let left = left as f64 - carry;
    if left <= 0.0 {
        return 0;
    }
    let exact = left / rate;
    rounded_up(exact).unwrap_or_else(|| time_far_off(exact, rate))
}

/// The time beyond 2^52 grains, 68 s.
#[cold]
#[inline(never)]
fn time_far_off(exact: f64, rate: f64) -> u64 {
    // A time beyond the range is not "never": it is cut short, and the rest stays owed.
    if rate <= 0.0 { u64::MAX } else { exact as i64 as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_grain_is_not_lost() {
        let mut slow = Pace { rate: 0.3, ..Pace::STILL };
        let grown: u64 = (0..1_000_000).map(|_| slow.pass(1)).sum();
        assert!((299_999..=300_000).contains(&grown), "{grown}");
        let mut pace = Pace { rate: 0.3, ..Pace::STILL };
        for left in [1, 2, 17, 12_345] {
            let time = pace.until(left);
            // Rounding of the product may be a grain short; the time decides which packet is done.
            assert!((left - 1..=left + 1).contains(&(pace.pass(time) as i64)));
        }
        assert_eq!((Pace::STILL.until(1), Pace::STILL.until(0)), (u64::MAX, 0));
    }

    #[test]
    fn a_time_is_rounded_up() {
        let at = |rate: f64| Pace { rate, ..Pace::STILL };
        for (left, rate, time) in
            [(1, 1.0, 1), (7, 2.0, 4), (1, 8.0, 1), (5, 8.0, 1), (9, 8.0, 2), (3, 2.0, 2), (6, 2.0, 3)]
        {
            assert_eq!(at(rate).until(left), time, "{left} at {rate}");
        }
        for left in [(1 << 52) - 1, 1 << 52, (1 << 52) + 1, i64::MAX >> 10 << 10] {
            assert_eq!(at(1.0).until(left), left as u64);
        }
        assert_eq!(at(0.5).until((1 << 51) + 1), (1 << 52) + 2);
        assert_eq!(at(1e-9).until(1 << 60), i64::MAX as u64);
    }

    #[test]
    fn a_time_has_a_floor_and_a_ceiling() {
        let at = Fine::from_nanos(Nanos(7)).plus(1);
        assert_eq!((at.floor(), at.ceil()), (Nanos(7), Nanos(8)));
        assert_eq!(Fine::from_nanos(Nanos(7)).ceil(), Nanos(7));
        assert_eq!(Fine::from_nanos(Nanos::MAX).plus(1).ceil(), Nanos::MAX);
        let last = Fine::from_nanos(Nanos::MAX);
        assert!(
            last.is_past(Nanos::MAX) && !last.plus(1).is_past(Nanos::MAX) && !last.plus(1 << 17).is_past(Nanos::MAX)
        );
        assert!(at.is_past(Nanos(8)) && !at.is_past(Nanos(7)) && !at.plus((1 << 16) - 1).is_past(Nanos(7)));
    }

    #[test]
    fn to_add_a_time_and_to_take_it_away_is_nothing() {
        let start = Fine::from_nanos(Nanos(3)).plus(65_535);
        for grains in [0, 1, 2, 65_535, 65_536, 65_537, u64::MAX >> 1, u64::MAX] {
            let end = start.plus(grains);
            assert_eq!((end.since(start), start.since(end)), (grains, 0));
            assert!(end >= start && end.grains <= OF_A_NANO);
        }
    }

    #[test]
    fn a_time_that_is_not_rounded_yet_says_who_is_sooner() {
        let (guarantee, bonus) = (Pace { rate: 0.3, carry: 0.25 }, Pace { rate: 0.7, carry: 0.5 });
        let with = |left| guarantee.nearly_until_with(&bonus, guarantee.rate + bonus.rate, left);
        for left in [i64::MIN, -7, 0, 1, 2, 1000, 1 << 40] {
            assert_eq!(rounded_up(guarantee.nearly_until(left)), Some(guarantee.until(left)));
            assert_eq!(rounded_up(with(left)), Some(guarantee.until_with(&bonus, left)));
        }
        assert_eq!(rounded_up(Pace::STILL.nearly_until(1)), None);
        assert_eq!(Pace::STILL.nearly_until(0), 0.0);
        assert!(are_apart(5.0, 3.0) && are_apart(1.0, f64::INFINITY) && !are_apart(1.5, 0.0));
        assert!(!are_apart(f64::INFINITY, f64::INFINITY));
    }
}
