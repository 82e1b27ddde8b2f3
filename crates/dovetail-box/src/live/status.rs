//! What a running box tells of itself.

use std::sync::Arc;

use dovetail_sched::{Backlog, Nanos, Weight, units::Rate};
use dovetail_stats::Histogram;

use super::{
    answers::AnswersCounters,
    busiest::Busiest,
    counters::{ClassCounters, Oddities, TunnelCounters, WorkerCounters},
    port::PortCounters,
};
use crate::{
    config::Side,
    node::{Figures, Waited},
};

/// A box at one instant. Rates are differences of two of these.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// When, in nanoseconds of CLOCK_MONOTONIC.
    pub at: Nanos,
    /// When the box began, likewise.
    pub started: Nanos,
    /// The policy in force.
    pub policy: String,
    /// Inside and outside, as they are configured.
    pub interfaces: [Arc<str>; 2],
    /// The side on which what is scheduled leaves.
    pub toward: Option<Side>,
    /// Which part of a CPU functions have, 0 to 1.
    pub cpu_share: f64,
    /// What each worker has done: one, unless there are several.
    pub workers: Vec<WorkerCounters>,
    /// The link's rate.
    pub link_rate: Option<Rate>,
    /// CPU and link.
    pub figures: Figures,
    /// What packets waited for; classes as in `classes`.
    pub waited: Waited,
    /// What is queued.
    pub backlog: Backlog,
    /// Flows that are known.
    pub flows: usize,
    /// Inside and outside.
    pub ports: [PortCounters; 2],
    /// The classes, by name.
    pub classes: Vec<(Arc<str>, ClassCounters)>,
    /// Their flows' weights.
    pub weights: Vec<Weight>,
    /// How long their packets were in the box, from arrival to the end on the link at its rate, in nanoseconds.
    pub latencies: Vec<Histogram>,
    /// The busiest flows of the last second.
    pub busiest: Arc<Busiest>,
    /// What is not of any class.
    pub oddities: Oddities,
    /// What senders of packets that ended here were told.
    pub answers: AnswersCounters,
    /// The tunnels that are decrypted, by name.
    pub tunnels: Vec<(Arc<str>, TunnelCounters)>,
}
