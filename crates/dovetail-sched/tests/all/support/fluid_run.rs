//! A fluid run alone, with the shares that it gives between events.
#![allow(dead_code)]

use std::collections::VecDeque;

use dovetail_sched::{
    Demand, FlowId, Nanos,
    fluid::{Alpha, Fluid, Supply},
};

use crate::support::Job;

/// The state between two events.
#[derive(Debug, Clone)]
pub struct Segment {
    pub from: f64,
    pub to: f64,
    /// Each flow's dominant share; 0 for flows that are not served.
    pub shares: Vec<f64>,
    /// The demand of each served flow's head-of-line packet.
    pub heads: Vec<Option<Vec<u64>>>,
}

/// A whole run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub segments: Vec<Segment>,
    /// The largest number of flows served at once.
    pub most_flows: usize,
    /// Flows, once for each packet, in the order in which packets start, and the whole nanosecond in which they do.
    pub starts: Vec<(u32, u64)>,
}

impl Run {
    pub fn makespan(&self) -> f64 {
        self.segments.last().map_or(0.0, |segment| segment.to)
    }

    /// Dominant service of the flow until `at`.
    pub fn service(&self, flow: usize, at: f64) -> f64 {
        let parts = self.segments.iter().map(|segment| {
            let time = segment.to.min(at) - segment.from;
            if time > 0.0 { time * segment.shares[flow] } else { 0.0 }
        });
        parts.sum()
    }
}

struct Store {
    waiting: Vec<VecDeque<Vec<Nanos>>>,
    heads: Vec<Option<Vec<Nanos>>>,
    starts: Vec<(u32, u64)>,
}

impl Supply for Store {
    type Packet = Demand;

    fn demand(&self, packet: Demand) -> Demand {
        packet
    }

    fn start_next(&mut self, flow: FlowId, at: Nanos) -> Option<Demand> {
        self.heads[flow.index()] = self.waiting[flow.index()].pop_front();
        self.starts.extend(self.heads[flow.index()].iter().map(|_| (flow.0, at.0)));
        Demand::new(self.heads[flow.index()].as_deref()?).ok()
    }
}

/// Plays `jobs`, in order of arrival, with a weight for each flow.
pub fn play_fluid<F: Fluid>(jobs: &[Job], weights: &[f64], alpha: Alpha) -> Run {
    let m = jobs[0].demand.len();
    let mut fluid = F::new(m, alpha);
    let (waiting, heads) = (vec![VecDeque::new(); weights.len()], vec![None; weights.len()]);
    let mut store = Store { waiting, heads, starts: Vec::new() };
    let mut run = Run::default();
    let mut snapshot = |fluid: &mut F, store: &Store, from: f64, shares: &[f64], heads: &[Option<Vec<u64>>]| {
        let to = fluid.clock();
        if to > from {
            run.segments.push(Segment { from, to, shares: shares.to_vec(), heads: heads.to_vec() });
        }
        run.most_flows = run.most_flows.max(fluid.flows());
        let flows = || (0..store.heads.len()).map(|flow| FlowId(flow as u32));
        let shares: Vec<f64> = flows().map(|flow| fluid.share(flow)).collect();
        let heads = flows().map(|flow| {
            let head = store.heads[flow.index()].as_ref().filter(|_| fluid.serves(flow));
            head.map(|head| head.iter().map(|time| time.0).collect())
        });
        (to, shares, heads.collect::<Vec<Option<Vec<u64>>>>())
    };
    let (mut clock, mut shares, mut heads) = (0.0, vec![0.0; weights.len()], vec![None; weights.len()]);
    for job in jobs {
        while fluid.step(Nanos(job.arrival), &mut store) {
            (clock, shares, heads) = snapshot(&mut fluid, &store, clock, &shares, &heads);
        }
        let flow = FlowId(job.flow);
        store.waiting[flow.index()].push_back(job.demand.iter().map(|&time| Nanos(time)).collect());
        if !fluid.serves(flow) {
            if fluid.flows() == 0 {
                fluid.restart(Nanos(job.arrival));
                clock = job.arrival as f64;
            }
            fluid.arrive(flow, weights[flow.index()], Nanos(job.arrival), &mut store);
            (clock, shares, heads) = snapshot(&mut fluid, &store, clock, &shares, &heads);
        }
    }
    while fluid.step(Nanos::MAX, &mut store) {
        (clock, shares, heads) = snapshot(&mut fluid, &store, clock, &shares, &heads);
    }
    run.starts = store.starts;
    run
}
