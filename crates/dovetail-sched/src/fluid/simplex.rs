//! Which flows get what is left of any number of resources.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT 2014,
//! solve their bonus allocation (eq. 21) for two resources and leave larger numbers open. The problem is a linear program for
//! any number `m`: give group `g`, whose direction is `a_g`, the dominant share `x_g`, so as to
//!
//! ```text
//! maximise    sum_g x_g                               and then the use  sum_r sum_g a_gr x_g  (eq. 18)
//! subject to  sum_g a_gr x_g + idle_r = mu_r          for each resource r, of which mu_r is left
//!             x_g >= 0, idle_r >= 0
//! ```
//!
//! Whatever is not used is idle, so the second objective is to minimise idleness.
//!
//! **At most `m` groups are favoured.** There are `m` equations, and a linear program that has an optimum has one at a vertex:
//! at most `m` of all the amounts, `x` and `idle`, are not 0. Theorem 3 is the case `m = 2`, with the vertex written out. Here
//! it is found by the simplex method (Dantzig 1963) in its revised form: keep a *basis* of `m` columns, price the resources by
//! it, and let a column enter that is worth more than what it takes.
//!
//! **Objectives in order.** A price has a part for each objective, and gains are compared by the first, then by the second.
//! That is eq. 18 itself, not a small weight on it that would have to be chosen. If both leave a choice, as among packets that
//! all have the same dominant resource, a third objective breaks ties pseudo-randomly, by a number for each direction computed
//! from its digits. So exactly one allocation is the best.
//!
//! **Warm start.** A scheduler solves this again after every packet, and little has changed. Prices depend on the basis only,
//! so a group that gained nothing at them gains nothing now. The possible changes are
//!
//! - a group appeared: only that one has to be priced;
//! - `mu` changed and an amount turned negative, or a favoured group left and may be given nothing: the basis is repaired by
//!   the *dual* simplex method, in which that column leaves, in exchange for the first one to gain as the prices move;
//! - neither: only the `m` amounts have to be computed.
//!
//! If the repair fails, the search restarts with everything idle. Either way, in the end all columns have been priced, and
//! amounts are computed from the basis alone. So a direction's share depends on the directions present and on `mu`, to the last
//! bit: not on the path taken, nor on the groups' ids. (Only to within rounding, if directions differ by a billionth.)
//!
//! **Cost.** O(m^2 + m * new groups) if the basis stays, and O(m^3 + m * groups) for each exchange of a column, which are few:
//! [`SimplexFigures`] counts them. Bland's rule ends cycles, and a limit on exchanges bounds the time whatever the numbers are:
//! past it, a feasible allocation is used, though not the best. Nothing is allocated once the tables have grown.
//!
//! The limit is reached if shares of 10^-9 occur beside shares of 1, in a few of ten thousand such sets, and may then cost a
//! third of the sum; [`SimplexFigures::capped`] counts it.
//!
//! **Rounding.** Otherwise the sum is right to 10^-9, and no resource is overused by more than 10^-13, however close directions
//! are. What is left of a resource is known only to 4 * 10^-15, though: a group that needs 10^-9 of one that is used up may be
//! granted 4 * 10^-6 of its dominant one too much or too little.

use alloc::vec::Vec;
use core::array;

use super::{Direction, Grant, GroupId};
use crate::MAX_RESOURCES;
use basis::{Basis, Column, Member, Shares};
use columns::Columns;
use effort::Effort;

mod basis;
mod columns;
mod doubled;
mod dual;
mod effort;
mod primal;

/// An amount less than this below 0 is rounding.
const FEASIBLE: f64 = 1.0 / (1_u64 << 48) as f64;
/// An entering column that takes less than this of a basic one's amount leaves it unchanged; resources may be overused by this
/// much.
const NEGLIGIBLE: f64 = 1.0 / (1_u64 << 44) as f64;

/// Rounds of repair and improvement.
const ROUNDS: usize = 2;

/// The linear program and its last solution.
#[derive(Debug)]
pub struct Simplex {
    resources: usize,
    columns: Columns,
    basis: Basis,
    amounts: Shares,
    grants: Vec<Grant>,
    figures: SimplexFigures,
}

/// Counters of the solver's work, since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimplexFigures {
    /// The number of calls of [`solve`](Simplex::solve).
    pub solves: u64,
    /// The number of these in which no column of the basis was exchanged.
    pub kept: u64,
    /// How often the last solution could not be repaired, and the search restarted with everything idle.
    pub restarts: u64,
    /// The number of columns exchanged.
    pub pivots: u64,
    /// How often a search was cut short: the result was feasible but not necessarily the best.
    pub capped: u64,
}

impl Simplex {
    /// No groups, and this many resources, clamped to 1 to [`MAX_RESOURCES`].
    #[must_use]
    pub fn new(resources: usize) -> Self {
        let resources = resources.clamp(1, MAX_RESOURCES);
        Self {
            resources,
            columns: Columns::new(resources),
            basis: Basis::new(resources),
            amounts: [0.0; MAX_RESOURCES],
            grants: Vec::with_capacity(resources),
            figures: SimplexFigures::default(),
        }
    }

    /// Adds a group, or changes its direction. A group that needs none of the resources is left out. O(m).
    pub fn insert(&mut self, group: GroupId, direction: &Direction) {
        self.remove(group);
        let shares: Shares = array::from_fn(|r| if r < self.resources { direction.shares()[r] } else { 0.0 });
        if shares == [0.0; MAX_RESOURCES] {
            return;
        }
        let lot = f64::from(direction.digest()) / f64::from(u32::MAX);
        self.columns.insert(group, &shares, lot);
        // If it replaces an identical one in the basis, nothing changes.
        if let Some(gone) = self.basis.members_mut().find(|it| it.column == Column::Gone && it.shares == shares) {
            gone.column = Column::Group(group);
        }
    }

