//! Errors of frames that an interface delivers.

use std::fmt;

/// Why a delivered frame cannot be forwarded: its metadata is not supported, or does not match the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refused {
    /// The metadata is not supported.
    Offload {
        /// `flags` of the header.
        flags: u8,
        /// `gso_type` of the header.
        kind: u8,
    },
    /// Shorter than two Ethernet addresses.
    Short,
    /// The checksum would lie outside of the frame.
    Checksum,
    /// To be split, but its headers do not match the metadata, as in an unknown tunnel, or are inconsistent.
    Headers,
    /// To be split into parts of zero bytes, into more than [`MAX_SEGMENTS`](super::segments::MAX_SEGMENTS), or into more
    /// bytes of headers than that many of 256.
    Segments,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offload { flags, kind } => {
                write!(f, "the interface offloads what is not known here (flags {flags:#x}, type {kind:#x})")
            }
            Self::Short => write!(f, "the frame is shorter than its addresses"),
            Self::Checksum => write!(f, "a checksum would lie outside of the frame"),
            Self::Headers => write!(f, "the frame is to be split, and its headers are not those of its type"),
            Self::Segments => write!(f, "the frame is to be split into parts that are too small"),
        }
    }
}

impl std::error::Error for Refused {}
