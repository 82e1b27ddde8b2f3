//! What a scheduler releases, without a pipeline: a trace of which flows became backlogged and were released, and how far two
//! flows' service drifted apart while both were backlogged.
#![allow(dead_code)]

use std::collections::VecDeque;

use dovetail_sched::{Admission, Demand, Feedback, FlowId, Nanos, Packet, Scheduler, Stage, Weight};
use proptest::prelude::*;

use crate::support::{Job, Sent};

/// A packet arrives, then this many are requested.
#[derive(Debug, Clone)]
pub struct Op {
    pub flow: usize,
    pub demand: Vec<u64>,
    pub asks: usize,
}

/// Flows with weights, what happens to them, and how many packets are in the pipeline before the oldest finishes.
#[derive(Debug, Clone)]
pub struct Traffic {
    pub resources: usize,
    pub weights: Vec<f64>,
    pub ops: Vec<Op>,
    pub lag: usize,
}

#[derive(Debug, Clone)]
pub enum Event {
    Backlogged(usize),
    Released { flow: usize, demand: Vec<u64>, emptied: bool },
}

pub const WEIGHTS: [f64; 8] = [0.3, 0.5, 1.0, 1.0, 1.7, 2.0, 5.0, 16.0];

/// Bursts in which backlogs grow, bursts in which they shrink; packets differ by three orders of magnitude.
pub fn traffic(resources: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Traffic> {
    (resources, prop::collection::vec(prop::sample::select(&WEIGHTS[..]), 2..6), 0usize..4).prop_flat_map(
        |(resources, weights, lag)| {
            let flows = weights.len();
            let time = prop_oneof![0u64..10, 0u64..100, 500u64..1000];
            let op = (0..flows, prop::collection::vec(time, resources)).prop_map(|(flow, demand)| Op {
                flow,
                demand,
                asks: 0,
            });
            let phase = (prop::collection::vec(op, 1..80), 0usize..4).prop_map(|(mut ops, asks)| {
                ops.iter_mut().for_each(|op| op.asks = asks);
                ops
            });
            prop::collection::vec(phase, 1..6).prop_map(move |phases| Traffic {
                resources,
                weights: weights.clone(),
                ops: phases.concat(),
                lag,
            })
        },
    )
}

pub fn dominant(demand: &[u64]) -> f64 {
    demand.iter().copied().max().expect("a demand is over a resource") as f64
}

impl Traffic {
    /// The flow's largest packet, by dominant time.
    pub fn largest(&self, flow: usize) -> f64 {
        self.ops.iter().filter(|op| op.flow == flow).map(|op| dominant(&op.demand)).fold(0.0, f64::max)
    }

    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let flows = self.weights.len();
        (0..flows).flat_map(move |i| (0..flows).filter(move |&k| k != i).map(move |k| (i, k)))
    }

    /// Plays it, and at the end empties all queues.
    pub fn play(&self, scheduler: &mut dyn Scheduler) -> Vec<Event> {
        for (flow, &weight) in self.weights.iter().enumerate() {
            scheduler.set_weight(FlowId(flow as u32), Weight::new(weight).expect("in range"));
        }
        let mut play = Play { traffic: self, scheduler, trace: Vec::new(), pipeline: VecDeque::new() };
        for (handle, op) in self.ops.iter().enumerate() {
            play.arrive(handle, op);
            for _ in 0..op.asks {
                play.ask();
            }
        }
        while play.ask() {}
        assert_eq!(play.released(), self.ops.len(), "packets wait for ever");
        play.trace
    }
}

struct Play<'a> {
    traffic: &'a Traffic,
    scheduler: &'a mut dyn Scheduler,
    trace: Vec<Event>,
    pipeline: VecDeque<(FlowId, u64)>,
}

impl Play<'_> {
    fn arrive(&mut self, handle: usize, op: &Op) {
        let flow = FlowId(op.flow as u32);
        if self.scheduler.flow_backlog(flow).packets == 0 {
            self.trace.push(Event::Backlogged(op.flow));
        }
        let times: Vec<Nanos> = op.demand.iter().copied().map(Nanos).collect();
        let demand = Demand::new(&times).expect("1 to 8 resources");
        let packet = Packet { flow, bytes: 100, arrival: Nanos::ZERO, handle: handle as u64, demand };
        assert_eq!(self.scheduler.enqueue(&packet, Nanos::ZERO), Admission::QUEUED);
    }

    /// Requests a packet, advancing the pipeline as long as that is what holds it back; returns false if none is queued.
    fn ask(&mut self) -> bool {
        if self.scheduler.backlog().packets == 0 {
            while !self.pipeline.is_empty() {
                self.leave();
            }
            return false;
        }
        let sent = loop {
            match self.scheduler.dequeue(Nanos::ZERO) {
                Some(sent) => break sent,
                None => self.leave(),
            }
        };
        let flow = sent.packet.flow;
        let demand = sent.packet.demand.times().iter().map(|time| time.0).collect();
        let emptied = self.scheduler.flow_backlog(flow).packets == 0;
        self.trace.push(Event::Released { flow: flow.index(), demand, emptied });
        self.pipeline.push_back((flow, sent.ticket));
        while self.pipeline.len() > self.traffic.lag {
            self.leave();
        }
        true
    }

    /// The oldest packet in the pipeline starts and finishes on the last resource.
    fn leave(&mut self) {
        let (flow, ticket) = self.pipeline.pop_front().expect("packets are held back and nothing is on its way");
        let last = self.traffic.resources - 1;
        for stage in [Stage::Started, Stage::Finished] {
            if self.scheduler.interest().has(stage, last) {
                let event = Feedback { flow, ticket, resource: last as u8, stage, took: Nanos::ZERO };
                self.scheduler.feedback(&event, Nanos::ZERO);
            }
        }
    }

    fn released(&self) -> usize {
        self.trace.iter().filter(|event| matches!(event, Event::Released { .. })).count()
    }
}