    /// Removes a group, if it is present. O(m).
    pub fn remove(&mut self, group: GroupId) {
        if self.columns.remove(group)
            && let Some(member) = self.basis.members_mut().find(|it| it.column == Column::Group(group))
        {
            member.column = Column::Gone;
        }
    }

    /// Distributes what is left of each resource, a fraction from 0 to 1: at most as many groups as resources get something,
    /// and the others are not listed. O(m^2 + m * new groups) if the favoured ones stay, and O(m * groups) for each that does
    /// not.
    pub fn solve(&mut self, spare: &[f64]) -> &[Grant] {
        let left = array::from_fn(|r| match spare.get(r) {
            Some(&left) if r < self.resources && left > 0.0 => left.min(1.0),
            _ => 0.0,
        });
        let pivots = self.figures.pivots;
        self.search(&left);
        self.figures.solves += 1;
        self.figures.kept += u64::from(self.figures.pivots == pivots);
        self.grant(&left);
        &self.grants
    }

    /// The last result of [`solve`](Self::solve).
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Counters of the work so far.
    #[must_use]
    pub fn figures(&self) -> SimplexFigures {
        self.figures
    }

    /// Moves from the last solution to the one for `left`.
    fn search(&mut self, left: &Shares) {
        for _ in 0..ROUNDS {
            if !self.mend(left) || !self.improve(left, Effort::USUAL) {
                break;
            }
            // A column that entered because of rounding, when almost nothing was left, may have to leave again.
            if self.amiss().is_none() {
                return;
            }
        }
        self.figures.restarts += 1;
        self.basis = Basis::new(self.resources);
        self.columns.reprice();
        self.amounts = self.basis.amounts(left);
        self.improve(left, Effort::USUAL);
        self.mend(left);
    }

    fn exchange(&mut self, leaving: usize, entering: Member) -> bool {
        self.figures.pivots += 1;
        self.basis.exchange(leaving, entering)
    }

    /// Resources of which nothing is left idle.
    fn idle_ones(&self) -> impl Iterator<Item = usize> + '_ {
        let members = self.basis.members();
        (0..self.resources).filter(|&r| members.iter().all(|member| member.column != Column::Idle(r)))
    }

    /// If a column of the basis has no amount, another could take its place, and the choice shows in the last digits. To remove
    /// that dependence, the favoured columns enter a basis that is otherwise idle, each for the resource that it needs most.
    fn plain(&self, left: &Shares) -> Option<(Basis, Shares)> {
        let members = || self.basis.members().iter().zip(&self.amounts);
        if members().all(|(_, &amount)| amount > FEASIBLE) {
            return None;
        }
        let is_left = |column| members().any(|(member, &amount)| member.column == column && amount > FEASIBLE);
        let mut basis = Basis::new(self.resources);
        for (member, _) in members().filter(|(it, amount)| matches!(it.column, Column::Group(_)) && **amount > FEASIBLE)
        {
            let takes = basis.amounts(&member.shares);
            let used_up = |&k: &usize| {
                let column = basis.members()[k].column;
                matches!(column, Column::Idle(_)) && !is_left(column)
            };
            let most =
                (0..self.resources).filter(used_up).max_by(|&a, &b| takes[a].abs().total_cmp(&takes[b].abs()))?;
            if !basis.exchange(most, *member) {
                return None;
            }
        }
        let amounts = basis.amounts(left);
        amounts.iter().all(|&amount| amount > -FEASIBLE).then_some((basis, amounts))
    }

    /// Turns the amounts into grants, within what is left of each resource.
    fn grant(&mut self, left: &Shares) {
        let plain = self.plain(left);
        let (basis, amounts) = plain.as_ref().map_or((&self.basis, &self.amounts), |(basis, amounts)| (basis, amounts));
        self.grants.clear();
        let mut left = left.map(|left| left + NEGLIGIBLE);
        for (member, &amount) in basis.members().iter().zip(amounts) {
            let Column::Group(group) = member.column else { continue };
            let needs = || (0..self.resources).filter(|&r| member.shares[r] > 0.0);
            let share = needs().map(|r| left[r] / member.shares[r]).fold(amount.min(1.0), f64::min);
            if share > FEASIBLE {
                needs().for_each(|r| left[r] = (left[r] - member.shares[r] * share).max(0.0));
                self.grants.push(Grant { group, share });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;

    #[test]
    fn nothing_is_granted_that_is_not_there() {
        let mut simplex = Simplex::new(3);
        for (group, times) in (0..).map(GroupId).zip([[2, 1, 0], [1, 2, 0], [0, 1, 2]]) {
            simplex.insert(group, &Direction::of(&times.map(Nanos)).expect("needs something"));
        }
        let left: Shares = array::from_fn(|r| if r < 3 { 0.75 } else { 0.0 });
        simplex.solve(&left);
        assert_eq!(simplex.grants.len(), 2);
        // As if the numbers had gone wrong.
        for amounts in [0.0, 0.5, 1e9, f64::INFINITY] {
            simplex.amounts = [amounts; MAX_RESOURCES];
            simplex.grant(&left);
            for r in 0..3 {
                let shares = |grant: &Grant| simplex.columns.member(simplex.columns.place(grant.group)).shares[r];
                let used: f64 = simplex.grants.iter().map(|grant| grant.share * shares(grant)).sum();
                assert!(used <= 0.75 + 1e-12, "{used} of resource {r}");
            }
        }
    }
}
