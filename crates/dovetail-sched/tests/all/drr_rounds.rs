//! `drr` with every turn of every round played out, while flows lose all their packets, are forgotten and weighed anew.

use std::collections::VecDeque;

use crate::{
    single::build,
    steps::{EXACT, FLOWS, Flows, Plain, compare, steps},
};
use dovetail_sched::Limits;
use proptest::prelude::*;

struct Rounds {
    quantum: f64,
    deficit: [f64; FLOWS],
    ring: VecDeque<usize>,
    in_turn: bool,
}

impl Rounds {
    /// The turn of the flow in front goes on if its next packet fits.
    fn fits(&self, flows: &Flows, flow: usize) -> bool {
        !flows.is_empty(flow) && flows.head(flow, 0) <= self.deficit[flow]
    }

    fn leave(&mut self, flow: usize) {
        self.ring.pop_front();
        self.deficit[flow] = 0.0;
        self.in_turn = false;
    }
}

impl Plain for Rounds {
    fn arrived(&mut self, _flows: &Flows, flow: usize) {
        if !self.ring.contains(&flow) {
            self.ring.push_back(flow);
        }
    }

    fn serve(&mut self, flows: &mut Flows) -> Option<usize> {
        loop {
            let flow = *self.ring.front()?;
            if flows.is_empty(flow) {
                self.leave(flow);
                continue;
            }
            if !self.in_turn {
                self.deficit[flow] += self.quantum * flows.weights[flow];
                self.in_turn = true;
            }
            let sent = self.fits(flows, flow);
            if sent {
                self.deficit[flow] -= flows.head(flow, 0);
                flows.queues[flow].pop_front();
            }
            if flows.is_empty(flow) {
                self.leave(flow);
            } else if !self.fits(flows, flow) {
                self.ring.rotate_left(1);
                self.in_turn = false;
            }
            if sent {
                return Some(flow);
            }
        }
    }

    fn discarded(&mut self, _flows: &Flows, flow: usize) {
        self.deficit[flow] = 0.0;
        if self.in_turn && self.ring[0] == flow {
            self.leave(flow);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn plays_every_turn_of_every_round(quantum in 1u64..40, steps in steps(1, EXACT, 200)) {
        let mut rounds =
            Rounds { quantum: quantum as f64, deficit: [0.0; FLOWS], ring: VecDeque::new(), in_turn: false };
        compare(&mut *build(&format!("drr:quantum={quantum}"), 1, Limits::UNLIMITED, &[]), &mut rounds, 1, &steps)?;
    }
}
