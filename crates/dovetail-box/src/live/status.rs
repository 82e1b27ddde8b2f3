//! The status that a running box publishes.

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

/// Snapshot of a box. Rates are differences of two snapshots.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Time of the snapshot, in nanoseconds of CLOCK_MONOTONIC.
    pub at: Nanos,
    /// When the box started, likewise.
    pub started: Nanos,
    /// The policy in force.
    pub policy: String,
    /// Inside and outside, as configured.
    pub interfaces: [Arc<str>; 2],
    /// The side on which scheduled traffic leaves.
    pub toward: Option<Side>,
    /// Share of a CPU that functions get, 0 to 1.
    pub cpu_share: f64,
    /// Counters of each worker: one entry if the loop does the work.
    pub workers: Vec<WorkerCounters>,
    /// The link's rate.
    pub link_rate: Option<Rate>,
    /// Utilisation of CPU and link.
    pub figures: Figures,
    /// Waiting times of packets; classes as in `classes`.
    pub waited: Waited,
    /// Queued packets and bytes.
    pub backlog: Backlog,
    /// Number of known flows.
    pub flows: usize,
    /// Inside and outside.
    pub ports: [PortCounters; 2],
    /// The classes, by name.
    pub classes: Vec<(Arc<str>, ClassCounters)>,
    /// Weights of their flows.
    pub weights: Vec<Weight>,
    /// Time in the box of their packets, from arrival to the end of transmission on the link at its rate, in nanoseconds.
    pub latencies: Vec<Histogram>,
    /// The busiest flows of the last second.
    pub busiest: Arc<Busiest>,
    /// Frames that count for no class.
    pub oddities: Oddities,
    /// ICMP errors to senders of dropped packets.
    pub answers: AnswersCounters,
    /// The tunnels that are decrypted, by name.
    pub tunnels: Vec<(Arc<str>, TunnelCounters)>,
}
