//! The grains in which a fluid's time and work are counted.
//!
//! Both are whole numbers of 2^-16 ns, so that sums do not drift, two ways to compute the same thing agree to the last
//! bit, and ties are ties. A virtual time of 64 bits lasts for more than three days at that grain (it may run up to
//! `1/w` times as fast as the clock for a flow of weight `w`) before it has to be set back. Products of times and rates are
//! exact to the grain below 2^53 grains, 137 s.

use crate::{Nanos, flow::per_weight};

/// How many grains make a nanosecond.
const GRAINS: f64 = 65_536.0;
const GRAIN_BITS: u32 = 16;

/// The most work that one packet counts for, far below where tags would overflow: 2^44 ns per unit of weight, which is
/// 4.9 hours at weight 1 and 17.6 ms at 10^-6. What a packet takes beyond that is not charged to its flow.
const MOST_WORK: f64 = (1u64 << 60) as f64;

/// 2^52: from here on there are no numbers between the whole ones. The bits of 2^52 and those of its sum with a whole number
/// less than it differ by that number.
const WHOLE: f64 = (1u64 << 52) as f64;

/// A time on the fluid's clock, in grains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Fine(u128);

impl Fine {
    #[inline]
    pub(super) fn from_nanos(at: Nanos) -> Self {
        Self(u128::from(at.0) << GRAIN_BITS)
    }

    /// The nanosecond that it lies in.
    #[inline]
    pub(super) fn floor(self) -> Nanos {
        Nanos((self.0 >> GRAIN_BITS) as u64)
    }

    /// The first whole nanosecond at which it is past.
    #[inline]
    pub(super) fn ceil(self) -> Nanos {
        Nanos(u64::try_from((self.0 + (1 << GRAIN_BITS) - 1) >> GRAIN_BITS).unwrap_or(u64::MAX))
    }

    /// In nanoseconds.
    pub(super) fn as_f64(self) -> f64 {
        self.0 as f64 / GRAINS
    }

    /// Grains from `earlier` to here, 0 if that is later.
    #[inline]
    pub(super) fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(u64::MAX)
    }

    #[inline]
    pub(super) fn plus(self, grains: u64) -> Self {
        Self(self.0 + u128::from(grains))
    }
}

/// The work of a packet of a flow of `weight` whose dominant time is `dominant`, in grains per unit of weight; at least
/// one for a packet that needs anything.
#[inline]
pub(super) fn work(dominant: Nanos, weight: f64) -> u64 {
    per_weight(dominant.as_f64() * GRAINS, weight).clamp(1.0, MOST_WORK) as i64 as u64
}

/// Something that grows at a rate and is counted in whole grains; what is left of a grain is carried on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Grains per grain of time.
    pub(super) rate: f64,
    carry: f64,
}

impl Pace {
    /// Does not grow.
    pub(super) const STILL: Self = Self { rate: 0.0, carry: 0.0 };

    /// How much it grows in so much time.
    #[inline]
    pub(super) fn pass(&mut self, grains: u64) -> u64 {
        // Signed numbers are converted by one instruction, unsigned ones by several; the range lasts for 4 years.
        let grown = self.rate * grains.min(i64::MAX as u64) as i64 as f64 + self.carry;
        let whole = grown as i64;
        self.carry = grown - whole as f64;
        whole as u64
    }

    /// How much time until it has grown by `left`, which may be negative; `u64::MAX` is never, if it does not grow.
    #[inline]
    pub(super) fn until(&self, left: i64) -> u64 {
        time_to(left, self.rate, self.carry)
    }

    /// The same if `other` grows beside it and both count.
    #[inline]
    pub(super) fn until_with(&self, other: &Self, left: i64) -> u64 {
        time_to(left, self.rate + other.rate, self.carry + other.carry)
    }
}

#[inline]
fn time_to(left: i64, rate: f64, carry: f64) -> u64 {
    let left = left as f64 - carry;
    if left <= 0.0 {
        return 0;
    }
    let exact = left / rate;
    if exact < WHOLE {
        // `f64::ceil` is not in core. This rounds to the nearest, without the look of `as` at what is out of range.
        let sum = exact + WHOLE;
        let nearest = sum.to_bits() - WHOLE.to_bits();
        return nearest + u64::from(sum - WHOLE < exact);
    }
    time_far_off(exact, rate)
}

/// The same beyond 2^52 grains, 68 s.
#[cold]
#[inline(never)]
fn time_far_off(exact: f64, rate: f64) -> u64 {
    // What takes longer than the range is not never: it is cut short, and owed.
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
            // Rounding of the product may be a grain short; who is done is decided by the time.
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
    }
}
