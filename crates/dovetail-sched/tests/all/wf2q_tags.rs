//! `wf2q+` with every tag by name and every choice by a scan, while flows lose all their packets, are forgotten and weighed anew.

use crate::{
    single::build,
    steps::{EXACT, FLOWS, Flows, Plain, compare, steps},
};
use dovetail_sched::Limits;
use proptest::prelude::*;

/// The names are the module's.
struct Tags {
    /// The resource whose time is shared.
    last: usize,
    v: f64,
    s: [f64; FLOWS],
    f: [f64; FLOWS],
    /// Flows without packets that still share.
    ahead: Vec<usize>,
    /// The work of the packet sent since `v` was last moved.
    uncounted: f64,
    in_service: usize,
}

impl Tags {
    fn stamp(&mut self, flows: &Flows, flow: usize, start: f64) {
        self.s[flow] = start;
        self.f[flow] = (start + flows.head(flow, self.last) / flows.weights[flow]).max(0.0);
    }

    fn least(&self, of: impl Iterator<Item = usize>) -> Option<usize> {
        of.min_by(|&a, &b| (self.f[a], a).partial_cmp(&(self.f[b], b)).expect("numbers"))
    }
}

impl Plain for Tags {
    fn arrived(&mut self, flows: &Flows, flow: usize) {
        if flows.queues[flow].len() > 1 {
            return;
        }
        if flows.packets() == 1 && self.in_service == 0 {
            (self.v, self.uncounted) = (0.0, 0.0);
            self.ahead.clear();
        }
        let start = if self.ahead.contains(&flow) { self.v.max(self.f[flow]) } else { self.v };
        self.ahead.retain(|&other| other != flow);
        self.stamp(flows, flow, start);
    }

    fn serve(&mut self, flows: &mut Flows) -> Option<usize> {
        let backlogged: Vec<usize> = (0..FLOWS).filter(|&flow| !flows.is_empty(flow)).collect();
        let sharing: f64 = backlogged.iter().chain(&self.ahead).map(|&flow| flows.weights[flow]).sum();
        self.v += self.uncounted / sharing;
        // No more than two flows end to share at a choice.
        for _ in 0..2 {
            if let Some(first) = self.least(self.ahead.iter().copied()).filter(|&flow| self.f[flow] <= self.v) {
                self.ahead.retain(|&other| other != first);
            }
        }
        self.v = self.v.max(backlogged.iter().map(|&flow| self.s[flow]).fold(f64::INFINITY, f64::min));
        let flow = self.least(backlogged.into_iter().filter(|&flow| self.s[flow] <= self.v))?;
        self.uncounted = flows.head(flow, self.last);
        self.in_service += 1;
        flows.queues[flow].pop_front();
        if flows.is_empty(flow) {
            self.ahead.push(flow);
        } else {
            self.stamp(flows, flow, self.f[flow]);
        }
        Some(flow)
    }

    fn crossed(&mut self, _flow: usize, _number: usize) {
        self.in_service -= 1;
    }

    /// They leave no trace: the next would have started where the first did.
    fn discarded(&mut self, _flows: &Flows, flow: usize) {
        self.f[flow] = self.s[flow].max(0.0);
        self.ahead.push(flow);
    }

    fn weighed(&mut self, flows: &Flows, flow: usize, old: f64) {
        let kept = |tag: f64| self.v + (tag - self.v) * old / flows.weights[flow];
        if !flows.is_empty(flow) {
            let start = kept(self.s[flow]);
            self.stamp(flows, flow, start);
        } else if self.ahead.contains(&flow) {
            self.f[flow] = kept(self.f[flow]).max(0.0);
        }
    }

    fn forgotten(&mut self, _flows: &Flows, flow: usize) {
        self.ahead.retain(|&other| other != flow);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn chooses_by_tags_as_a_scan_does(
        (resources, steps) in (1usize..=2).prop_flat_map(|resources| (Just(resources), steps(resources, EXACT, 150))),
    ) {
        let mut tags = Tags {
            last: resources - 1,
            v: 0.0,
            s: [0.0; FLOWS],
            f: [0.0; FLOWS],
            ahead: Vec::new(),
            uncounted: 0.0,
            in_service: 0,
        };
        compare(&mut *build("wf2q+", resources, Limits::UNLIMITED, &[]), &mut tags, resources, &steps)?;
    }
}
