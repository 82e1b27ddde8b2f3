//! What a full packet carries.

/// Ethernet's payload of TCP in a full frame, in bytes.
pub(crate) const SEGMENT: u64 = 1_448;
