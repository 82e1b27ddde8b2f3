//! The IP headers of segments: of the packet that is split, and of its tunnel.

use crate::functions::frame::{Ip, Version, read_u16, write, write_length};

impl Ip {
    /// The same header in a segment of this many bytes, whose headers are shifted by `shift` bytes.
    pub(in crate::wire) fn in_segment(self, shift: usize, bytes: usize) -> Self {
        Self { at: self.at + shift, body: self.body + shift, end: bytes, ..self }
    }

    /// Fills in the fields that are specific to the segment of this index: identification, length, checksum.
    pub(in crate::wire) fn write_segment(&self, segment: &mut [u8], index: usize) {
        if self.version == Version::V4 {
            let first = read_u16(segment, self.at + 4).unwrap_or(0);
            write(segment, self.at + 4, &first.wrapping_add(index as u16).to_be_bytes());
        }
        write_length(segment, self);
    }
}
