//! Multi-resource packet scheduling in virtual time.
//!
//! A [`Workload`](workload::Workload) supplies packets in order of time, a [`Scheduler`](dovetail_sched::Scheduler) queues
//! and orders them, a [`Pipeline`] of resources processes them, and [`Observer`]s record what happens:
//! [`Meters`](measure::Meters) for figures, [`records`] for one row per packet. [`simulate`] is the loop that connects them.
//! Everything streams: memory grows with flows and waiting packets, not with the length of the run, and equal inputs give
//! equal runs on every machine.
//!
//! | module | what |
//! |---|---|
//! | [`workload`] | packets from captures, CSV and synthetic scenarios |
//! | [`Pipeline`] | when a packet starts and ends on each resource |
//! | [`simulate`] | the loop |
//! | [`network`] | hosts with a real TCP, routers and links, instead of a workload |
//! | [`blame`] | what packets wait for |
//! | [`measure`] | utilisation, fairness, latency, series over time |
//! | [`records`] | one row per packet, CSV or Parquet |

pub mod blame;
pub mod measure;
pub mod network;
pub mod records;
pub mod workload;

mod pipeline;
mod simulate;

pub use pipeline::{ModeError, Passage, Pipeline, PipelineMode};
pub use simulate::{Options, Outcome, Progress, SimulateError, simulate};

use dovetail_sched::{FlowId, Nanos, Packet, Weight};

/// Properties of a flow, given when it first appears.
#[derive(Debug, Clone, Copy)]
pub struct Profile<'a> {
    /// Its weight.
    pub weight: Weight,
    /// Its name.
    pub label: &'a str,
    /// Its application class, if the workload has classes.
    pub class: Option<&'a str>,
}

/// An observer of a run. Calls are in order of time, except that a packet's passage through the whole pipeline is reported
/// when the packet is released.
pub trait Observer {
    /// A flow's first packet is about to arrive.
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>);

    /// A packet arrived and will wait, unless [`dropped`](Self::dropped) follows.
    fn arrived(&mut self, packet: &Packet);

    /// A packet that arrived will not be sent: refused, or evicted later.
    fn dropped(&mut self, packet: &Packet, now: Nanos);

    /// A packet was released and crosses the pipeline as `passage` states.
    fn sent(&mut self, packet: &Packet, passage: &Passage);

    /// A packet still waits when the network stops. Called for each such packet at the end.
    fn left(&mut self, _packet: &Packet) {}
}

/// Observes nothing.
impl Observer for () {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, _: &Packet, _: Nanos) {}
    fn sent(&mut self, _: &Packet, _: &Passage) {}
}

/// An optional observer.
impl<O: Observer> Observer for Option<O> {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if let Some(observer) = self {
            observer.appeared(flow, profile);
        }
    }
    fn arrived(&mut self, packet: &Packet) {
        if let Some(observer) = self {
            observer.arrived(packet);
        }
    }
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        if let Some(observer) = self {
            observer.dropped(packet, now);
        }
    }
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        if let Some(observer) = self {
            observer.sent(packet, passage);
        }
    }
    fn left(&mut self, packet: &Packet) {
        if let Some(observer) = self {
            observer.left(packet);
        }
    }
}

/// Two observers.
impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        self.0.appeared(flow, profile);
        self.1.appeared(flow, profile);
    }
    fn arrived(&mut self, packet: &Packet) {
        self.0.arrived(packet);
        self.1.arrived(packet);
    }
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.0.dropped(packet, now);
        self.1.dropped(packet, now);
    }
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.0.sent(packet, passage);
        self.1.sent(packet, passage);
    }
    fn left(&mut self, packet: &Packet) {
        self.0.left(packet);
        self.1.left(packet);
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
