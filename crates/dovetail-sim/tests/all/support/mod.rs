//! A workload from a list, an observer into a list, and the event-by-event pipeline of the scheduler crate's tests.
#![allow(dead_code)]

#[path = "../../../../dovetail-sched/tests/all/support/mod.rs"]
pub mod events;
pub mod recompute;

use dovetail_sched::{Demand, FlowId, Nanos, Packet, Weight};
use dovetail_sim::{
    Observer, Passage, Profile,
    workload::{Arrival, Notice, Workload, WorkloadError},
};
use events::Job;

/// Packets from a list, with weights by flow.
pub struct Listed {
    resources: Vec<String>,
    arrivals: std::vec::IntoIter<Arrival>,
    weights: Vec<f64>,
}

impl Listed {
    pub fn new(jobs: &[Job], weights: &[f64]) -> Self {
        let m = jobs.first().map_or(1, |job| job.demand.len());
        let arrivals: Vec<_> = jobs
            .iter()
            .map(|job| {
                let times: Vec<Nanos> = job.demand.iter().map(|&time| Nanos(time)).collect();
                let demand = Demand::new(&times).expect("1 to 8 resources");
                Arrival::new(Nanos(job.arrival), FlowId(job.flow), job.bytes, demand)
            })
            .collect();
        Self {
            resources: (0..m).map(|j| format!("r{j}")).collect(),
            arrivals: arrivals.into_iter(),
            weights: weights.to_vec(),
        }
    }
}

impl Workload for Listed {
    fn resources(&self) -> &[String] {
        &self.resources
    }
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        Ok(self.arrivals.next())
    }
    fn weight(&self, flow: FlowId) -> Weight {
        self.weights.get(flow.index()).and_then(|&weight| Weight::new(weight)).unwrap_or_default()
    }
    fn label(&self, flow: FlowId) -> String {
        format!("flow {flow}")
    }
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Everything that was observed.
#[derive(Default)]
pub struct Seen {
    pub sent: Vec<(Packet, Passage)>,
    pub dropped: Vec<(Packet, Nanos)>,
}

impl Observer for Seen {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.dropped.push((*packet, now));
    }
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.sent.push((*packet, *passage));
    }
}