/// The largest gain, summed over packets, of `of_i` for flow `i` over `of_k` for flow `k` in an interval in which both were
/// backlogged. The packet that empties a queue still counts.
pub fn largest_gain(
    trace: &[Event],
    (i, k): (usize, usize),
    of_i: impl Fn(&[u64]) -> f64,
    of_k: impl Fn(&[u64]) -> f64,
) -> f64 {
    let mut backlogged = [false; 2];
    let mut difference = 0.0;
    let mut least: f64 = 0.0;
    let mut gain: f64 = 0.0;
    for event in trace {
        let (flow, emptied) = match event {
            Event::Backlogged(flow) => (*flow, None),
            Event::Released { flow, emptied, .. } => (*flow, Some(*emptied)),
        };
        let Some(side) = [i, k].iter().position(|&one| one == flow) else { continue };
        if let Event::Released { demand, .. } = event
            && backlogged == [true; 2]
        {
            difference += if side == 0 { of_i(demand) } else { -of_k(demand) };
            gain = gain.max(difference - least);
            least = least.min(difference);
        }
        match emptied {
            None => {
                backlogged[side] = true;
                (difference, least) = (0.0, 0.0);
            }
            Some(emptied) => backlogged[side] = !emptied,
        }
    }
    gain
}

/// Packets that are all present from the start; each flow has its own dominant resource.
#[derive(Debug, Clone)]
pub struct Backlog {
    pub weights: Vec<f64>,
    pub dominant: Vec<usize>,
    pub jobs: Vec<Job>,
}

pub fn backlog() -> impl Strategy<Value = Backlog> {
    (2usize..=3, 2usize..6).prop_flat_map(|(m, flows)| {
        let weights = prop::collection::vec(prop::sample::select(&WEIGHTS[..]), flows);
        let dominant = prop::collection::vec(0..m, flows);
        let time = prop_oneof![1u64..10, 1u64..100, 500u64..1000];
        let rows = prop::collection::vec((0..flows, time, prop::collection::vec(0.0f64..1.0, m)), 50..250);
        (weights, dominant, rows).prop_map(|(weights, dominant, rows)| {
            let job = |(flow, time, parts): (usize, u64, Vec<f64>)| {
                let mut demand: Vec<u64> = parts.iter().map(|part| (part * time as f64) as u64).collect();
                demand[dominant[flow]] = time;
                Job { flow: flow as u32, bytes: 100, arrival: 0, demand }
            };
            let jobs = rows.into_iter().map(job).collect();
            Backlog { weights, dominant, jobs }
        })
    })
}

impl Backlog {
    pub fn largest(&self, flow: usize) -> f64 {
        let own = self.jobs.iter().filter(|job| job.flow as usize == flow);
        own.map(|job| dominant(&job.demand)).fold(0.0, f64::max)
    }

    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let flows = self.weights.len();
        (0..flows).flat_map(move |i| (0..i).map(move |k| (i, k)))
    }

    /// How far the processing of two flows on their dominant resources, over their weights, drifted apart in any interval in
    /// which packets of both were queued.
    pub fn processed_apart(&self, sent: &[Sent], (i, k): (usize, usize)) -> f64 {
        let of = |flow: usize| sent.iter().filter(move |one| one.flow as usize == flow);
        let until = [i, k].map(|flow| of(flow).map(|one| one.released).max().unwrap_or(0));
        let until = until[0].min(until[1]);
        let spans = [i, k].map(|flow| {
            let r = self.dominant[flow];
            of(flow).map(move |one| (one.start[r], one.end[r])).collect::<Vec<_>>()
        });
        let done = |side: usize, now: u64| -> f64 {
            let times = spans[side].iter().map(|&(start, end)| now.clamp(start, end) - start);
            times.sum::<u64>() as f64 / self.weights[[i, k][side]]
        };
        let (mut least, mut most): (f64, f64) = (0.0, 0.0);
        for &(start, end) in spans.iter().flatten() {
            for now in [start.min(until), end.min(until)] {
                let difference = done(0, now) - done(1, now);
                (least, most) = (least.min(difference), most.max(difference));
            }
        }
        most - least
    }
}
