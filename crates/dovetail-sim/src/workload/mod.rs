//! Packets.

use dovetail_sched::{Demand, FlowId, Nanos, Weight};

/// A packet of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Nanos,
    /// Of which flow.
    pub flow: FlowId,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Processing time on each resource.
    pub demand: Demand,
}

/// Placeholder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(pub String);

/// Irregularity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// Packets in order of time.
pub trait Workload {
    /// Names.
    fn resources(&self) -> &[String];
    /// Next.
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError>;
    /// Refill.
    fn refill(&mut self, _flow: FlowId, _now: Nanos) -> Option<Arrival> {
        None
    }
    /// Weight.
    fn weight(&self, _flow: FlowId) -> Weight {
        Weight::ONE
    }
    /// Label.
    fn label(&self, flow: FlowId) -> String;
    /// Class.
    fn class(&self, _flow: FlowId) -> Option<&str> {
        None
    }
    /// How many.
    fn packets_hint(&self) -> Option<u64> {
        None
    }
    /// Notices.
    fn notices(&self) -> Vec<Notice>;
}
