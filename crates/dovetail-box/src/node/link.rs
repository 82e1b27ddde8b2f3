//! The outgoing link.

use dovetail_sched::{Nanos, units::Rate};

/// The link's rate, and what enforces it.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// Bytes that a frame takes on the wire beyond its own: preamble, check sequence and gap of Ethernet are 24 bytes.
    pub overhead_bytes: u32,
    /// What enforces the rate.
    pub pace: Pace,
}

/// What enforces the link's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The node: a packet leaves once the time of the one before it is over.
    Own,
    /// The interface or a shaper behind it: a packet leaves when the caller reports that there is room
    /// ([`Node::link_freed`](super::Node::link_freed)).
    Device,
}

impl Link {
    /// Transmission time of a frame, in whole nanoseconds.
    #[must_use]
    pub fn time(&self, bytes: u32) -> Nanos {
        Nanos::from_f64(self.rate.nanos_for(f64::from(bytes) + f64::from(self.overhead_bytes)))
    }
}
