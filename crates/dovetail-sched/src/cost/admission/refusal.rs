//! Why a reservation was refused, and by how much.

use core::{error::Error, fmt};

use super::{amount::Amount, delay::Bound, handle::FlowHandle, mismatch::Mismatch};
use crate::Nanos;

/// The rule that refused, with what was requested and what was available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The reservation is for another node.
    Resources(Mismatch),
    /// Rule 1 (eqs. 1, 2): too much of a resource is requested. The first such resource in order.
    Rate {
        /// The resource.
        resource: usize,
        /// The requested rate, in units per second.
        requested_per_s: Amount,
        /// What the reserved flows leave of the target, in units per second.
        left_per_s: Amount,
    },
    /// Rule 2: a delay bound would exceed its flow's limit.
    Delay(Broken),
    /// Rule 3: the number of best-effort flows is at its limit.
    BestEffortFlows {
        /// The limit.
        most: u32,
    },
    /// Rule 4: the queue is at its limit.
    Queue {
        /// Packets queued.
        waiting: u32,
        /// The limit.
        most: u32,
    },
}

/// A delay bound that exceeds its flow's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The flow.
    pub whose: Whose,
    /// The formula.
    pub by: Bound,
    /// The bound, once the new flow is admitted.
    pub bound: Nanos,
    /// The flow's limit.
    pub most: Nanos,
}

impl Broken {
    /// By how much the bound exceeds the limit.
    #[must_use]
    pub fn over(&self) -> Nanos {
        self.bound - self.most
    }
}

/// The flow whose delay bound is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The flow that requests admission.
    New,
    /// A flow admitted before: of those concerned, the one whose bound is exceeded most.
    Admitted(FlowHandle),
}

impl Refusal {
    /// The number of the rule, 1 to 4; 0 if the reservation is for another number of resources.
    #[must_use]
    pub const fn rule(&self) -> u8 {
        match self {
            Self::Resources(_) => 0,
            Self::Rate { .. } => 1,
            Self::Delay(_) => 2,
            Self::BestEffortFlows { .. } => 3,
            Self::Queue { .. } => 4,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resources(mismatch) => write!(f, "the reservation is for another node: {mismatch}"),
            Self::Rate { resource, requested_per_s, left_per_s } => write!(
                f,
                "rule 1: {requested_per_s}/s of resource {resource} is requested and {left_per_s}/s is left, which is {}/s \
                 too little",
                requested_per_s.minus(*left_per_s)
            ),
            Self::Delay(broken) => write!(f, "rule 2: {broken}"),
            Self::BestEffortFlows { most } => {
                write!(f, "rule 3: there are already {most} best-effort flows, which is the limit")
            }
            Self::Queue { waiting, most } => {
                write!(f, "rule 4: {waiting} packets wait in the queue, and the limit is {most}")
            }
        }
    }
}

impl Error for Refusal {}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whose {
            Whose::New => f.write_str("its delay")?,
            Whose::Admitted(flow) => write!(f, "the delay of flow {flow}, which is admitted,")?,
        }
        let (equation, over) = (self.by.equation(), self.over());
        write!(f, " is {} by eq. {equation} where its limit is {}: {over} too long", self.bound, self.most)
    }
}
