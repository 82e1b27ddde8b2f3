//! Exact decimal amounts.
//!
//! In binary floating point three times 0.1 is more than 0.3, and whether a third flow fits would depend on it. An [`Amount`]
//! is a whole number of billionths, up to 10^27 of them: every decimal with nine places is exact, and so are sums, differences
//! and the comparison with a limit. A billionth of a second is a nanosecond, the unit of all other times in this crate.

use core::fmt;

use crate::{MAX_RESOURCES, Nanos};

const BILLION: u128 = 1_000_000_000;
/// The largest amount, in units.
const MAX_UNITS: f64 = 1e18;

/// An amount of a resource, or a rate in units per second: 0 to 10^18, in steps of 10^-9.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount {
    billionths: u128,
}

impl Amount {
    /// Zero.
    pub const ZERO: Self = Self { billionths: 0 };
    /// One unit.
    pub const ONE: Self = Self { billionths: BILLION };

    /// Rounds `units` to the nearest billionth.
    ///
    /// # Errors
    /// [`AmountError::Range`] unless `units` is a number from 0 to 10^18, [`AmountError::TooSmall`] if a positive
    /// number would be rounded to 0.
    pub fn new(units: f64) -> Result<Self, AmountError> {
        if !(0.0..=MAX_UNITS).contains(&units) {
            return Err(AmountError::Range);
        }
        // The whole part is split off first: both parts are exact.
        let whole = units as u64;
        let rest = (units - whole as f64) * BILLION as f64;
        let billionths = u128::from(whole) * BILLION + u128::from((rest + 0.5) as u64);
        if billionths == 0 && units > 0.0 { Err(AmountError::TooSmall) } else { Ok(Self { billionths }) }
    }

    /// The amount in billionths of a unit.
    #[must_use]
    pub const fn billionths(self) -> u128 {
        self.billionths
    }

    /// The amount in units; exact to 53 bits.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.billionths as f64 / BILLION as f64
    }

    /// The saturating sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { billionths: self.billionths.saturating_add(other.billionths) }
    }

    /// The difference; zero if `other` is more.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { billionths: self.billionths.saturating_sub(other.billionths) }
    }

    /// The fraction `part`, at most 1, of this amount, rounded down.
    pub(super) const fn part(self, part: Self) -> Self {
        Self { billionths: self.billionths * part.billionths / BILLION }
    }

    /// One of `count` equal parts, rounded down.
    pub(super) fn split(self, count: u32) -> Option<Self> {
        Some(Self { billionths: self.billionths.checked_div(count.into())? })
    }

    /// The time that this amount takes at `per_s` units a second, rounded up and saturating; [`Nanos::MAX`] at a rate of 0
    /// unless it is zero.
    #[must_use]
    pub fn time_at(self, per_s: Self) -> Nanos {
        if self == Self::ZERO {
            return Nanos::ZERO;
        }
        // At most 10^27 billionths times 10^9 ns, which fits.
        let nanos = (self.billionths * BILLION).checked_add(per_s.billionths.saturating_sub(1));
        let nanos = nanos.and_then(|nanos| nanos.checked_div(per_s.billionths));
        Nanos(nanos.and_then(|nanos| nanos.try_into().ok()).unwrap_or(u64::MAX))
    }
}

/// In units, as a decimal without trailing zeros.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest) = (self.billionths / BILLION, self.billionths % BILLION);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let mut places = 9;
        while rest.is_multiple_of(10) {
            rest /= 10;
            places -= 1;
        }
        write!(f, "{whole}.{rest:0places$}")
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a number is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountError {
    /// Negative, infinite, not a number, or over 10^18.
    Range,
    /// Positive, but less than half a billionth.
    TooSmall,
    /// The wrong number of resources: not 1 to [`MAX_RESOURCES`].
    Resources(usize),
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range => f.write_str("an amount is a number from 0 to 1e18"),
            Self::TooSmall => f.write_str("an amount is a multiple of 1e-9, and this rounds to 0"),
            Self::Resources(given) => write!(f, "there are 1 to {MAX_RESOURCES} resources, not {given}"),
        }
    }
}

impl core::error::Error for AmountError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    fn amount(units: f64) -> Amount {
        Amount::new(units).expect("an amount")
    }

    #[test]
    fn decimals_add_up() {
        assert_eq!(amount(0.1).plus(amount(0.1)).plus(amount(0.1)), amount(0.3));
        assert_eq!(amount(1000.0).part(amount(0.95)), amount(950.0));
        assert_eq!(amount(1e18).part(Amount::ONE), amount(1e18));
        for (units, text) in
            [(0.0, "0"), (250.0, "250"), (0.07, "0.07"), (1e-9, "0.000000001"), (12.500_000_001, "12.500000001")]
        {
            assert_eq!(amount(units).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300, -1.0, 1.01e18] {
            assert_eq!(Amount::new(wrong), Err(AmountError::Range), "{wrong}");
        }
        assert_eq!(Amount::new(4e-10), Err(AmountError::TooSmall));
        assert_eq!(Amount::new(f64::MIN_POSITIVE), Err(AmountError::TooSmall));
    }

    #[test]
    fn times_are_rounded_up() {
        assert_eq!(amount(30.0).time_at(amount(750.0)), Nanos::from_millis(40));
        assert_eq!(amount(1.0).time_at(amount(3.0)), Nanos(333_333_334));
        assert_eq!(Amount::ZERO.time_at(Amount::ZERO), Nanos::ZERO);
        assert_eq!(amount(1e-9).time_at(Amount::ZERO), Nanos::MAX);
        assert_eq!(amount(1e18).time_at(amount(1e-9)), Nanos::MAX);
        assert_eq!(amount(1e-9).time_at(amount(1e18)), Nanos(1));
    }

    proptest! {
        #[test]
        fn rounding_is_to_the_nearest(units in 0.0..1e6f64) {
            prop_assume!(units >= 1e-9);
            prop_assert!((amount(units).as_f64() - units).abs() <= 0.5e-9 + 1e-9 * f64::EPSILON * units + units * f64::EPSILON);
        }

        #[test]
        fn whole_numbers_are_exact(units in 0u64..1_000_000_000_000_000_000) {
            let units = units as f64;
            prop_assert_eq!(amount(units).billionths(), units as u128 * 1_000_000_000);
        }
    }
}
