//! Numbers that policies write on packets that wait.

use super::{NIL, Queues};
use crate::FlowId;

impl Queues {
    /// Writes a number of the policy's on the flow's youngest waiting packet. A policy that writes any writes one on each.
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

    /// A tag for every node.
    #[cold]
    #[inline(never)]
    fn grow_tags(&mut self) {
        self.tags.resize(self.nodes.len(), 0);
    }

    /// Rewrites the policy's numbers on all the flow's waiting packets. O(packets of the flow).
    pub fn retag(&mut self, flow: FlowId, mut new: impl FnMut(u64) -> u64) {
        let mut at = self.flows.get(flow.index()).map_or(NIL, |queue| queue.head);
        self.grow_tags();
        while let (Some(node), Some(tag)) = (self.nodes.get(at as usize), self.tags.get_mut(at as usize)) {
            *tag = new(*tag);
            at = node.next;
        }
    }
}
