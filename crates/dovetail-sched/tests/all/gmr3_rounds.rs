//! `gmr3` with its groups in a map and every choice by a scan, while flows lose all their packets, are forgotten and weighed anew.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    released::dominant,
    single::build,
    steps::{FLOWS, Flows, Plain, compare, steps},
};
use dovetail_sched::Limits;
use proptest::prelude::*;

/// Two or more in some groups; multiples of a half, so that credits are not rounded.
const WEIGHTS: &[f64] = &[0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 16.0];

fn group_of(weight: f64) -> i32 {
    weight.log2().floor() as i32
}

/// Virtual time, in units of 2^-50.
fn worth(group: i32) -> u128 {
    1 << (50 - group)
}

#[derive(Default)]
struct Group {
    ring: VecDeque<usize>,
    /// Of this round.
    left: usize,
    before: u128,
    next: u128,
    step: u128,
    end: u128,
}

impl Group {
    fn begin_round(&mut self, number: i32) {
        self.left = self.ring.len();
        // Whole multiples of the lightest group's unit, the heaviest having weights from 2^19.
        self.step = (worth(19) / self.left as u128) << (19 - number);
        self.end = self.before + worth(number);
    }

    /// The last turn of a round is where the round ends.
    fn stamp(&mut self) {
        self.next = if self.left == 1 { self.end } else { self.before + self.step };
    }
}

#[derive(Default)]
struct Rounds {
    resources: usize,
    v: u128,
    groups: BTreeMap<i32, Group>,
    turn: Option<i32>,
    credit: [f64; FLOWS],
    largest: f64,
    known: BTreeSet<usize>,
    /// Timestamps of the turns, by number, and how many packets of each are in front of the last resource.
    turns: Vec<(u128, usize)>,
    /// The turn of each packet served.
    turn_of: Vec<usize>,
}

impl Rounds {
    fn group_with(&self, flow: usize) -> Option<i32> {
        self.groups.iter().find(|(_, group)| group.ring.contains(&flow)).map(|(&number, _)| number)
    }

    fn join(&mut self, flows: &Flows, flow: usize) {
        let number = group_of(flows.weights[flow]);
        let now = self.v;
        let group = self.groups.entry(number).or_default();
        group.ring.push_back(flow);
        if group.ring.len() == 1 {
            group.before = now;
            group.begin_round(number);
            group.stamp();
        }
    }

    /// The group has lost a flow of its ring or its round.
    fn settle(&mut self, number: i32) {
        let group = self.groups.get_mut(&number).expect("it had a flow");
        if group.ring.is_empty() {
            self.groups.remove(&number);
        } else {
            if group.left == 0 {
                group.begin_round(number);
            }
            group.stamp();
        }
        if self.groups.is_empty() {
            self.largest = 0.0;
        }
    }

    fn end_turn(&mut self, flows: &Flows, number: i32, flow: usize) {
        self.turn = None;
        let group = self.groups.get_mut(&number).expect("its turn");
        group.ring.pop_front();
        group.left -= 1;
        group.before = group.next;
        if flows.is_empty(flow) {
            self.credit[flow] = self.credit[flow].min(0.0);
        } else if group_of(flows.weights[flow]) == number {
            group.ring.push_back(flow);
        } else {
            self.join(flows, flow);
        }
        self.settle(number);
    }

    fn must_wait(&self, flows: &Flows, timestamp: u128) -> bool {
        let on_their_way: Vec<u128> =
            self.turns.iter().filter(|(_, ahead)| *ahead > 0).map(|&(timestamp, _)| timestamp).collect();
        let heaviest = self.known.iter().map(|&flow| group_of(flows.weights[flow])).max().expect("one with a packet");
        self.resources > 1 && on_their_way.len() >= self.resources && on_their_way[0] + worth(heaviest) <= timestamp
    }
}

impl Plain for Rounds {
    fn arrived(&mut self, flows: &Flows, flow: usize) {
        self.known.insert(flow);
        if self.group_with(flow).is_none() {
            self.join(flows, flow);
        }
    }

    fn serve(&mut self, flows: &mut Flows) -> Option<usize> {
        loop {
            // The earliest, and of those the heaviest.
            let earliest = self.groups.iter().rev().min_by_key(|(_, group)| group.next).map(|(&number, _)| number);
            let number = self.turn.or(earliest)?;
            let (flow, next) = (self.groups[&number].ring[0], self.groups[&number].next);
            if flows.is_empty(flow) {
                self.v = next;
                self.end_turn(flows, number, flow);
                continue;
            }
            if self.turn.is_none() {
                if self.must_wait(flows, next) {
                    return None;
                }
                self.v = next;
                self.turn = Some(number);
                self.turns.push((next, 0));
                let weight = flows.weights[flow];
                let credit = self.largest * weight / f64::from(group_of(weight)).exp2();
                self.credit[flow] = (self.credit[flow] + credit).max(0.0);
            }
            let cost = dominant(&flows.queues[flow].pop_front()?);
            self.largest = self.largest.max(cost);
            self.credit[flow] -= cost;
            self.turn_of.push(self.turns.len() - 1);
            self.turns.last_mut().expect("just begun").1 += 1;
            if self.credit[flow] < 0.0 || flows.is_empty(flow) {
                self.end_turn(flows, number, flow);
            }
            return Some(flow);
        }
    }

    fn crossed(&mut self, _flow: usize, number: usize) {
        self.turns[self.turn_of[number]].1 -= 1;
    }

    fn weighed(&mut self, flows: &Flows, flow: usize, _old: f64) {
        self.known.insert(flow);
        let Some(from) = self.group_with(flow) else { return };
        // A flow that has the turn moves at its end.
        let group = self.groups.get_mut(&from).expect("just found");
        if group_of(flows.weights[flow]) == from || (self.turn == Some(from) && group.ring[0] == flow) {
            return;
        }
        let at = group.ring.iter().position(|&other| other == flow).expect("just found");
        group.ring.remove(at);
        group.left -= usize::from(at < group.left);
        self.join(flows, flow);
        self.settle(from);
    }

    fn forgotten(&mut self, _flows: &Flows, flow: usize) {
        self.credit[flow] = 0.0;
        self.known.remove(&flow);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn serves_the_earliest_group_as_a_scan_does(
        (resources, steps) in (1usize..=3).prop_flat_map(|resources| (Just(resources), steps(resources, WEIGHTS, 150))),
    ) {
        let mut rounds = Rounds { resources, ..Rounds::default() };
        compare(&mut *build("gmr3", resources, Limits::UNLIMITED, &[]), &mut rounds, resources, &steps)?;
    }
}
