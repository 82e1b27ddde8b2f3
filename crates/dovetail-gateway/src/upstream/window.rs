//! What receive windows there are to be.

/// What windows connections have, if the policy holds responses back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// A policy's first, in bytes.
    pub(crate) first: u64,
    /// What this connection begins with: as much, or what one offered that its request was sent on in vain.
    pub(crate) begins: u64,
    /// The most that it may grow to.
    pub(crate) longest: u64,
}

/// The least that a connection begins with: less stays as it is before Linux 5.15, and is most of a sender's first flight.
const LEAST: u64 = 8_192;

impl Window {
    /// What a connection begins with that is to begin with this many.
    pub(crate) fn beginning(&self, bytes: u64) -> u64 {
        bytes.clamp(LEAST.min(self.first), self.longest)
    }
}
