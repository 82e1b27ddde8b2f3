//! The receive windows of connections to servers.

/// The window of a connection, if the policy holds responses back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The policy's first window, in bytes.
    pub(crate) first: u64,
    /// The initial window: the first one, or that of an earlier connection on which the same request was sent in vain.
    pub(crate) begins: u64,
    /// The limit up to which it may grow.
    pub(crate) longest: u64,
}

/// The smallest initial window: a smaller one cannot grow before Linux 5.15, and this is most of a sender's first flight.
const MIN_INITIAL_BYTES: u64 = 8_192;

impl Window {
    /// The initial window for a connection that should begin with this many bytes.
    pub(crate) fn beginning(&self, bytes: u64) -> u64 {
        bytes.clamp(MIN_INITIAL_BYTES.min(self.first), self.longest)
    }
}
