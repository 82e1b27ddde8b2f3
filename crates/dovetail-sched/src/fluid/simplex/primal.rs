//! The primal simplex method: from an allocation that can be to the best one.
//!
//! A column enters that gains at the prices of the basis, until some other's amount is used up, which leaves. Of those
//! that gain, the one that gains most per unit is taken (Dantzig). Where an amount is 0 to begin with an exchange moves
//! nothing, and exchanges could go round in circles; so after some of them the first that gains is taken, and of those
//! that could leave the first, which never does (Bland, *New finite pivoting rules for the simplex method*, Math. Oper.
//! Res. 2(2), 1977).

use super::{
    FEASIBLE, NEGLIGIBLE, Simplex,
    basis::{Column, Member, Shares},
    columns::{NO_GAIN, worthwhile},
};

/// How many exchanges per resource there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    before_bland: usize,
    at_most: usize,
}

impl Effort {
    pub(super) const USUAL: Self = Self { before_bland: 16, at_most: 32 };
}

/// How many columns are looked into of which the gains turn out to be rounding.
const TRIES: usize = 4;
/// What a sum of a few products may be off by, as a part of them.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl Simplex {
    /// From an allocation that is feasible to the best; answers whether it came to that.
    pub(super) fn improve(&mut self, left: &Shares, effort: Effort) -> bool {
        for exchanges in 0..=effort.at_most * self.resources {
            let bland = exchanges >= effort.before_bland * self.resources;
            let Some((entering, takes)) = (if bland { self.first_improvement() } else { self.best_improvement() })
            else {
                self.columns.all_priced();
                return true;
            };
            // If this is the end, it is not the best yet: next time, everyone is to be priced.
            self.columns.reprice();
            let room = exchanges < effort.at_most * self.resources;
            if !room || !self.leaving(&takes, bland).is_some_and(|leaving| self.exchange(leaving, entering)) {
                break;
            }
            self.amounts = self.basis.amounts(left);
        }
        self.figures.capped += 1;
        false
    }

    /// The column that gains most in the first objective or, if none gains in that, in the second; and what it takes.
    fn best_improvement(&self) -> Option<(Member, Shares)> {
        let prices = self.basis.prices();
        for objective in [0, 1] {
            for idle in self.idle_ones() {
                let gains = idle_gains(prices, idle);
                if worthwhile(objective, gains)
                    && let Some(found) = self.telling(objective, gains[objective], Member::idle(idle))
                {
                    return Some(found);
                }
            }
            let mut below = f64::INFINITY;
            for _ in 0..TRIES {
                let Some((at, gain)) = self.columns.best(objective, prices, below) else { break };
                if let Some(found) = self.telling(objective, gain, self.candidate(at)) {
                    return Some(found);
                }
                below = gain;
            }
        }
        None
    }

    /// The first column that gains (Bland's rule).
    fn first_improvement(&self) -> Option<(Member, Shares)> {
        let prices = self.basis.prices();
        let idle_ones = self.idle_ones().map(|idle| (idle_gains(prices, idle), Member::idle(idle)));
        let columns = self.columns.gains(prices).map(|(at, gains)| (gains, self.candidate(at)));
        idle_ones.chain(columns).find_map(|(gains, member)| {
            let objective = [0, 1].into_iter().find(|&objective| worthwhile(objective, gains))?;
            self.telling(objective, gains[objective], member)
        })
    }

    /// What the column takes of each amount; unless its gain is no more than rounding makes of a sum of such products, or
    /// of taking so much.
    fn telling(&self, objective: usize, gain: f64, member: Member) -> Option<(Member, Shares)> {
        let products =
            member.shares.iter().zip(&self.basis.prices()[objective]).map(|(share, price)| share * price.abs());
        if gain <= products.sum::<f64>() * ROUNDING {
            return None;
        }
        let takes = self.basis.amounts(&member.shares);
        let most = takes.iter().fold(1.0_f64, |most, take| most.max(take.abs()));
        (gain > NO_GAIN * most).then_some((member, takes))
    }

    /// The member whose amount is used up first as the entering column takes from it.
    fn leaving(&self, takes: &Shares, bland: bool) -> Option<usize> {
        let taken = || (0..self.resources).filter(|&k| takes[k] > NEGLIGIBLE);
        let until = |k: usize, slack: f64| (self.amounts[k].max(0.0) + slack) / takes[k];
        let end = taken().map(|k| until(k, FEASIBLE)).fold(f64::INFINITY, f64::min);
        // Of those that are used up at about the same time, the one that makes the best pivot, or the first.
        let first = taken().filter(|&k| until(k, 0.0) <= end);
        if bland { first.min_by_key(|&k| self.rank(k)) } else { first.max_by(|&a, &b| takes[a].total_cmp(&takes[b])) }
    }

    /// The member's place in the order of all columns.
    fn rank(&self, member: usize) -> usize {
        match self.basis.members()[member].column {
            Column::Idle(resource) => resource,
            Column::Group(group) => self.resources + self.columns.place(group),
            Column::Gone => usize::MAX,
        }
    }
}

fn idle_gains(prices: &[Shares; 2], resource: usize) -> [f64; 2] {
    [-prices[0][resource], -1.0 - prices[1][resource]]
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

    /// What is granted, in the two objectives, after so much effort from where everything is idle; and whether it is the
    /// best.
    fn after(demands: &[[u64; 4]], left: &Shares, effort: Effort) -> (bool, [f64; 2]) {
        let mut simplex = simplex(demands);
        simplex.amounts = simplex.basis.amounts(left);
        let found = simplex.improve(left, effort);
        assert_eq!(simplex.figures.capped, u64::from(!found));
        simplex.grant(left);
        let mut idle = *left;
        for grant in &simplex.grants {
            let shares = simplex.columns.shares(simplex.columns.place(grant.group));
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
