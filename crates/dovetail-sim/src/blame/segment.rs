//! What a packet of a connection carries.

/// What a segment carries, by its sequence numbers (RFC 9293, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) from: u32,
    pub(crate) bytes: u32,
}

impl Segment {
    /// Whether it covers what began at this number; an empty segment covers only its own number.
    pub(crate) fn covers(&self, from: u32) -> bool {
        from.wrapping_sub(self.from) < self.bytes.max(1)
    }
}
