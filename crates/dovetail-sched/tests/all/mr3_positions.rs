//! `mr3` with weights that change, against rounds in which every flow has a position: the work that it has received over its
//! weight, counted from the beginning. A round takes all flows to a goal, and the next goal is the farthest position reached.

use std::collections::VecDeque;

use crate::{
    released::dominant,
    single::build,
    steps::{EXACT, FLOWS, Flows, Plain, compare, steps},
};
use dovetail_sched::Limits;
use proptest::prelude::*;

struct Positions {
    resources: usize,
    position: Vec<f64>,
    /// Packets on their way to the last resource.
    ahead: Vec<usize>,
    /// In the order of turns, the first `left` of them in this round.
    ring: VecDeque<usize>,
    left: usize,
    in_turn: bool,
    /// Where this round takes every flow, where the last one did, and where the next will.
    goal: f64,
    goal_before: f64,
    farthest: f64,
}

impl Positions {
    fn new(resources: usize) -> Self {
        Self {
            resources,
            position: vec![0.0; FLOWS],
            ahead: vec![0; FLOWS],
            ring: VecDeque::new(),
            left: 0,
            in_turn: false,
            goal: 0.0,
            goal_before: 0.0,
            farthest: 0.0,
        }
    }

    fn end_turn(&mut self, flow: usize, leaves: bool) {
        self.farthest = self.farthest.max(self.position[flow]);
        self.ring.pop_front();
        self.left -= 1;
        self.in_turn = false;
        if !leaves {
            self.ring.push_back(flow);
        } else if self.ring.is_empty() {
            self.farthest = self.goal;
        }
    }

    fn waits_for_its_turn(&self, flow: usize) -> bool {
        self.ring.iter().take(self.left).any(|&other| other == flow)
    }
}

impl Plain for Positions {
    fn arrived(&mut self, _flows: &Flows, flow: usize) {
        if !self.ring.contains(&flow) {
            self.ring.push_back(flow);
            self.position[flow] = self.goal;
        }
    }

    fn serve(&mut self, flows: &mut Flows) -> Option<usize> {
        loop {
            let flow = *self.ring.front()?;
            if self.left == 0 {
                self.left = self.ring.len();
                (self.goal_before, self.goal) = (self.goal, self.farthest);
            }
            if !self.in_turn && self.resources > 1 && self.ahead[flow] > 0 && !flows.is_empty(flow) {
                return None;
            }
            self.in_turn = true;
            let Some(cost) = flows.queues[flow].pop_front() else {
                self.end_turn(flow, true);
                continue;
            };
            self.position[flow] += dominant(&cost) / flows.weights[flow];
            self.ahead[flow] += 1;
            if flows.is_empty(flow) || self.position[flow] > self.goal {
                self.end_turn(flow, flows.is_empty(flow));
            }
            return Some(flow);
        }
    }

    fn crossed(&mut self, flow: usize, _number: usize) {
        self.ahead[flow] -= 1;
    }

    fn weighed(&mut self, flows: &Flows, flow: usize, old: f64) {
        if !self.ring.contains(&flow) {
            return;
        }
        let ratio = old / flows.weights[flow];
        let front = if self.left > 0 { self.ring[0] } else { FLOWS };
        if front == flow {
            // What it still has to go is the same work, or takes it as far.
            self.position[flow] = self.goal - (self.goal - self.position[flow]) * ratio.min(1.0);
            return;
        }
        // The work between it and the flow in front is the same.
        let from = if front < FLOWS { self.position[front] } else { self.goal };
        self.position[flow] = from + (self.position[flow] - from) * ratio;
        if self.waits_for_its_turn(flow) {
            self.position[flow] = self.position[flow].min(self.goal);
        }
        if ratio < 1.0 {
            let to_go = self.ring.iter().take(self.left).chain([&flow]);
            let needed = to_go.map(|&flow| self.position[flow]).fold(f64::NEG_INFINITY, f64::max);
            if needed < self.goal {
                // Those that came in this round begin where it ends.
                for &flow in self.ring.iter().skip(self.left) {
                    if self.position[flow] == self.goal {
                        self.position[flow] = needed;
                    }
                }
                self.goal = needed;
            }
        }
        // Those that have left do not count any more.
        let had_turns = self.ring.iter().skip(self.left);
        self.farthest = had_turns.map(|&flow| self.position[flow]).fold(self.goal, f64::max);
    }

    fn forgotten(&mut self, _flows: &Flows, flow: usize) {
        let goes_on = self.in_turn && self.ring[0] == flow;
        if self.ring.contains(&flow) && !goes_on {
            self.position[flow] = if self.waits_for_its_turn(flow) { self.goal_before } else { self.goal };
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn takes_every_flow_to_the_goal_of_its_round(
        (resources, steps) in (1usize..=2).prop_flat_map(|resources| (Just(resources), steps(resources, EXACT, 150))),
    ) {
        compare(&mut *build("mr3", resources, Limits::UNLIMITED, &[]), &mut Positions::new(resources), resources, &steps)?;
    }
}
