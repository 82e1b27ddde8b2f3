//! How much may be queued, and which packet is dropped beyond that.

use alloc::{format, string::String};
use core::{fmt, str::FromStr};

use crate::units::clip;

/// Who loses a packet when a limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DropPolicy {
    /// The arriving packet is refused.
    #[default]
    Tail,
    /// The oldest packet of the arriving packet's flow goes, so that what is sent is fresh.
    Head,
    /// When the whole buffer is full, the flow with the most bytes waiting loses its youngest packet: O(log n). A flow
    /// over its own limit is refused as by [`DropPolicy::Tail`].
    Longest,
    /// When the whole buffer is full, the policy's own rule names who loses its youngest packet
    /// ([`Policy::victim`](crate::Policy::victim)); [`DropPolicy::Longest`] where it has none. Policies with a rule of
    /// their own always go by it: it is part of them.
    Policy,
}

impl FromStr for DropPolicy {
    type Err = String;

    /// Every one that can be chosen; a policy with a rule of its own goes by that one anyway.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tail" => Ok(Self::Tail),
            "head" => Ok(Self::Head),
            "longest" => Ok(Self::Longest),
            _ => Err(format!("'{}' is not who loses a packet: use tail, head or longest", clip(text))),
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
    /// Whether there is a bound on all flows together.
    #[must_use]
    pub const fn has_buffer(&self) -> bool {
        self.packets.is_some() || self.bytes.is_some()
    }

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
