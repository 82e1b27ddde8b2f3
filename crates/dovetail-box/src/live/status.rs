//! What a running box tells of itself.

use std::sync::Arc;

use dovetail_sched::{Backlog, Nanos};

use super::{
    counters::{ClassCounters, Oddities},
    port::PortCounters,
};
use crate::node::Figures;

/// A box at one instant. Rates are differences of two of these.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// When, in nanoseconds of CLOCK_MONOTONIC.
    pub at: Nanos,
    /// The policy in force.
    pub policy: String,
    /// CPU and link.
    pub figures: Figures,
    /// What is queued.
    pub backlog: Backlog,
    /// Flows that are known.
    pub flows: usize,
    /// Inside and outside.
    pub ports: [PortCounters; 2],
    /// The classes, by name.
    pub classes: Vec<(Arc<str>, ClassCounters)>,
    /// What is not of any class.
    pub oddities: Oddities,
}
