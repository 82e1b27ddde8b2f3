//! Queues in the order of their bytes, kept if the drop policy needs it.

use super::Queues;
use crate::FlowId;

impl Queues {
    #[inline(always)]
    pub(super) fn order_by_length(&mut self, flow: FlowId) {
        if self.by_length.is_some() {
            self.order_by_length_now(flow);
        }
    }

    #[cold]
    fn order_by_length_now(&mut self, flow: FlowId) {
        if !self.carries.is_empty() {
            return self.put_by_length(flow, self.carried(flow));
        }
        self.put_by_length(flow, 0);
    }

    #[inline]
    fn put_by_length(&mut self, flow: FlowId, carried: u64) {
        let Some(by_length) = &mut self.by_length else { return };
        let queue = &self.flows[flow.index()];
        if queue.packets == 0 {
            by_length.remove(flow);
        } else {
            // The longest queue has the least key; lengths stay below 2^64 - 2^32.
            by_length.set(flow, u64::MAX - u64::from(u32::MAX) - (carried + u64::from(queue.bytes)));
        }
    }

    /// The flow with the most bytes queued, if the limits' drop policy keeps track of it.
    #[must_use]
    pub fn longest(&self) -> Option<FlowId> {
        self.by_length.as_ref()?.peek().map(|(flow, _)| flow)
    }
}
