//! Packets on their way through the node, and what is asked of its caller.

use dovetail_sched::{FlowId, Nanos};

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Do this packet's work now, and answer with [`Node::worked`](super::Node::worked) before the next question. Where the
    /// CPU is several workers, hand it to the one that it is for, behind what that was given before, and answer with
    /// [`Node::worked_by`](super::Node::worked_by) when it is done.
    Work(Work),
    /// Hand this packet to the interface; nothing more will be asked of it.
    Send(Passage),
}

/// A packet that the CPU is to work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Its flow.
    pub flow: FlowId,
    /// The caller's name for it.
    pub handle: u64,
    /// When the CPU begins, or, where it is several workers, when this one is given it.
    pub start: Nanos,
    /// Who is to do it: 0 where there is one.
    pub worker: u16,
}

/// What work came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, with this length.
    Forward {
        /// Its length from now on.
        bytes: u32,
    },
    /// It ends here.
    Drop,
}

/// A packet's way through the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Its flow.
    pub flow: FlowId,
    /// The caller's name for it.
    pub handle: u64,
    /// Its length as it leaves.
    pub bytes: u32,
    /// When it arrived.
    pub arrival: Nanos,
    /// When the CPU began.
    pub cpu_start: Nanos,
    /// When the CPU had ended.
    pub cpu_end: Nanos,
    /// When the link began.
    pub link_start: Nanos,
    /// When the link will have ended, at its rate.
    pub link_end: Nanos,
}

/// A packet between the policy's choice and the end of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    pub passage: Passage,
    pub class: u16,
    pub ticket: u64,
    /// Which of two schedulers chose it.
    pub generation: u64,
    /// How long it will take on the link.
    pub link_time: Nanos,
}
