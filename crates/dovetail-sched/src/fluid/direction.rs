//! The proportion in which a packet needs the resources.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT
//! 2014, eq. 12: the processing time on each resource over that on the packet's dominant resource. Two packets with the
//! same proportions are alike to every fluid, whatever their sizes.

use core::cmp::Ordering;

use crate::{Demand, MAX_RESOURCES, Nanos, demand::dominant};

/// Normalised processing times: between 0 and 1 on each resource, and 1 on the dominant one. Resources that a pipeline
/// does not have count 0.
#[derive(Debug, Clone, Copy)]
pub struct Direction([f64; MAX_RESOURCES]);

impl Direction {
    /// The direction of a demand of `times`; `None` if it needs nothing. A quotient of whole numbers is rounded
    /// correctly, so equal proportions give equal directions.
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

    /// The same of two times. One by one: to load both at once would wait until they are stored.
    #[inline(always)]
    fn of_two([first, second]: [Nanos; 2]) -> Option<Self> {
        let (less, dominant) = if first < second { (first, second) } else { (second, first) };
        if dominant == Nanos::ZERO {
            return None;
        }
        let share = less.as_f64() / dominant.as_f64();
        Some(Self::with_shares(if first < second { [share, 1.0] } else { [1.0, share] }))
    }

    /// The direction that has these shares of two resources.
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

    /// A few bits that differ for most directions that differ. Not for a table that an attacker could fill.
    #[inline]
    pub(super) fn digest(&self) -> u32 {
        // Not one after the other: most of them are 0, and each would have to wait.
        let [a, b, c, d, e, f, g, h] = self.0.map(f64::to_bits);
        let pair = |one: u64, other: u64| one.rotate_left(9) ^ other;
        let four = |one: u64, other: u64| one.rotate_left(18) ^ other;
        let mixed = four(pair(a, b), pair(c, d)).rotate_left(36) ^ four(pair(e, f), pair(g, h));
        let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as u32
    }

    /// Whether two directions of two resources are equal: the others need not be fetched.
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

/// By the first resource, then by the second and so on: an order to find directions by.
impl Ord for Direction {
    fn cmp(&self, other: &Self) -> Ordering {
        // Never negative nor NaN, so their bits are in order.
        self.0.map(f64::to_bits).cmp(&other.0.map(f64::to_bits))
    }
}

impl PartialOrd for Direction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All at once: which of them differs is of no interest, and a branch for each would cost more.
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
