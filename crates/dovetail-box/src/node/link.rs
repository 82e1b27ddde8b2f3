//! The link that a packet leaves on.

use dovetail_sched::{Nanos, units::Rate};

/// How fast the link is, and what holds packets to it.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// What a frame takes on the wire beside its bytes: preamble, check sequence and gap of Ethernet are 24 bytes.
    pub overhead_bytes: u32,
    /// Who holds packets to the rate.
    pub pace: Pace,
}

/// Who keeps to the link's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The node: a packet leaves when the one before it has had its time.
    Own,
    /// The interface or a shaper behind it: a packet leaves when the caller says that there is room
    /// ([`Node::link_freed`](super::Node::link_freed)).
    Device,
}

impl Link {
    /// How long a frame takes, in whole nanoseconds.
    #[must_use]
    pub fn time(&self, bytes: u32) -> Nanos {
        Nanos::from_f64(self.rate.nanos_for(f64::from(bytes) + f64::from(self.overhead_bytes)))
    }
}
