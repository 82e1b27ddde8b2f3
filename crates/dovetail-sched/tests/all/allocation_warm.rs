//! The simplex method starting from its last solution: whatever came before, the result is the same as from scratch.

use crate::lp;

use std::collections::BTreeMap;

use crate::heads::{Granted, Heads, direction, guaranteed, tame, wild};
use dovetail_sched::fluid::{Direction, Ends, Grant, GroupId, Simplex};
use proptest::{prelude::*, test_runner::RngSeed};

/// The same groups in a solver with a history, and in a new one.
struct Pair {
    warm: Simplex,
    // `Ends` has no history to speak of, but heaps to keep in order.
    ends: Option<Ends>,
    groups: BTreeMap<u32, Direction>,
}

impl Pair {
    fn new(resources: usize) -> Self {
        Self { warm: Simplex::new(resources), ends: (resources <= 2).then(Ends::new), groups: BTreeMap::new() }
    }

    fn insert(&mut self, group: u32, direction: Direction) {
        self.groups.insert(group, direction);
        self.warm.insert(GroupId(group), &direction);
        self.ends.iter_mut().for_each(|ends| ends.insert(GroupId(group), &direction));
    }

    fn remove(&mut self, group: u32) {
        self.groups.remove(&group);
        self.warm.remove(GroupId(group));
        self.ends.iter_mut().for_each(|ends| ends.remove(GroupId(group)));
    }

    /// The grants of the warm solver and of the new one.
    fn solve(&mut self, left: &[f64]) -> [Vec<Grant>; 2] {
        let mut cold = Simplex::new(left.len());
        self.groups.iter().for_each(|(&group, direction)| cold.insert(GroupId(group), direction));
        [self.warm.solve(left), cold.solve(left)].map(|grants| {
            let mut grants = grants.to_vec();
            grants.sort_by_key(|grant| grant.group);
            grants
        })
    }

    fn by_direction(&self, grants: &[Grant]) -> Vec<(Direction, f64)> {
        let mut shares: Vec<_> = grants.iter().map(|grant| (self.groups[&grant.group.0], grant.share)).collect();
        shares.sort_by_key(|&(direction, _)| direction);
        shares
    }

    fn heads(&self, left: &[f64]) -> Heads {
        Heads { directions: self.groups.values().copied().collect(), left: left.to_vec() }
    }

    fn add_up(&self, left: &[f64], grants: &[Grant]) -> Granted {
        let number = |group: GroupId| self.groups.range(..group.0).count() as u32;
        let renumbered: Vec<_> =
            grants.iter().map(|grant| Grant { group: GroupId(number(grant.group)), ..*grant }).collect();
        assert!(grants.iter().all(|grant| self.groups.contains_key(&grant.group.0)), "granted to nobody: {grants:?}");
        self.heads(left).add_up(&renumbered)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u32, Vec<u64>),
    Remove(u32),
    Solve(Vec<f64>),
    Guarantee(f64),
}

fn steps(m: usize, times: fn(usize) -> BoxedStrategy<Vec<u64>>) -> impl Strategy<Value = Vec<Step>> {
    let number = || prop_oneof![1 => Just(0.0), 1 => Just(1.0), 4 => 0.0..=1.0f64];
    let step = prop_oneof![
        3 => (0..12u32, times(m)).prop_map(|(group, times)| Step::Insert(group, times)),
        1 => (0..12u32).prop_map(Step::Remove),
        1 => prop::collection::vec(number(), m).prop_map(Step::Solve),
        3 => number().prop_map(Step::Guarantee),
    ];
    prop::collection::vec(step, 1..80)
}

fn follows(m: usize, steps: Vec<Step>, exact: bool, same: f64, same_use: f64) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(m);
    for step in steps {
        let left = match step {
            Step::Insert(group, times) => {
                match direction(&times) {
                    Some(direction) => pair.insert(group, direction),
                    None => pair.remove(group),
                }
                continue;
            }
            Step::Remove(group) => {
                pair.remove(group);
                continue;
            }
            Step::Solve(left) => left,
            Step::Guarantee(_) if pair.groups.is_empty() => vec![1.0; m],
            Step::Guarantee(alpha) => guaranteed(&pair.heads(&[]).directions, m, alpha).1,
        };
        let grants = pair.solve(&left);
        let [warm, cold] = [0, 1].map(|which| pair.add_up(&left, &grants[which]));
        if exact {
            let [warm, cold] = grants.map(|grants| pair.by_direction(&grants));
            prop_assert_eq!(warm, cold);
        }
        prop_assert!(warm.beyond <= 1e-12, "{warm:?}");
        prop_assert!((warm.sum - cold.sum).abs() <= same, "{warm:?} and {cold:?}");
        prop_assert!((warm.used - cold.used).abs() <= same_use, "{warm:?} and {cold:?}");
        if let Some(ends) = &mut pair.ends {
            let grants = ends.solve(&left).to_vec();
            let ends = pair.add_up(&left, &grants);
            prop_assert!((warm.sum - ends.sum).abs() <= same, "{warm:?} and {ends:?}");
            prop_assert!((warm.used - ends.used).abs() <= same_use, "{warm:?} and {ends:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_past_does_not_matter((m, steps) in (1usize..=8).prop_flat_map(|m| (Just(m), steps(m, tame)))) {
        follows(m, steps, true, 1e-12, 1e-9)?;
    }

}

proptest! {
    // The same sets in every run, as in allocation.rs.
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(2014), ..ProptestConfig::default() })]

    // The last 4e-15 of a resource is rounding, and a group that needs 1e-9 of it could have that much from it.
    #[test]
    fn the_past_does_not_matter_however_close_or_small_the_times(
        (m, steps) in (1usize..=8).prop_flat_map(|m| (Just(m), steps(m, wild)))
    ) {
        follows(m, steps, false, 4e-5, f64::INFINITY)?;
    }
}

