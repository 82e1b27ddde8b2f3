//! How much the backlogged flows would take of each resource at equal dominant shares.
//!
//! With `a_ir` the normalised time of flow `i`'s head-of-line packet on resource `r` ([`Direction`]) and `w_i` its
//! weight, let `S_r = sum of w_i a_ir`. The fair dominant share per unit of weight, and what is left of resource `r`
//! when every flow has the fraction alpha of it, are (Wang et al., CoNEXT 2014, eqs. 16 and 22, with weights)
//!
//! ```text
//! d = 1 / max_r S_r          mu_r = 1 - alpha S_r / max_r S_r
//! ```
//!
//! The sums change with every packet for as long as the scheduler runs, so they are kept exactly ([`WeightSum`]).

use super::{Alpha, Direction, WeightSum};
use crate::MAX_RESOURCES;

/// The sums.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    resources: usize,
    sums: [WeightSum; MAX_RESOURCES],
}

impl Tally {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, ..Self::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, weight: f64, direction: &Direction) {
        self.each(direction, |sum, share| sum.add(weight * share));
    }

    #[inline]
    pub(super) fn remove(&mut self, weight: f64, direction: &Direction) {
        self.each(direction, |sum, share| sum.remove(weight * share));
    }

    /// Changes each resource's sum by a direction's share of it.
    #[inline(always)]
    fn each(&mut self, direction: &Direction, mut change: impl FnMut(&mut WeightSum, f64)) {
        // Most pipelines have two resources, or one, which counts as two: the share of the second is then 0.
        let ([first, second, sums @ ..], [a, b, shares @ ..]) = (&mut self.sums, direction.shares());
        change(first, *a);
        change(second, *b);
        for (sum, &share) in sums.iter_mut().zip(shares).take(self.resources.saturating_sub(2)) {
            change(sum, share);
        }
    }

    #[inline]
    pub(super) fn replace(&mut self, weight: f64, old: &Direction, new: &Direction) {
        // Most packets need the most of one resource or the other, so one of the two shares often stays 1.
        let change = |sum: &mut WeightSum, old: f64, new: f64| {
            if old != new {
                sum.replace(weight * old, weight * new);
            }
        };
        let ([first, second, sums @ ..], [a, b, olds @ ..], [c, d, news @ ..]) =
            (&mut self.sums, old.shares(), new.shares());
        change(first, *a, *c);
        change(second, *b, *d);
        let shares = olds.iter().zip(news);
        for (sum, (&old, &new)) in sums.iter_mut().zip(shares).take(self.resources.saturating_sub(2)) {
            change(sum, old, new);
        }
    }

    /// The sum for each resource; 0 beyond the pipeline's resources.
    #[inline]
    pub(super) fn totals(&self) -> [f64; MAX_RESOURCES] {
        let mut totals = [0.0; MAX_RESOURCES];
        for (total, sum) in totals.iter_mut().zip(&self.sums[..self.resources]) {
            *total = sum.total();
        }
        totals
    }

    /// The rate at which every flow is guaranteed service, per unit of weight. Writes what that leaves of each resource to
    /// `spare`, which must be 0: returning it would mean a copy that stalls until all stores are done.
    #[inline]
    pub(super) fn guarantee(&self, alpha: Alpha, spare: &mut [f64; MAX_RESOURCES]) -> f64 {
        // The sums are never NaN, for which `f64::max` would check.
        let larger = |most: f64, total: f64| if total > most { total } else { most };
        let [first, second, sums @ ..] = &self.sums;
        let mut most = larger(larger(0.0, first.total()), second.total());
        let sums = &sums[..self.resources.saturating_sub(2)];
        for sum in sums {
            most = larger(most, sum.total());
        }
        if most <= 0.0 {
            return 0.0;
        }
        // In this order, so that nothing at all is left of the bottleneck if alpha is 1.
        let left = |sum: &WeightSum| 1.0 - alpha.as_f64() * (sum.total() / most);
        (spare[0], spare[1]) = (left(first), left(second));
        for (spare, sum) in spare[2..].iter_mut().zip(sums) {
            *spare = left(sum);
        }
        alpha.as_f64() / most
    }
}
