//! Flows: their ids, their queues and their limits.

mod limits;
mod map;
mod queues;
mod table;
mod turns;

pub use limits::{DropPolicy, Limits};
pub use map::FlowMap;
pub use queues::{Place, Queues, Waiting};
pub use table::{FiveTuple, FlowTable, Lookup, TableError};
pub use turns::Turns;

pub(crate) use queues::Full;

#[cfg(test)]
pub(crate) use queues::BYTES_A_QUEUE;

use core::fmt;

/// A flow's dense id: an index into tables, assigned from 0 by a [`FlowTable`] or by the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The id as an index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A flow's share relative to others: a number from 10^-6 to 10^6; 1 by default.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Weight(f64);

impl Weight {
    /// The default weight.
    pub const ONE: Self = Self(1.0);

    /// `weight`, if it is in range.
    ///
    /// # Errors
    /// `None` for NaN and values out of range.
    #[must_use]
    pub fn new(weight: f64) -> Option<Self> {
        (1e-6..=1e6).contains(&weight).then_some(Self(weight))
    }

    /// The weight as a number.
    #[inline]
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

/// An amount per unit of weight. Skips the division for the weight 1, which most flows have: a division takes longer than the
/// test.
#[inline(always)]
#[must_use]
pub fn per_weight(amount: f64, weight: f64) -> f64 {
    // Out of line: inlined, the compiler sees that dividing by 1 changes nothing, and removes the test.
    #[cold]
    #[inline(never)]
    fn divided(amount: f64, weight: f64) -> f64 {
        amount / weight
    }
    if weight == 1.0 { amount } else { divided(amount, weight) }
}