/// Pseudo-random numbers (Steele, Lea and Flood's SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn times(&mut self, m: usize) -> Vec<u64> {
        (0..m).map(|_| 1 + self.below(1_000_000)).collect()
    }
}

/// With arbitrary times, only one allocation is the best, and the path to it does not show in a single bit.
#[test]
fn a_long_past_does_not_show_in_a_bit() {
    for (m, few) in [(2, 1.2), (3, 1.6), (4, 1.9), (8, 4.0)] {
        let mut numbers = Numbers(m as u64);
        let mut pair = Pair::new(m);
        for group in 0..40 {
            pair.insert(group, direction(&numbers.times(m)).expect("needs something"));
        }
        for step in 0..10_000 {
            // A packet leaves, and the flow's next has another direction; occasionally a group disappears for good, or appears.
            let group = numbers.below(60) as u32;
            if pair.groups.len() > 30 && numbers.below(4) == 0 {
                pair.remove(group);
            } else {
                pair.insert(group, direction(&numbers.times(m)).expect("needs something"));
            }
            let directions = pair.heads(&[]).directions;
            let (share, left) = guaranteed(&directions, m, numbers.below(1000) as f64 / 1000.0);
            let [warm, cold] = pair.solve(&left);
            assert_eq!(warm, cold, "step {step} of {m} resources");
            if step % 100 == 0 {
                let sum = pair.add_up(&left, &warm).sum + share * directions.len() as f64;
                let largest = lp::largest_sum(&pair.heads(&left).rows(), &vec![1.0; m], share).expect("feasible");
                assert!((sum - largest).abs() <= 1e-9, "{sum}, and {largest} is possible");
            }
        }
        let figures = pair.warm.figures();
        assert_eq!((figures.solves, figures.capped), (10_000, 0), "{figures:?}");
        assert!(figures.kept > 2000 && figures.restarts < 10, "{figures:?}");
        let exchanges = figures.pivots as f64 / (figures.solves - figures.kept) as f64;
        assert!(exchanges < few, "{exchanges} columns are exchanged where any are: {figures:?}");
    }
}

/// A case in which the repair does not finish: the last solution is useless.
#[test]
fn what_is_of_no_use_is_given_up() {
    const SECOND: u64 = 1_000_000_000;
    let mut pair = Pair::new(3);
    let insert = |pair: &mut Pair, group, times: [u64; 3]| {
        pair.insert(group, direction(&times).expect("needs something"));
    };
    insert(&mut pair, 7, [999, 0, 1000]);
    insert(&mut pair, 0, [SECOND - 1, SECOND, SECOND - 1]);
    pair.solve(&[0.0, 0.0, 1.0]);
    insert(&mut pair, 9, [999, SECOND, 999]);
    insert(&mut pair, 1, [1000, SECOND, 1]);
    let left = guaranteed(&pair.heads(&[]).directions, 3, 0.5).1;
    let [warm, cold] = pair.solve(&left).map(|grants| pair.add_up(&left, &grants));
    assert_eq!(pair.warm.figures().restarts, 1);
    assert_eq!(warm, cold);
    assert!((warm.sum - lp::largest_sum(&pair.heads(&left).rows(), &left, 0.0).expect("feasible")).abs() < 1e-9);
}

/// The flow's next packet is like its last, or like another flow's: nothing is exchanged.
#[test]
fn what_comes_back_the_same_costs_nothing() {
    let mut numbers = Numbers(1);
    let mut pair = Pair::new(3);
    for group in 0..100 {
        pair.insert(group, direction(&numbers.times(3)).expect("needs something"));
    }
    let left = guaranteed(&pair.heads(&[]).directions, 3, 0.8).1;
    let [before, _] = pair.solve(&left);
    let pivots = pair.warm.figures().pivots;
    for &Grant { group, .. } in &before {
        let direction = pair.groups[&group.0];
        pair.remove(group.0);
        pair.insert(group.0 + 100, direction);
    }
    let after = pair.solve(&left)[0].clone();
    assert_eq!(pair.warm.figures().pivots, pivots);
    let renamed: Vec<_> = before.iter().map(|grant| Grant { group: GroupId(grant.group.0 + 100), ..*grant }).collect();
    assert_eq!(after, renamed);
}
