//! Prefetching of queues and packets.

use super::{Place, Queues};
use crate::{FlowId, prefetch::prefetch};

impl Queues {
    /// Prefetches the flow's queue.
    #[inline]
    pub fn prefetch_flow(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
        prefetch(&self.weights, flow.index());
    }

    /// Prefetches the flow's head packet; its queue should have been prefetched before.
    #[inline]
    pub fn prefetch_head(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        self.prefetch_place(Place(queue.head));
    }

    /// Prefetches the packet at `place`.
    #[inline]
    pub fn prefetch_place(&self, place: Place) {
        prefetch(&self.nodes, place.0 as usize);
        prefetch(&self.tags, place.0 as usize);
        if self.has_long_demands {
            prefetch(&self.long_demands, place.0 as usize * self.resources);
        }
    }

    /// Prefetches the flow's head packet and its youngest, to which the next to arrive is linked.
    #[inline]
    pub fn prefetch_ends(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        self.prefetch_place(Place(queue.head));
        prefetch(&self.nodes, queue.tail as usize);
    }

    /// Prefetches the flow's second packet; its head should have been prefetched before.
    #[inline]
    pub fn prefetch_second(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        let Some(head) = self.nodes.get(queue.head as usize) else { return };
        self.prefetch_place(Place(head.next));
    }
}
