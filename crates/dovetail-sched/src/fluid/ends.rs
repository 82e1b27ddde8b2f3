//! Which flows get what is left of at most two resources.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT
//! 2014, theorem 3. After every flow has its guaranteed share, `mu_r` of resource `r` is left. A group of direction
//! `(a_1, a_2)`, the larger of them 1, that is given the dominant share `x` uses `a_r x` of resource `r`, and the sum of
//! all `x` is to be as large as possible (eq. 21); of several ways to do so, the one that uses most (eq. 18).
//!
//! Order the groups by `a_1 / a_2`. Among groups with the same dominant resource, the one at the end of the order needs
//! least of the other resource, so whatever a group in the middle is given could go to one of the two ends instead: the
//! sum stays the same, and no resource is used more. With a *high* end `h` and a *low* end `l` the program has two
//! unknowns, and the position of `mu_1 / mu_2` relative to the two ends tells which limits bind:
//!
//! 1. `mu_1 / mu_2 < l_1 / l_2`: even the group that is most sparing with resource 1 runs out of it first. It gets
//!    `mu_1 / l_1`, and some of resource 2 stays idle, as it would with any other group.
//! 2. `mu_1 / mu_2 > h_1 / h_2`: the same with the resources and the ends exchanged. The high end gets `mu_2 / h_2`.
//! 3. In between, both resources can be used up. That takes the solution of `h_r x_h + l_r x_l = mu_r` for `r = 1, 2`.
//!
//! Eq. 18 is met in each. In the third case nothing is left to use. In the first, if another group would do as well, then
//! its `a_1` is as small as the low end's; that comes earlier in the order only by a smaller `a_2`, so it would use less
//! of resource 2 for the same sum. Likewise the second.
//!
//! **Exactly ordered, never divided.** Only one of `a_1`, `a_2` is not 1, so the order is that of an integer: the bits of
//! `a_1` while `a_2` is 1, and otherwise as far above the bits of 1 as those of `a_2` are below them. The number determines the
//! direction, and the [order](super::order) stores nothing else. The cases are distinguished by cross-multiplication. In
//! the third, the dominant demand of the high end is a pivot of exactly 1; elimination with it leaves residuals of a few last
//! places even when the two ends are nearly parallel.
//!
//! With one resource every flow has the direction (1, 0), and the whole of it goes to the group of the lowest id.

use super::{Direction, Grant, GroupId, order::Order};

/// The groups in order of their proportions.
#[derive(Debug)]
pub struct Ends {
    order: Order,
    // Two slots, of which this many are in use.
    grants: [Grant; 2],
    granted: usize,
}

const ONE: u64 = 1.0_f64.to_bits();
/// The place of a group that needs nothing of resource 2.
const HIGHEST: u64 = 2 * ONE;

impl Ends {
    /// No groups.
    #[must_use]
    pub fn new() -> Self {
        let none = Grant { group: GroupId(u32::MAX), share: 0.0 };
        Self { order: Order::default(), grants: [none; 2], granted: 0 }
    }

    /// Adds a group, or changes its direction. Resources beyond the second are ignored. O(log groups).
    pub fn insert(&mut self, group: GroupId, direction: &Direction) {
        self.order.set(group, place_of(direction));
    }

    /// Removes a group, if it is present. O(log groups).
    pub fn remove(&mut self, group: GroupId) {
        self.order.remove(group);
    }

    /// The groups at the two ends, which may be the same.
    #[inline]
    #[must_use]
    pub fn ends(&self) -> Option<(GroupId, GroupId)> {
        Some((self.order.low()?.0, self.order.high()?.0))
    }

