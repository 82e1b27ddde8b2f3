//! The primal simplex method: from a feasible allocation to the best one.
//!
//! A column that gains at the prices of the basis enters, until some other column's amount is used up; that one leaves. Of
//! those that gain, the one that gains most per unit is taken (Dantzig). If an amount is 0 to begin with, an exchange moves
//! nothing, and exchanges could cycle; so after some of them the first column that gains is taken, and of those that could
//! leave the first, which never cycles (Bland, *New finite pivoting rules for the simplex method*, Math. Oper. Res. 2(2),
//! 1977).

use super::{
    FEASIBLE, NEGLIGIBLE, Simplex,
    basis::{Column, Member, OBJECTIVES, Prices, Shares, Worth},
    columns::{NO_GAIN, worthwhile},
    effort::Effort,
};

/// How many columns are tried whose gains turn out to be rounding.
const TRIES: usize = 4;
/// The relative rounding error of a sum of a few products.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The result of trying a column that seems to gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It entered.
    Taken,
    /// Its gain is rounding.
    Idle,
    /// It gains, but the basis would be numerically singular with it.
    Barred,
}

impl Simplex {
    /// Moves from a feasible allocation to the best one; returns whether it got there.
    pub(super) fn improve(&mut self, left: &Shares, effort: Effort) -> bool {
        for exchanges in 0..effort.at_most * self.resources {
            let bland = exchanges >= effort.before_bland * self.resources;
            match if bland { self.first_step() } else { self.best_step() } {
                Step::Taken => {
                    self.columns.reprice();
                    self.amounts = self.basis.amounts(left);
                }
                Step::Idle => {
                    self.columns.all_priced();
                    return true;
                }
                Step::Barred => break,
            }
        }
        // It may not be the best yet: next time, all columns are priced.
        self.columns.reprice();
        self.figures.capped += 1;
        false
    }

    /// Lets the column enter that gains most in the first objective in which any does.
    fn best_step(&mut self) -> Step {
        let prices = *self.basis.prices();
        let mut outcome = Step::Idle;
        for objective in 0..OBJECTIVES {
            for resource in 0..self.resources {
                let gains = idle_gains(&prices, resource);
                if worthwhile(objective, gains) {
                    match self.step(objective, gains[objective], Member::idle(resource), false) {
                        Step::Taken => return Step::Taken,
                        step => outcome = outcome.or(step),
                    }
                }
            }
            let mut below = f64::INFINITY;
            for _ in 0..TRIES {
                let Some((at, gain)) = self.columns.best(objective, &prices, below) else { break };
                match self.step(objective, gain, self.columns.member(at), false) {
                    Step::Taken => return Step::Taken,
                    step => outcome = outcome.or(step),
                }
                below = gain;
            }
        }
        outcome
    }

    /// Lets the first column enter that gains (Bland's rule).
    fn first_step(&mut self) -> Step {
        let prices = *self.basis.prices();
        let mut outcome = Step::Idle;
        for at in 0..self.resources + self.columns.len() {
            let (gains, member) = match at.checked_sub(self.resources) {
                None => (idle_gains(&prices, at), Member::idle(at)),
                Some(at) => (self.columns.gains(at, &prices), self.columns.member(at)),
            };
            if let Some(objective) = (0..OBJECTIVES).find(|&objective| worthwhile(objective, gains)) {
                match self.step(objective, gains[objective], member, true) {
                    Step::Taken => return Step::Taken,
                    step => outcome = outcome.or(step),
                }
            }
        }
        outcome
    }

    /// Tries a column that seems to gain this much.
    fn step(&mut self, objective: usize, gain: f64, entering: Member, bland: bool) -> Step {
        // Is the gain within the rounding error of such a sum of products, or of taking this much?
        let products = entering.shares.iter().zip(&self.basis.prices()[objective]).map(|(a, price)| a * price.abs());
        if gain <= products.sum::<f64>() * ROUNDING {
            return Step::Idle;
        }
        let takes = self.basis.amounts(&entering.shares);
        if gain <= takes.iter().fold(1.0_f64, |most, take| most.max(take.abs())) * NO_GAIN {
            return Step::Idle;
        }
        match self.leaving(&takes, bland) {
            Some(leaving) if self.exchange(leaving, entering) => Step::Taken,
            _ => Step::Barred,
        }
    }

