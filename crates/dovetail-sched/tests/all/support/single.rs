//! Traffic for one resource, and measures of its schedules.
#![allow(dead_code)]

use dovetail_sched::{Admission, Dispatch, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Weight};
use proptest::prelude::*;

use crate::support::{Job, Mode, Sent, assert_feasible, pass_on, play};

/// Flows with weights, and their packets in order of arrival.
#[derive(Debug, Clone)]
pub struct Traffic {
    pub weights: Vec<f64>,
    pub jobs: Vec<Job>,
}

/// Up to five flows with weights out of `weights`, up to `most` packets of `least` to 60 ns, in bursts at a load around 1.
pub fn traffic(weights: &'static [f64], least: u64, most: usize) -> impl Strategy<Value = Traffic> {
    let flows = prop::collection::vec(prop::sample::select(weights), 1..=5);
    flows.prop_flat_map(move |weights| {
        let gap = prop_oneof![3 => Just(0u64), 3 => 1u64..60, 1 => 60u64..200];
        let work = prop_oneof![least..10, 10u64..60];
        let packet = (0..weights.len() as u32, gap, work);
        prop::collection::vec(packet, 1..most).prop_map(move |rows| {
            let mut now = 0;
            let jobs = rows
                .into_iter()
                .map(|(flow, gap, work)| {
                    now += gap;
                    Job { flow, bytes: 100, arrival: now, demand: vec![work] }
                })
                .collect();
            Traffic { weights: weights.clone(), jobs }
        })
    })
}

pub fn build(policy: &str, resources: usize, limits: Limits, weights: &[f64]) -> Box<dyn Scheduler> {
    let spec: PolicySpec = policy.parse().expect("a policy");
    let mut scheduler = spec.build(&Setup::new(resources, limits)).expect("in range");
    for (flow, &weight) in (0..).zip(weights) {
        scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
    }
    scheduler
}

impl Traffic {
    /// Plays the packets through a policy on one resource.
    pub fn play(&self, policy: &str) -> Vec<Sent> {
        let mut scheduler = build(policy, 1, Limits::UNLIMITED, &self.weights);
        let sent = play(&mut scheduler, &self.jobs, Mode::Unbounded);
        assert_feasible(&self.jobs, &sent, Mode::Unbounded);
        assert_eq!(sent.len(), self.jobs.len());
        sent
    }

    pub fn flows(&self) -> std::ops::Range<u32> {
        0..self.weights.len() as u32
    }

    pub fn work(&self, job: usize) -> f64 {
        self.jobs[job].demand[0] as f64
    }

    /// The largest packet of all.
    pub fn largest(&self) -> f64 {
        (0..self.jobs.len()).map(|job| self.work(job)).fold(0.0, f64::max)
    }

    /// The flow's largest packet.
    pub fn largest_of(&self, flow: u32) -> f64 {
        (0..self.jobs.len()).filter(|&job| self.jobs[job].flow == flow).map(|job| self.work(job)).fold(0.0, f64::max)
    }

    /// The flow's share of the server if all flows were busy.
    pub fn rate(&self, flow: u32) -> f64 {
        self.weights[flow as usize] / self.weights.iter().sum::<f64>()
    }

    /// The intervals in which the flow has a packet queued or in service, as (begin, end). A packet that arrives as the last
    /// one ends begins another.
    pub fn spells(&self, sent: &[Sent], flow: u32) -> Vec<(u64, u64)> {
        let mut packets: Vec<_> =
            sent.iter().filter(|one| one.flow == flow).map(|one| (self.jobs[one.job].arrival, one.end[0])).collect();
        packets.sort_unstable();
        let mut spells: Vec<(u64, u64)> = Vec::new();
        for (arrival, end) in packets {
            match spells.last_mut() {
                Some(spell) if arrival < spell.1 => spell.1 = spell.1.max(end),
                _ => spells.push((arrival, end)),
            }
        }
        spells
    }
}

/// The flow's service until `at`, the packet in service counted in part.
pub fn served(sent: &[Sent], flow: u32, at: f64) -> f64 {
    sent.iter()
        .filter(|one| one.flow == flow)
        .map(|one| (at.min(one.end[0] as f64) - one.start[0] as f64).max(0.0))
        .sum()
}

/// Sets new weights after a number of packets were sent.
#[derive(Debug)]
pub struct Reweighing<'a> {
    inner: Box<dyn Scheduler>,
    new: &'a [f64],
    left: usize,
}

impl<'a> Reweighing<'a> {
    pub fn new(inner: Box<dyn Scheduler>, new: &'a [f64], left: usize) -> Self {
        Self { inner, new, left }
    }
}

impl Scheduler for Reweighing<'_> {
    pass_on!();

    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        if self.left == 0 {
            for (flow, &weight) in (0..).zip(self.new) {
                self.inner.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
            }
        }
        let out = self.inner.dequeue(now)?;
        self.left = self.left.wrapping_sub(1);
        Some(out)
    }
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        self.inner.enqueue(packet, now)
    }
    fn poll_evicted(&mut self) -> Option<Packet> {
        self.inner.poll_evicted()
    }
}
