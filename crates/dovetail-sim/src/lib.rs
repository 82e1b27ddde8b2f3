//! Multi-resource packet scheduling in virtual time.
//!
//! A [`Workload`](workload::Workload) supplies packets in order of time, a
//! [`Scheduler`](dovetail_sched::Scheduler) holds and orders them, a [`Pipeline`] of resources processes them, and
//! [`Observer`]s see what happened: [`Meters`](measure::Meters) for figures, [`records`] for a row a packet.
//! [`simulate`] is the loop between them. Everything streams: memory grows with flows and waiting packets, not with
//! the length of the run, and the same inputs give the same run on every machine.
//!
//! | module | what |
//! |---|---|
//! | [`workload`] | packets from captures, CSV and synthetic scenarios |
//! | [`Pipeline`] | when a packet starts and ends on each resource |
//! | [`simulate`] | the loop |
//! | [`network`] | hosts with a real TCP, routers and links, instead of a workload |
//! | [`blame`] | who made a packet wait |
//! | [`measure`] | utilisation, fairness, latency, series over time |
//! | [`records`] | one row a packet, CSV or Parquet |

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

/// What is known of a flow when it first appears.
#[derive(Debug, Clone, Copy)]
pub struct Profile<'a> {
    /// Its weight.
    pub weight: Weight,
    /// Its name.
    pub label: &'a str,
    /// Its application class, if the workload has classes.
    pub class: Option<&'a str>,
}

/// An observer of a run. Calls come in order of time, except that a packet's passage through the whole pipeline
/// is told when it is released.
pub trait Observer {
    /// A flow's first packet is about to arrive.
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>);

    /// A packet arrived and will wait, unless [`dropped`](Self::dropped) follows.
    fn arrived(&mut self, packet: &Packet);

    /// A packet that arrived will not be sent: refused, or evicted later.
    fn dropped(&mut self, packet: &Packet, now: Nanos);

    /// A packet was released and crosses the pipeline thus.
    fn sent(&mut self, packet: &Packet, passage: &Passage);

    /// A packet still waits where a network stops. Told of all of them at the end.
    fn left(&mut self, _packet: &Packet) {}
}

/// No observer.
impl Observer for () {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, _: &Packet, _: Nanos) {}
    fn sent(&mut self, _: &Packet, _: &Passage) {}
}

/// An observer, if there is one.
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

/// Both watch.
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
