//! Views of queued packets.

use super::{NIL, Queues, SHORT};
use crate::{Demand, FlowId, Nanos};

/// Identifies a queued packet across calls that change other things; invalid once that packet has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place(pub(super) u32);

/// A packet in its flow's queue.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    queues: &'a Queues,
    node: u32,
}

impl Waiting<'_> {
    /// Length on the wire, in bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.queues.nodes[self.node as usize].bytes
    }

    /// The environment's handle.
    #[inline]
    pub(crate) fn handle(self) -> u64 {
        self.queues.nodes[self.node as usize].handle
    }

    /// When it arrived.
    #[inline]
    #[must_use]
    pub fn arrival(self) -> Nanos {
        self.queues.nodes[self.node as usize].arrival
    }

    /// Processing time on each resource.
    #[inline]
    #[must_use]
    pub fn demand(self) -> Demand {
        let node = &self.queues.nodes[self.node as usize];
        self.queues.demand(self.node, node)
    }

    /// Whether the pipeline has at most two resources.
    #[inline]
    pub(crate) fn is_short(self) -> bool {
        self.queues.resources <= SHORT
    }

    /// Processing time on the first two resources; 0 on the second if there is none.
    #[inline]
    pub(crate) fn first_two(self) -> [Nanos; SHORT] {
        if self.queues.has_long_demands {
            let row = &self.queues.long_demands[self.node as usize * self.queues.resources..][..self.queues.resources];
            return [row[0], row.get(1).copied().unwrap_or(Nanos::ZERO)];
        }
        self.queues.nodes[self.node as usize].times()
    }

    /// Processing time on one resource, numbered from 0 and less than the pipeline's length.
    #[inline]
    #[must_use]
    pub fn time(self, resource: usize) -> Nanos {
        if self.queues.has_long_demands {
            return self.queues.long_demands[self.node as usize * self.queues.resources + resource];
        }
        Nanos(self.queues.nodes[self.node as usize].demand[resource].into())
    }

    /// The tag that the policy wrote on it; unspecified before that.
    #[inline]
    #[must_use]
    pub fn tag(self) -> u64 {
        self.queues.tags.get(self.node as usize).copied().unwrap_or(0)
    }

    /// Its place, to find it again with [`Queues::waiting`].
    #[inline]
    #[must_use]
    pub fn place(self) -> Place {
        Place(self.node)
    }

    /// The packet behind it in the same queue.
    #[inline]
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let next = self.queues.nodes[self.node as usize].next;
        (next != NIL).then_some(Self { node: next, ..self })
    }
}

impl Queues {
    /// The flow's oldest queued packet.
    #[inline]
    #[must_use]
    pub fn head(&self, flow: FlowId) -> Option<Waiting<'_>> {
        let node = self.flows.get(flow.index())?.head;
        (node != NIL).then_some(Waiting { queues: self, node })
    }

    /// The queued packet at `place`, which must come from [`Waiting::place`] while the packet was queued.
    ///
    /// # Panics
    /// May panic if that packet has left.
    #[inline]
    #[must_use]
    pub fn waiting(&self, place: Place) -> Waiting<'_> {
        debug_assert!((place.0 as usize) < self.nodes.len());
        Waiting { queues: self, node: place.0 }
    }

    /// The flow's youngest queued packet.
    #[inline]
    #[must_use]
    pub fn tail(&self, flow: FlowId) -> Option<Waiting<'_>> {
        let node = self.flows.get(flow.index())?.tail;
        (node != NIL).then_some(Waiting { queues: self, node })
    }
}
