//! Packets on their way in and out of a scheduler.

use crate::{Demand, FlowId, Nanos};

/// One packet as a scheduler sees it: where it belongs, how large it is, what it costs. Its body stays with the
/// environment, which finds it again by `handle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The flow, a dense id.
    pub flow: FlowId,
    /// Length on the wire, in bytes.
    pub bytes: u32,
    /// When it arrived, on the environment's clock.
    pub arrival: Nanos,
    /// The environment's own name for the packet; no policy looks at it.
    pub handle: u64,
    /// Processing time on each resource, as far as it is known.
    pub demand: Demand,
}

/// A packet that a scheduler released to the first resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// The packet.
    pub packet: Packet,
    /// The policy's note on it, to be handed back in every [`Feedback`](crate::Feedback) about this packet.
    pub ticket: u64,
}

impl Dispatch {
    /// The packet, of a policy that needs no note on it.
    #[inline(always)]
    #[must_use]
    pub const fn plain(packet: Packet) -> Self {
        Self { packet, ticket: 0 }
    }
}

/// Packets that are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// How many.
    pub packets: u64,
    /// How many bytes they are.
    pub bytes: u64,
}

impl core::ops::Add for Backlog {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}
