//! `drfq` with every tag by name and every choice by a scan, while flows lose all their packets, are forgotten and weighed anew.

use crate::{
    released::dominant,
    single::build,
    steps::{EXACT, FLOWS, Flows, Plain, compare, steps},
};
use dovetail_sched::{Limits, Nanos, PolicySpec, Scheduler};
use proptest::prelude::*;

struct Tags {
    /// How far a tag may lag the flow's largest; none if there is one tag for all resources.
    lag: Option<f64>,
    /// By flow: while it is backlogged the start of its first packet, otherwise the finish of its last.
    tags: Vec<Vec<f64>>,
    /// `V`, for every kind of tag.
    v: Vec<f64>,
    in_service: usize,
}

fn largest(tags: &[f64]) -> f64 {
    tags.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

impl Tags {
    fn new(resources: usize, lag: Option<f64>) -> Self {
        let kinds = if lag.is_some() { resources } else { 1 };
        Self { lag, tags: vec![vec![0.0; kinds]; FLOWS], v: vec![0.0; kinds], in_service: 0 }
    }

    fn raise_to_lag(&mut self, flow: usize) {
        let least = largest(&self.tags[flow]) - self.lag.unwrap_or(0.0);
        self.tags[flow].iter_mut().for_each(|tag| *tag = tag.max(least));
    }
}

impl Plain for Tags {
    fn arrived(&mut self, flows: &Flows, flow: usize) {
        if flows.packets() == 1 && self.in_service == 0 {
            self.v.fill(0.0);
            self.tags.iter_mut().for_each(|tags| tags.fill(0.0));
        }
        if flows.queues[flow].len() == 1 {
            self.tags[flow].iter_mut().zip(&self.v).for_each(|(tag, &v)| *tag = tag.max(v));
        }
    }

    fn serve(&mut self, flows: &mut Flows) -> Option<usize> {
        let backlogged = (0..FLOWS).filter(|&flow| !flows.is_empty(flow));
        let flow = backlogged.min_by(|&a, &b| largest(&self.tags[a]).total_cmp(&largest(&self.tags[b])))?;
        self.v.iter_mut().zip(&self.tags[flow]).for_each(|(v, &tag)| *v = v.max(tag));
        let demand = flows.queues[flow].pop_front()?;
        let costs =
            if self.lag.is_some() { demand.iter().map(|&time| time as f64).collect() } else { vec![dominant(&demand)] };
        self.tags[flow].iter_mut().zip(costs).for_each(|(tag, cost)| *tag += cost / flows.weights[flow]);
        self.raise_to_lag(flow);
        self.in_service += 1;
        Some(flow)
    }

    fn crossed(&mut self, _flow: usize, _number: usize) {
        self.in_service -= 1;
    }

    fn weighed(&mut self, flows: &Flows, flow: usize, old: f64) {
        let ratio = old / flows.weights[flow];
        if flows.is_empty(flow) {
            // The work that it is ahead of `V` stays.
            for (tag, &v) in self.tags[flow].iter_mut().zip(&self.v) {
                *tag = if *tag > v { v + (*tag - v) * ratio } else { *tag };
            }
        } else {
            // So does that by which its largest tag is ahead of all that was released, and that between its tags.
            let released = largest(&self.v);
            self.tags[flow].iter_mut().for_each(|tag| *tag = released + (*tag - released) * ratio);
            self.raise_to_lag(flow);
        }
    }

    fn forgotten(&mut self, _flows: &Flows, flow: usize) {
        self.tags[flow].fill(0.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn chooses_by_tags_as_a_scan_does(
        (resources, steps) in (1usize..=3).prop_flat_map(|resources| (Just(resources), steps(resources, EXACT, 150))),
        (text, lag) in prop::sample::select(&[("0", None), ("10ns", Some(10.0)), ("inf", Some(f64::INFINITY))][..]),
        is_turned in any::<bool>(),
    ) {
        let spec: PolicySpec = format!("drfq:dovetail={text}").parse().expect("valid");
        let mut drfq = if lag.is_some() && is_turned {
            let mut drfq = build("drfq:dovetail=3ns", resources, Limits::UNLIMITED, &[]);
            drfq.retune(&spec.knobs(), Nanos::ZERO).expect("the lag can be turned");
            drfq
        } else {
            build(&spec.to_string(), resources, Limits::UNLIMITED, &[])
        };
        compare(&mut *drfq, &mut Tags::new(resources, lag), resources, &steps)?;
    }
}
