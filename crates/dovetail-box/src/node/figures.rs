//! Counters of a node.

use dovetail_sched::Nanos;

/// Sums since the node started. Rates and shares are differences of two of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Packets processed.
    pub worked: u64,
    /// Packets handed to the interface.
    pub sent: u64,
    /// Bytes of those, as sent.
    pub sent_bytes: u64,
    /// Packets dropped by their processing.
    pub dropped: u64,
    /// How long the CPU was busy.
    pub cpu_busy: Nanos,
    /// How long the CPU was blocked: its packet found no room before the link.
    pub cpu_blocked: Nanos,
    /// How long the link was busy.
    pub link_busy: Nanos,
    /// Time lost because the caller was late: how far servers were behind, in excess of [`CREDIT`](super::CREDIT).
    pub late: Nanos,
}
