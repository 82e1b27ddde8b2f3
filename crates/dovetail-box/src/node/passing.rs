//! Packets on their way through the node, and the actions requested of its caller.

use dovetail_sched::{FlowId, Nanos};

/// An action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Process this packet now, and report the result with [`Node::worked`](super::Node::worked) before the next call of
    /// `poll`. If the CPU consists of several workers, hand the packet to its worker, behind those handed over before, and
    /// report with [`Node::worked_by`](super::Node::worked_by) when it is done.
    Work(Work),
    /// Hand this packet to the interface; nothing more will be requested for it.
    Send(Passage),
}

/// A packet for the CPU to process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Its flow.
    pub flow: FlowId,
    /// The caller's identifier of the packet.
    pub handle: u64,
    /// When the CPU starts, or, with several workers, when this one is handed the packet.
    pub start: Nanos,
    /// The worker to process it: 0 if there is only one.
    pub worker: u16,
}

/// Outcome of processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is forwarded, with this length.
    Forward {
        /// Its new length.
        bytes: u32,
    },
    /// The packet is dropped.
    Drop,
}

/// Timestamps of a packet on its way through the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Its flow.
    pub flow: FlowId,
    /// The caller's identifier of the packet.
    pub handle: u64,
    /// Its length as it leaves.
    pub bytes: u32,
    /// Arrival time.
    pub arrival: Nanos,
    /// When the CPU started.
    pub cpu_start: Nanos,
    /// When the CPU ended.
    pub cpu_end: Nanos,
    /// When the link started.
    pub link_start: Nanos,
    /// When the link will have ended, at its rate.
    pub link_end: Nanos,
}

/// A packet between its selection by the policy and its end on the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    pub passage: Passage,
    pub class: u16,
    pub ticket: u64,
    /// Which scheduler generation chose it.
    pub generation: u64,
    /// Transmission time on the link.
    pub link_time: Nanos,
}
