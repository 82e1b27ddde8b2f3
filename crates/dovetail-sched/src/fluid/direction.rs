//! The proportions in which a packet needs the resources.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT 2014,
//! eq. 12: the processing time on each resource over that on the packet's dominant resource. Two packets with the same
//! proportions are alike to every fluid, whatever their sizes.

use core::cmp::Ordering;

use crate::{Demand, MAX_RESOURCES, Nanos, demand::dominant};

/// Normalised processing times: from 0 to 1 on each resource, and 1 on the dominant one. Entries beyond the pipeline's
/// resources are 0.
#[derive(Debug, Clone, Copy)]
pub struct Direction([f64; MAX_RESOURCES]);

impl Direction {
    /// The direction of a demand of `times`; `None` if it needs nothing. A quotient of integers is correctly rounded, so equal
    /// proportions give equal directions.
    #[inline]
    #[must_use]
    pub fn of(times: &[Nanos]) -> Option<Self> {
        let dominant = dominant(times);
        if dominant == Nanos::ZERO {
            return None;
        }
        let mut direction = [0.0; MAX_RESOURCES];
        for (share, &time) in direction.iter_mut().zip(times) {
            *share = if time == dominant { 1.0 } else { time.as_f64() / dominant.as_f64() };
        }
        Some(Self(direction))
    }

    /// Same as [`of`](Self::of) for two times. They are passed separately: loading both at once would stall until they are
    /// stored.
    #[inline(always)]
    fn of_two([first, second]: [Nanos; 2]) -> Option<Self> {
        let (less, dominant) = if first < second { (first, second) } else { (second, first) };
        if dominant == Nanos::ZERO {
            return None;
        }
        let share = less.as_f64() / dominant.as_f64();
        Some(Self::with_shares(if first < second { [share, 1.0] } else { [1.0, share] }))
    }

    /// The direction with these shares of two resources.
    #[inline(always)]
    pub(super) const fn with_shares([first, second]: [f64; 2]) -> Self {
        Self([first, second, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    }

    /// The direction of a packet's demand; `None` if it needs nothing.
    #[inline(always)]
    pub(super) fn of_demand(demand: &Demand) -> Option<Self> {
        match demand.times().len() {
            0..=2 => Self::of_two(demand.first_two()),
            _ => Self::of(demand.times()),
        }
    }

    /// A few bits that differ for most unequal directions. Not for a table that an attacker could fill.
    #[inline]
    pub(super) fn digest(&self) -> u32 {
        // Not a sequential chain: most shares are 0, and each step would wait for the one before.
        let [a, b, c, d, e, f, g, h] = self.0.map(f64::to_bits);
        let pair = |one: u64, other: u64| one.rotate_left(9) ^ other;
        let four = |one: u64, other: u64| one.rotate_left(18) ^ other;
        let mixed = four(pair(a, b), pair(c, d)).rotate_left(36) ^ four(pair(e, f), pair(g, h));
        let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as u32
    }

    /// Whether two directions over two resources are equal: the other shares need not be loaded.
    #[inline]
    pub(super) fn equals_of_two(&self, other: &Self) -> bool {
        let differs = |at: usize| self.0[at].to_bits() ^ other.0[at].to_bits();
        differs(0) | differs(1) == 0
    }

    /// The normalised time on each resource.
    #[inline]
    #[must_use]
    pub fn shares(&self) -> &[f64; MAX_RESOURCES] {
        &self.0
    }
}

/// By the first resource, then by the second and so on: a total order for lookup.
impl Ord for Direction {
    fn cmp(&self, other: &Self) -> Ordering {
        // Never negative nor NaN, so the bits compare like the numbers.
        self.0.map(f64::to_bits).cmp(&other.0.map(f64::to_bits))
    }
}

impl PartialOrd for Direction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares all shares at once: a branch for each would cost more, and it does not matter which differs.
impl PartialEq for Direction {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a.to_bits() ^ b.to_bits())) == 0
    }
}

impl Eq for Direction {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportions_matter_and_sizes_do_not() {
        let of = |times: [u64; 3]| Direction::of(&times.map(Nanos));
        assert_eq!(of([3, 9, 0]), of([1000, 3000, 0]));
        assert_ne!(of([3, 9, 0]), of([3, 9, 1]));
        assert_eq!(of([0, 0, 0]), None);
        let direction = of([5, 20, 10]).expect("needs something");
        assert_eq!(direction.shares()[..4], [0.25, 1.0, 0.5, 0.0]);
    }
}
