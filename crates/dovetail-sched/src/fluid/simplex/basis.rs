//! A basis of the linear program: as many columns as resources, the only ones with amounts other than 0.
//!
//! There are few resources, so the matrix is factored from scratch whenever a column is exchanged: nothing is updated, and
//! nothing drifts. Its columns are ordered by their shares, so that every number here depends only on which columns they are,
//! and not on how they entered.
//!
//! Columns may be nearly parallel, if packets' times differ by a nanosecond. Then the last digits of a solution are lost, and
//! are recovered by residuals in doubled precision.

use core::array;

use super::doubled::residual;
use crate::{MAX_RESOURCES, fluid::GroupId};

/// A number for each resource; 0 beyond the pipeline's resources.
pub(super) type Shares = [f64; MAX_RESOURCES];

/// Dominant share; then use, that is, as little idle as possible; then the lots, so that exactly one allocation is the best.
pub(super) const OBJECTIVES: usize = 3;
/// The value of a unit of each resource for each objective.
pub(super) type Prices = [Shares; OBJECTIVES];
/// The contribution of a unit of a column to each objective.
pub(super) type Worth = [f64; OBJECTIVES];

/// A smaller pivot counts as 0.
const SINGULAR: f64 = 1.0 / (1_u64 << 48) as f64;
/// If no pivot is smaller than this, solutions are exact to the last digits.
const STURDY: f64 = 1.0 / 64.0;
/// Enough for the worst-conditioned matrix that does not count as singular.
const CORRECTIONS: usize = 8;

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// The part of this resource that is left idle.
    Idle(usize),
    /// The share of a group.
    Group(GroupId),
    /// A group that was removed and must get nothing.
    Gone,
}

/// A column, what a unit of it takes of each resource, and its lot for breaking ties.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) column: Column,
    pub(super) shares: Shares,
    pub(super) lot: f64,
}

impl Member {
    pub(super) fn idle(resource: usize) -> Self {
        Self { column: Column::Idle(resource), shares: unit(resource), lot: 0.0 }
    }

    fn worth(&self) -> Worth {
        if let Column::Idle(_) = self.column { [0.0, -1.0, 0.0] } else { [1.0, 0.0, self.lot] }
    }
}

fn unit(at: usize) -> Shares {
    array::from_fn(|r| if r == at { 1.0 } else { 0.0 })
}

/// The basis, its factors, and its prices.
#[derive(Debug)]
pub(super) struct Basis {
    resources: usize,
    members: [Member; MAX_RESOURCES],
    // By row, the unit lower triangle below the upper one. Row `i` belongs to resource `rows[i]`.
    factors: [Shares; MAX_RESOURCES],
    rows: [usize; MAX_RESOURCES],
    sturdy: bool,
    prices: Prices,
}

