//! What a node has done so far.

use dovetail_sched::Nanos;

/// Sums since the node began. Rates and shares are differences of two of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Packets whose work has ended.
    pub worked: u64,
    /// Packets that were handed to the interface.
    pub sent: u64,
    /// Bytes of those, as they left.
    pub sent_bytes: u64,
    /// Packets that their work ended.
    pub dropped: u64,
    /// How long the CPU was taken by work.
    pub cpu_busy: Nanos,
    /// How long the CPU was blocked: its packet found no room before the link.
    pub cpu_blocked: Nanos,
    /// How long the link was taken.
    pub link_busy: Nanos,
    /// What was lost because the caller came too late: the time by which servers were behind, over
    /// [`CREDIT`](super::CREDIT).
    pub late: Nanos,
}
