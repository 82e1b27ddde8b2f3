//! Head-of-line packets as groups, and what is left for them.
#![allow(dead_code)]

use std::ops::RangeInclusive;

use dovetail_sched::{
    Nanos,
    fluid::{Direction, Ends, Grant, GroupId, Simplex},
};
use proptest::prelude::*;

/// Groups by id, in order of appearance.
#[derive(Debug, Clone)]
pub struct Heads {
    pub directions: Vec<Direction>,
    pub left: Vec<f64>,
}

/// The grants in total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Granted {
    pub sum: f64,
    pub used: f64,
    /// The largest use of a resource beyond what was left of it.
    pub beyond: f64,
}

/// Times that leave a choice: small whole numbers, many of them equal or 0.
pub fn coarse(m: usize) -> BoxedStrategy<Vec<u64>> {
    let ties = prop::collection::vec(0u64..4, m);
    let some = prop::collection::vec(prop_oneof![Just(0), 1u64..1000], m);
    let same_dominant = prop::collection::vec(0u64..=1000, m).prop_map(|mut times| {
        times[0] = 1000;
        times
    });
    prop_oneof![ties, some, same_dominant].boxed()
}

/// Times that a general solver can cope with: these, and any of similar size.
pub fn tame(m: usize) -> BoxedStrategy<Vec<u64>> {
    prop_oneof![3 => coarse(m), 1 => prop::collection::vec(1_000u64..1_000_000, m)].boxed()
}

const SECOND: u64 = 1_000_000_000;

/// Times a nanosecond apart.
pub fn close(m: usize) -> BoxedStrategy<Vec<u64>> {
    prop::collection::vec(SECOND - 2..=SECOND, m).boxed()
}

/// These, or next to nothing of a resource.
pub fn wild(m: usize) -> BoxedStrategy<Vec<u64>> {
    let tiny = prop::collection::vec(prop_oneof![Just(1), Just(SECOND)], m);
    let mixed =
        prop::collection::vec(prop_oneof![Just(0), 1u64..3, 999u64..1001, Just(1_000_000), SECOND..=SECOND + 1], m);
    prop_oneof![close(m), tiny, mixed].boxed()
}

/// Sets of one kind or of several, with as much left as a guaranteed share of alpha leaves, or anything.
pub fn heads(
    m: usize,
    groups: RangeInclusive<usize>,
    times: fn(usize) -> BoxedStrategy<Vec<u64>>,
) -> BoxedStrategy<Heads> {
    let number = prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..=1.0];
    let left =
        prop_oneof![number.clone().prop_map(Err), prop::collection::vec(number, m).prop_map(Ok::<Vec<f64>, f64>),];
    (prop::collection::vec(times(m), groups), left)
        .prop_filter_map("nobody needs anything", move |(times, left)| {
            let directions: Vec<_> = times.iter().filter_map(|times| direction(times)).collect();
            if directions.is_empty() {
                return None;
            }
            // Less than a nanosecond's worth of a second is nothing: a general solver treats it as 0.
            let left = left.unwrap_or_else(|alpha| guaranteed(&directions, m, alpha).1);
            let left = left.into_iter().map(|left| if left < 1e-9 { 0.0 } else { left }).collect();
            Some(Heads { directions, left })
        })
        .boxed()
}

pub fn direction(times: &[u64]) -> Option<Direction> {
    Direction::of(&times.iter().copied().map(Nanos).collect::<Vec<_>>())
}

/// The dominant share that each flow is guaranteed, and what that leaves (eqs. 16 and 22).
pub fn guaranteed(directions: &[Direction], m: usize, alpha: f64) -> (f64, Vec<f64>) {
    let sums: Vec<f64> = (0..m).map(|r| directions.iter().map(|direction| direction.shares()[r]).sum()).collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    (alpha / most, sums.iter().map(|sum| 1.0 - alpha * sum / most).collect())
}

impl Heads {
    pub fn resources(&self) -> usize {
        self.left.len()
    }

    /// The directions as rows of numbers.
    pub fn rows(&self) -> Vec<Vec<f64>> {
        self.directions.iter().map(|direction| direction.shares()[..self.resources()].to_vec()).collect()
    }

    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &Direction)> {
        (0..).map(GroupId).zip(&self.directions)
    }

    pub fn ends(&self) -> Vec<Grant> {
        let mut ends = Ends::new();
        self.groups().for_each(|(group, direction)| ends.insert(group, direction));
        ends.solve(&self.left).to_vec()
    }

    pub fn simplex(&self) -> Vec<Grant> {
        self.solver().solve(&self.left).to_vec()
    }

    /// The simplex method before its first step.
    pub fn solver(&self) -> Simplex {
        let mut simplex = Simplex::new(self.resources());
        self.groups().for_each(|(group, direction)| simplex.insert(group, direction));
        simplex
    }

    /// Adds up the grants, after checking what must hold for every allocation.
    pub fn add_up(&self, grants: &[Grant]) -> Granted {
        let shares = |grant: &Grant| self.directions[grant.group.0 as usize].shares();
        assert!(grants.len() <= self.resources(), "{} are favoured", grants.len());
        assert!(grants.iter().all(|grant| grant.share > 0.0 && grant.share <= 1.0), "{grants:?}");
        let groups: std::collections::HashSet<_> = grants.iter().map(|grant| grant.group).collect();
        assert_eq!(groups.len(), grants.len(), "favoured twice: {grants:?}");
        let use_of = |r: usize| -> f64 { grants.iter().map(|grant| grant.share * shares(grant)[r]).sum() };
        let beyond = self.left.iter().enumerate().map(|(r, left)| use_of(r) - left).fold(0.0, f64::max);
        let used = (0..self.resources()).map(use_of).sum();
        Granted { sum: grants.iter().map(|grant| grant.share).sum(), used, beyond }
    }
}
