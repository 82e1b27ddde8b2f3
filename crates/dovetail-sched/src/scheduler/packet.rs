//! Packets on their way in and out of a scheduler.

use crate::{Demand, FlowId, Nanos};

/// One packet as a scheduler sees it: its flow, its size and its cost. Its body stays with the environment, which finds it by
/// `handle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The flow's dense id.
    pub flow: FlowId,
    /// Length on the wire, in bytes. A packet of zero bytes is free under policies that count bytes: a flow that always has one
    /// queued may go first for ever.
    pub bytes: u32,
    /// The time of arrival, on the environment's clock.
    pub arrival: Nanos,
    /// The environment's own identifier of the packet; no policy reads it.
    pub handle: u64,
    /// Processing time on each resource, as far as known.
    pub demand: Demand,
}

/// A packet released to the first resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// The packet.
    pub packet: Packet,
    /// The policy's ticket, to be returned in every [`Feedback`](crate::Feedback) about this packet.
    pub ticket: u64,
}

impl Dispatch {
    /// The packet, for a policy that needs no ticket.
    #[inline(always)]
    #[must_use]
    pub const fn plain(packet: Packet) -> Self {
        Self { packet, ticket: 0 }
    }
}

/// The packets that are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Their number.
    pub packets: u64,
    /// Their total length in bytes.
    pub bytes: u64,
}

impl core::ops::Add for Backlog {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}