    /// The member whose amount is used up first as the entering column takes from it.
    fn leaving(&self, takes: &Shares, bland: bool) -> Option<usize> {
        let taken = || (0..self.resources).filter(|&k| takes[k] > NEGLIGIBLE);
        let until = |k: usize, slack: f64| (self.amounts[k].max(0.0) + slack) / takes[k];
        let end = taken().map(|k| until(k, FEASIBLE)).fold(f64::INFINITY, f64::min);
        // Of those that are used up at about the same time, the best pivot, or under Bland's rule the first.
        let first = taken().filter(|&k| until(k, 0.0) <= end);
        if bland { first.min_by_key(|&k| self.rank(k)) } else { first.max_by(|&a, &b| takes[a].total_cmp(&takes[b])) }
    }

    /// The member's rank in the order of all columns.
    fn rank(&self, member: usize) -> usize {
        match self.basis.members()[member].column {
            Column::Idle(resource) => resource,
            Column::Group(group) => self.resources + self.columns.place(group),
            Column::Gone => usize::MAX,
        }
    }
}

impl Step {
    /// Barred, if either step is.
    fn or(self, other: Self) -> Self {
        if self == Self::Barred { self } else { other }
    }
}

fn idle_gains(prices: &Prices, resource: usize) -> Worth {
    [-prices[0][resource], -1.0 - prices[1][resource], -prices[2][resource]]
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        MAX_RESOURCES, Nanos,
        fluid::{Direction, GroupId},
    };

    /// Small whole numbers, and thirds of what there is: many ties, and amounts that are 0.
    fn programs() -> impl Strategy<Value = (Vec<[u64; 4]>, Shares)> {
        let left = prop::array::uniform4((0u64..4).prop_map(|thirds| thirds as f64 / 3.0));
        let left = left.prop_map(|left| core::array::from_fn(|r| left.get(r).copied().unwrap_or(0.0)));
        (prop::collection::vec(prop::array::uniform4(0u64..4), 1..40), left)
    }

    fn simplex(demands: &[[u64; 4]]) -> Simplex {
        let mut simplex = Simplex::new(4);
        for (group, demand) in (0..).map(GroupId).zip(demands) {
            if let Some(direction) = Direction::of(&demand.map(Nanos)) {
                simplex.insert(group, &direction);
            }
        }
        simplex
    }

    /// The result in the two objectives, from all idle and with this effort; and whether it is the best.
    fn after(demands: &[[u64; 4]], left: &Shares, effort: Effort) -> (bool, [f64; 2]) {
        let mut simplex = simplex(demands);
        simplex.amounts = simplex.basis.amounts(left);
        let found = simplex.improve(left, effort);
        assert_eq!(simplex.figures.capped, u64::from(!found));
        simplex.grant(left);
        let mut idle = *left;
        for grant in &simplex.grants {
            let shares = simplex.columns.member(simplex.columns.place(grant.group)).shares;
            (0..MAX_RESOURCES).for_each(|r| idle[r] -= grant.share * shares[r]);
        }
        assert!(idle.iter().all(|&idle| idle > -1e-12), "{idle:?} is left of {left:?}");
        (found, [simplex.grants.iter().map(|grant| grant.share).sum(), -idle.iter().sum::<f64>()])
    }

    proptest! {
        #[test]
        fn blands_rule_comes_to_the_same((demands, left) in programs()) {
            let (_, best) = after(&demands, &left, Effort::USUAL);
            let (found, same) = after(&demands, &left, Effort { before_bland: 0, at_most: 1000 });
            prop_assert!(found);
            prop_assert!((0..2).all(|objective| (best[objective] - same[objective]).abs() < 1e-9), "{best:?} {same:?}");
        }

        #[test]
        fn cut_short_it_is_feasible_and_the_next_time_the_best((demands, left) in programs(), at_most in 0usize..2) {
            let (_, best) = after(&demands, &left, Effort::USUAL);
            let short = Effort { before_bland: 16, at_most };
            let (_, less) = after(&demands, &left, short);
            prop_assert!(less[0] <= best[0] + 1e-9, "{less:?} {best:?}");
            let mut simplex = simplex(&demands);
            simplex.improve(&left, short);
            let sum: f64 = simplex.solve(&left).iter().map(|grant| grant.share).sum();
            prop_assert!((sum - best[0]).abs() < 1e-9, "{sum} {best:?}");
        }
    }
}
