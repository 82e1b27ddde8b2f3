//! Which packets may be queued, and which limit refuses the others.

use super::{NEW_FLOW, NIL, Queues};
use crate::{DropReason, FlowId, Limits, Packet};

/// The limit that an arriving packet exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Flow,
    Buffer,
}

impl Queues {
    /// Checks that the packet can be queued at all, and makes room for its flow's state.
    #[inline]
    pub(crate) fn admit(&mut self, packet: &Packet) -> Result<(), DropReason> {
        if packet.demand.resources() != self.resources {
            return Err(DropReason::WrongDemand);
        }
        if !self.know(packet.flow) {
            return Err(DropReason::TooManyFlows);
        }
        // Node indices are 32 bits, and the largest marks the end of a list.
        if self.backlog.packets >= u64::from(NIL) {
            return Err(DropReason::BufferFull);
        }
        Ok(())
    }

    /// The limit that the packet would exceed even if nothing else were queued.
    pub(crate) fn too_long_for(&self, packet: &Packet) -> Option<Full> {
        let too_long = |limit: Option<u64>| limit.is_some_and(|most| u64::from(packet.bytes) > most);
        if too_long(self.limits.flow_bytes) {
            return Some(Full::Flow);
        }
        too_long(self.limits.bytes).then_some(Full::Buffer)
    }

    #[inline]
    pub(super) fn know(&mut self, flow: FlowId) -> bool {
        flow.index() < self.flows.len() || self.learn(flow)
    }

    #[cold]
    fn learn(&mut self, flow: FlowId) -> bool {
        let fits = flow.0 < self.limits.flows;
        if fits {
            self.flows.resize(flow.index() + 1, NEW_FLOW);
        }
        fits
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    #[inline]
    pub(crate) fn has_limits(&self) -> bool {
        self.has_limits
    }

    /// The limit that refuses `packet`, if any.
    #[inline]
    pub(crate) fn full_for(&self, packet: &Packet) -> Option<Full> {
        fn over<T: PartialOrd>(after: T, limit: Option<T>) -> bool {
            limit.is_some_and(|limit| after > limit)
        }
        let bytes = u64::from(packet.bytes);
        let flow = self.flow_backlog(packet.flow);
        let limits = &self.limits;
        if over(flow.packets + 1, limits.flow_packets.map(u64::from)) || over(flow.bytes + bytes, limits.flow_bytes) {
            return Some(Full::Flow);
        }
        let all = self.backlog;
        if over(all.packets + 1, limits.packets.map(u64::from)) || over(all.bytes + bytes, limits.bytes) {
            return Some(Full::Buffer);
        }
        None
    }
}