impl Basis {
    /// A basis with everything idle.
    pub(super) fn new(resources: usize) -> Self {
        let mut basis = Self {
            resources,
            members: array::from_fn(Member::idle),
            factors: [[0.0; MAX_RESOURCES]; MAX_RESOURCES],
            rows: array::from_fn(|r| r),
            sturdy: true,
            prices: [[0.0; MAX_RESOURCES]; OBJECTIVES],
        };
        basis.settle();
        basis
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members[..self.resources]
    }

    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.members[..self.resources].iter_mut()
    }

    pub(super) fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Replaces the member at `leaving` by `member`. If the result is numerically singular, changes nothing and returns false.
    pub(super) fn exchange(&mut self, leaving: usize, member: Member) -> bool {
        let before = self.members;
        self.members[leaving] = member;
        if self.settle() {
            return true;
        }
        self.members = before;
        self.settle();
        false
    }

    /// The amounts of the members that use up `resources`.
    pub(super) fn amounts(&self, resources: &Shares) -> Shares {
        self.corrected(resources, |rest| self.solve(rest), |i, k| self.members[k].shares[i])
    }

    /// The member's row of the inverse.
    pub(super) fn row(&self, member: usize) -> Shares {
        self.priced(&unit(member))
    }

    /// The prices at which the members are worth this.
    fn priced(&self, worth: &Shares) -> Shares {
        self.corrected(worth, |rest| self.solve_transposed(rest), |k, i| self.members[k].shares[i])
    }

    /// Orders the members, factors the matrix and computes prices.
    fn settle(&mut self) -> bool {
        let m = self.resources;
        // Shares are not negative, so their bits compare like the numbers.
        self.members[..m].sort_unstable_by_key(|member| member.shares.map(f64::to_bits));
        let smallest = self.factor();
        if smallest < SINGULAR {
            return false;
        }
        self.sturdy = smallest >= STURDY;
        let worth: [Worth; MAX_RESOURCES] = array::from_fn(|k| self.members[k].worth());
        self.prices = array::from_fn(|objective| {
            let worth = array::from_fn(|k| if k < m { worth[k][objective] } else { 0.0 });
            self.priced(&worth)
        });
        true
    }

    /// Gaussian elimination with the largest pivot of each column; returns the smallest pivot.
    fn factor(&mut self) -> f64 {
        let m = self.resources;
        for i in 0..m {
            self.rows[i] = i;
            self.factors[i] = array::from_fn(|k| if k < m { self.members[k].shares[i] } else { 0.0 });
        }
        let mut smallest = f64::INFINITY;
        for k in 0..m {
            let mut at = k;
            for i in k + 1..m {
                if self.factors[i][k].abs() > self.factors[at][k].abs() {
                    at = i;
                }
            }
            self.factors.swap(k, at);
            self.rows.swap(k, at);
            let pivot = self.factors[k];
            smallest = smallest.min(pivot[k].abs());
            if smallest < SINGULAR {
                return smallest;
            }
            for row in &mut self.factors[k + 1..m] {
                row[k] /= pivot[k];
                for j in k + 1..m {
                    row[j] -= row[k] * pivot[j];
                }
            }
        }
        smallest
    }

    fn solve(&self, right: &Shares) -> Shares {
        let m = self.resources;
        let mut x = [0.0; MAX_RESOURCES];
        for i in 0..m {
            x[i] = right[self.rows[i]];
            for j in 0..i {
                x[i] -= self.factors[i][j] * x[j];
            }
        }
        for i in (0..m).rev() {
            for j in i + 1..m {
                x[i] -= self.factors[i][j] * x[j];
            }
            x[i] /= self.factors[i][i];
        }
        x
    }

    fn solve_transposed(&self, right: &Shares) -> Shares {
        let m = self.resources;
        let mut x = *right;
        for i in 0..m {
            for j in 0..i {
                x[i] -= self.factors[j][i] * x[j];
            }
            x[i] /= self.factors[i][i];
        }
        for i in (0..m).rev() {
            for j in i + 1..m {
                x[i] -= self.factors[j][i] * x[j];
            }
        }
        let mut by_resource = [0.0; MAX_RESOURCES];
        for i in 0..m {
            by_resource[self.rows[i]] = x[i];
        }
        by_resource
    }

    /// Solves, then solves for the residual, until it no longer changes the result.
    fn corrected(
        &self,
        right: &Shares,
        solve: impl Fn(&Shares) -> Shares,
        entry: impl Fn(usize, usize) -> f64,
    ) -> Shares {
        let m = self.resources;
        let mut x = solve(right);
        if self.sturdy {
            return x;
        }
        let largest = |of: &Shares| of.iter().fold(0.0_f64, |most, share| most.max(share.abs()));
        for _ in 0..CORRECTIONS {
            let rest =
                array::from_fn(|i| if i < m { residual(right[i], (0..m).map(|k| (entry(i, k), x[k]))) } else { 0.0 });
            let correction = solve(&rest);
            for (sum, more) in x.iter_mut().zip(&correction) {
                *sum += more;
            }
            if largest(&correction) <= largest(&x) * f64::EPSILON {
                break;
            }
        }
        x
    }
}
