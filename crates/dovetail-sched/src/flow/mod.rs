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

/// A flow's dense id: an index into tables, given out from 0 by a [`FlowTable`] or by the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// As an index.
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

/// A flow's share relative to others: a number from 10^-6 to 10^6, by default 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Weight(f64);

impl Weight {
    /// The default.
    pub const ONE: Self = Self(1.0);

    /// `weight`, if it is in range.
    ///
    /// # Errors
    /// `None` for NaN and out of range.
    #[must_use]
    pub fn new(weight: f64) -> Option<Self> {
        (1e-6..=1e6).contains(&weight).then_some(Self(weight))
    }

    /// As a number.
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

/// An amount per unit of weight. Most flows have the weight 1, and a division takes longer than to see that.
#[inline(always)]
#[must_use]
pub fn per_weight(amount: f64, weight: f64) -> f64 {
    // Not in place, where it would be seen that the division changes nothing, and be done without asking.
    #[cold]
    #[inline(never)]
    fn divided(amount: f64, weight: f64) -> f64 {
        amount / weight
    }
    if weight == 1.0 { amount } else { divided(amount, weight) }
}
