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
