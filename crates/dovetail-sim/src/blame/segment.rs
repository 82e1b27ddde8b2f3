//! What a packet of a connection carries.

/// What a segment carries, by its sequence numbers (RFC 9293, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) from: u32,
    pub(crate) bytes: u32,
}