    /// The last result of [`solve`](Self::solve).
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants[..self.granted]
    }

    /// Distributes what is left of each resource, a fraction from 0 to 1: at most two groups get something. O(1).
    ///
    /// Among groups with equal directions the lowest id is favoured. Groups that get nothing are not listed.
    pub fn solve(&mut self, spare: &[f64]) -> &[Grant] {
        self.granted = 0;
        let (Some((low, low_place)), Some((high, high_place))) = (self.order.low(), self.order.high()) else {
            return &[];
        };
        let (l, h) = (shares_at(low_place), shares_at(high_place));
        let mu = [0, 1].map(|r| spare.get(r).map_or(0.0, |&left| if left > 0.0 { left.min(1.0) } else { 0.0 }));
        let (to_low, to_high) = if mu[0] * l[1] < mu[1] * l[0] {
            (alone(l, mu), 0.0)
        } else if mu[0] * h[1] > mu[1] * h[0] || low_place == high_place {
            (0.0, alone(h, mu))
        } else {
            both(l, h, mu)
        };
        for (group, share) in [(low, to_low), (high, to_high)] {
            if share > 0.0 {
                self.grants[self.granted] = Grant { group, share };
                self.granted += 1;
            }
        }
        self.grants()
    }
}

impl Default for Ends {
    fn default() -> Self {
        Self::new()
    }
}

/// A direction's place in the order of `a_1 / a_2`: 0 needs nothing of resource 1, [`HIGHEST`] nothing of resource 2.
#[inline]
pub(super) fn place_of(direction: &Direction) -> u64 {
    let [first, second, ..] = *direction.shares();
    if second == 1.0 { first.to_bits() } else { HIGHEST - second.to_bits() }
}

/// The direction at a place.
#[inline]
pub(super) fn shares_at(place: u64) -> [f64; 2] {
    if place <= ONE { [f64::from_bits(place), 1.0] } else { [1.0, f64::from_bits(HIGHEST - place)] }
}

/// What one group alone can get of what is left.
fn alone(a: [f64; 2], mu: [f64; 2]) -> f64 {
    let limit = |r: usize| if a[r] > 0.0 { mu[r] / a[r] } else { f64::INFINITY };
    limit(0).min(limit(1))
}

/// The shares of the two ends, which are not equal, if together they use up both resources.
fn both(l: [f64; 2], h: [f64; 2], mu: [f64; 2]) -> (f64, f64) {
    let dominant = usize::from(h[0] < 1.0);
    let other = 1 - dominant;
    // What the low end needs, and what is left, of the other resource beyond the high end's use of it.
    let need = l[other] - h[other] * l[dominant];
    let left = mu[other] - h[other] * mu[dominant];
    let to_low = (left / need).clamp(0.0, if l[0] == 1.0 { mu[0] } else { mu[1] });
    (to_low, (mu[dominant] - l[dominant] * to_low).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;

    fn ends(demands: &[[u64; 2]]) -> Ends {
        let mut ends = Ends::new();
        for (group, demand) in (0..).map(GroupId).zip(demands) {
            ends.insert(group, &Direction::of(&demand.map(Nanos)).expect("needs something"));
        }
        ends
    }

    #[test]
    fn the_papers_example() {
        // Figure 1: 2 of CPU and 3 of link against 9 and 1. Section 3.3 prints the two shares in the wrong order: that
        // would take 6/25 + 24/25 of the CPU.
        let mut ends = ends(&[[2, 3], [9, 1]]);
        let [low, high] = *ends.solve(&[1.0, 1.0]) else { panic!("both are favoured") };
        assert_eq!((low.group, high.group), (GroupId(0), GroupId(1)));
        assert!((low.share - 24.0 / 25.0).abs() < 1e-15 && (high.share - 9.0 / 25.0).abs() < 1e-15);
    }

    #[test]
    fn a_place_gives_its_direction_back() {
        let demands = [[0, 7], [1, 1_000_000_007], [1, 3], [6, 7], [1, 1], [7, 6], [3, 1], [1_000_000_007, 1], [7, 0]];
        let places = demands.map(|demand| {
            let direction = Direction::of(&demand.map(Nanos)).expect("needs something");
            let place = place_of(&direction);
            assert_eq!(shares_at(place), direction.shares()[..2]);
            place
        });
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    }

    #[test]
    fn nothing_is_left_or_the_number_is_none() {
        let mut ends = ends(&[[1, 0], [0, 1], [1, 1]]);
        for spare in [[0.0, 0.0], [-1e-17, 0.0], [f64::NAN, f64::NAN]] {
            assert_eq!(ends.solve(&spare), []);
        }
        assert_eq!(ends.solve(&[]), []);
        assert_eq!(ends.solve(&[f64::NAN, 1.0]), [Grant { group: GroupId(1), share: 1.0 }]);
    }
}
