//! Queue limits, and which packet is dropped when one is reached.

use alloc::{format, string::String};
use core::{fmt, str::FromStr};

use crate::units::clip;

/// Which packet is dropped when a limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DropPolicy {
    /// The arriving packet is refused.
    #[default]
    Tail,
    /// The oldest packet of the arriving packet's flow is dropped, so that fresh packets are sent.
    Head,
    /// When the buffer is full, the flow with the most bytes queued loses its youngest packet: O(log n). A packet over its
    /// flow's own limit is refused as by [`DropPolicy::Tail`].
    Longest,
    /// When the buffer is full, the policy's own rule chooses the flow that loses its youngest packet
    /// ([`Policy::victim`](crate::Policy::victim)); [`DropPolicy::Longest`] if it has none. A policy with its own rule uses it
    /// whatever is set here.
    Policy,
}

impl FromStr for DropPolicy {
    type Err = String;

    /// Parses the values that can be configured; a policy with its own rule overrides them.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tail" => Ok(Self::Tail),
            "head" => Ok(Self::Head),
            "longest" => Ok(Self::Longest),
            _ => Err(format!("'{}' is no drop rule: use tail, head or longest", clip(text))),
        }
    }
}

impl fmt::Display for DropPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tail => "tail",
            Self::Head => "head",
            Self::Longest => "longest",
            Self::Policy => "policy",
        })
    }
}

/// Limits on queued packets. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum packets of one flow.
    pub flow_packets: Option<u32>,
    /// Maximum bytes of one flow.
    pub flow_bytes: Option<u64>,
    /// Maximum packets of all flows.
    pub packets: Option<u32>,
    /// Maximum bytes of all flows.
    pub bytes: Option<u64>,
    /// Flow ids must be below this: per-flow state is held in tables, and this bounds their size.
    pub flows: u32,
    /// Which packet is dropped.
    pub on_full: DropPolicy,
}

impl Limits {
    /// Whether there is a limit on all flows together.
    #[must_use]
    pub const fn has_buffer(&self) -> bool {
        self.packets.is_some() || self.bytes.is_some()
    }

    /// No limits except on flow ids, 2^26: at two cache lines a flow, some 8 GiB.
    pub const UNLIMITED: Self = Self {
        flow_packets: None,
        flow_bytes: None,
        packets: None,
        bytes: None,
        flows: 1 << 26,
        on_full: DropPolicy::Tail,
    };

    /// At most `packets` of each flow; more are refused.
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
