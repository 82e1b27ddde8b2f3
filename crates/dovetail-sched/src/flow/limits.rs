//! How much may wait, and who loses when it is more.

/// Who loses a packet when a limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DropPolicy {
    /// The arriving packet is refused.
    #[default]
    Tail,
    /// The oldest packet of the arriving packet's flow goes, so that what is sent is fresh.
    Head,
    /// When the whole buffer is full, the flow with the most bytes waiting loses its youngest packet, unless the
    /// policy names another victim. A flow over its own limit is refused as by [`DropPolicy::Tail`].
    Longest,
}

/// Bounds on what waits. `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packets of one flow.
    pub flow_packets: Option<u32>,
    /// Bytes of one flow.
    pub flow_bytes: Option<u64>,
    /// Packets of all flows.
    pub packets: Option<u32>,
    /// Bytes of all flows.
    pub bytes: Option<u64>,
    /// Flow ids must be below this: state per flow is held in tables, and this bounds them.
    pub flows: u32,
    /// Who loses.
    pub on_full: DropPolicy,
}

impl Limits {
    /// No bounds but that on flow ids, 2^26: at two cache lines a flow, some 8 GiB.
    pub const UNLIMITED: Self = Self {
        flow_packets: None,
        flow_bytes: None,
        packets: None,
        bytes: None,
        flows: 1 << 26,
        on_full: DropPolicy::Tail,
    };

    /// At most `packets` of each flow, others refused.
    #[must_use]
    pub const fn per_flow(packets: u32) -> Self {
        Self { flow_packets: Some(packets), ..Self::UNLIMITED }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::UNLIMITED
    }
}
