//! Tags: numbers that policies write on queued packets.

use super::{NIL, Queues};
use crate::{Demand, FlowId};

impl Queues {
    /// Writes the policy's tag on the flow's youngest queued packet. A policy that uses tags writes one on each packet.
    #[inline]
    pub fn tag_tail(&mut self, flow: FlowId, tag: u64) {
        let tail = self.flows[flow.index()].tail;
        if tail as usize >= self.tags.len() {
            self.grow_tags();
        }
        if let Some(place) = self.tags.get_mut(tail as usize) {
            *place = tag;
        }
    }

    /// Grows to one tag per node.
    #[cold]
    #[inline(never)]
    fn grow_tags(&mut self) {
        self.tags.resize(self.nodes.len(), 0);
    }

    /// Rewrites the tags of all the flow's queued packets. O(packets of the flow).
    pub fn retag(&mut self, flow: FlowId, mut new: impl FnMut(u64) -> u64) {
        self.retag_by_demand(flow, |_, tag| new(tag));
    }

    /// Same as [`retag`](Self::retag), with each packet's demand.
    pub fn retag_by_demand(&mut self, flow: FlowId, mut new: impl FnMut(&Demand, u64) -> u64) {
        let mut at = self.flows.get(flow.index()).map_or(NIL, |queue| queue.head);
        self.grow_tags();
        while let Some(node) = self.nodes.get(at as usize) {
            let demand = self.demand(at, node);
            let Some(tag) = self.tags.get_mut(at as usize) else { return };
            *tag = new(&demand, *tag);
            at = node.next;
        }
    }
}
