//! One amount per resource: rates, or the cost of a packet.

use core::{fmt, ops::Index};

use super::amount::{Amount, AmountError};
use crate::MAX_RESOURCES;

/// One amount for each of 1 to [`MAX_RESOURCES`] resources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    len: usize,
    of: [Amount; MAX_RESOURCES],
}

impl Amounts {
    /// Takes `units[j]` for resource `j`.
    ///
    /// # Errors
    /// Same as for [`Amount::new`], and [`AmountError::Resources`] for none or too many.
    pub fn new(units: &[f64]) -> Result<Self, AmountError> {
        let mut amounts = Self::zero(units.len())?;
        for (amount, &units) in amounts.of.iter_mut().zip(units) {
            *amount = Amount::new(units)?;
        }
        Ok(amounts)
    }

    /// Takes `amounts[j]` for resource `j`.
    ///
    /// # Errors
    /// [`AmountError::Resources`] for none or too many.
    pub fn from_amounts(amounts: &[Amount]) -> Result<Self, AmountError> {
        let mut copy = Self::zero(amounts.len())?;
        copy.of[..amounts.len()].copy_from_slice(amounts);
        Ok(copy)
    }

    fn zero(len: usize) -> Result<Self, AmountError> {
        if (1..=MAX_RESOURCES).contains(&len) {
            Ok(Self { len, of: [Amount::ZERO; MAX_RESOURCES] })
        } else {
            Err(AmountError::Resources(len))
        }
    }

    /// Zero for the same number of resources.
    pub(super) const fn nothing(&self) -> Self {
        Self { len: self.len, of: [Amount::ZERO; MAX_RESOURCES] }
    }

    /// The amounts in order of resource.
    #[must_use]
    pub fn as_slice(&self) -> &[Amount] {
        &self.of[..self.len]
    }

    /// The number of resources.
    #[must_use]
    pub const fn resources(&self) -> usize {
        self.len
    }

    /// Combines two amounts resource by resource.
    pub(super) fn join(&self, other: &Self, join: impl Fn(Amount, Amount) -> Amount) -> Self {
        let mut joined = *self;
        for (amount, &other) in joined.of[..self.len].iter_mut().zip(&other.of) {
            *amount = join(*amount, other);
        }
        joined
    }
}

impl Index<usize> for Amounts {
    type Output = Amount;
    fn index(&self, resource: usize) -> &Amount {
        &self.as_slice()[resource]
    }
}

impl fmt::Debug for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_one_to_eight() {
        assert_eq!(Amounts::new(&[]), Err(AmountError::Resources(0)));
        assert_eq!(Amounts::new(&[1.0; 9]), Err(AmountError::Resources(9)));
        assert_eq!(Amounts::new(&[1.0, f64::NAN]), Err(AmountError::Range));
        let eight = Amounts::new(&[2.0; 8]).expect("eight amounts");
        assert_eq!((eight.resources(), eight.as_slice().len(), eight[7]), (8, 8, Amount::new(2.0).expect("an amount")));
    }
}
