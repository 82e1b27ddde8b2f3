//! An admitted flow.

use core::{error::Error, fmt};

use super::{
    amounts::Amounts,
    delay::{Block, Bound},
    handle::FlowHandle,
    refusal::Broken,
};
use crate::{MAX_RESOURCES, Nanos};

/// The state kept for an admitted flow.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) rate_per_s: Amounts,
    pub(super) ahead: Block,
    pub(super) own_composite: Nanos,
    pub(super) own_separate: Nanos,
    pub(super) most_delay: Option<Nanos>,
    pub(super) priority: u8,
}

impl Flow {
    /// The flow's own term.
    pub(super) fn own(&self, by: Bound) -> Nanos {
        match by {
            Bound::Composite => self.own_composite,
            Bound::Separate => self.own_separate,
        }
    }

    /// The longest time that a packet ahead of it may take. Once the flow is admitted, its own term is within its limit.
    pub(super) fn slack(&self, by: Bound) -> Option<Nanos> {
        self.most_delay.map(|most| most - self.own(by))
    }
}

/// An admitted flow, and the consequences for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// The flow, for [`Admission::release`](super::Admission::release).
    pub flow: FlowHandle,
    /// Resources, by index, that this flow reserves completely, so that best-effort flows get nothing.
    pub exhausts: [bool; MAX_RESOURCES],
    /// A flow of another priority level whose delay bound this admission breaks: the one whose bound is exceeded most. Rule 2
    /// considers only the new flow's own level.
    pub breaks: Option<Broken>,
}

/// A flow that is not admitted: already released, or of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFlow;

impl fmt::Display for UnknownFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such flow is admitted")
    }
}

impl Error for UnknownFlow {}
