//! How one packet's time is divided, and which packets are selected.

use dovetail_sched::{FlowId, Nanos};

/// Packets for which the sum and the slowest are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selection {
    /// All packets.
    #[default]
    All,
    /// The packet with this number.
    Packet(u64),
    /// The packets of the flow with this label.
    Flow(String),
    /// The packets of this class.
    Class(String),
}

impl Selection {
    /// Whether all packets of a flow with this label and class are selected.
    pub(super) fn covers_flow(&self, label: &str, class: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Packet(_) => false,
            Self::Flow(known) => known == label,
            Self::Class(known) => class == Some(known.as_str()),
        }
    }

    /// Whether this packet of such a flow is selected.
    pub(super) fn covers(&self, packet: u64, label: &str, class: Option<&str>) -> bool {
        *self == Self::Packet(packet) || self.covers_flow(label, class)
    }
}

/// Where one packet's time went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    /// The packet's number.
    pub(super) packet: u64,
    /// When it arrived.
    pub(super) arrival: Nanos,
    /// From arrival to the end on the last resource.
    pub(super) latency: Nanos,
    /// How long each resource processed it.
    pub(super) own: &'a [Nanos],
    /// How long it waited while its own flow was served.
    pub(super) same_flow: Nanos,
    /// How long it waited for each column's cause, excluding its own flow's service.
    pub(super) causes: &'a [Nanos],
}

/// A packet that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub packet: u64,
    /// Its flow.
    pub flow: FlowId,
    /// Its rank among the packets of its flow, from 0.
    pub rank: u64,
    /// When it arrived.
    pub arrival: Nanos,
    /// From arrival to the end on the last resource.
    pub latency: Nanos,
}
