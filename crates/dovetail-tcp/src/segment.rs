//! Segments, as sent from one end to the other.
//!
//! A segment states the length of its payload but not the bytes: a simulated byte need not exist. Callers with real bytes
//! find those of a segment by its sequence number, and callers with real wires write the header (RFC 9293, section 3.1) from
//! these fields unchanged.

use core::{fmt, ops::BitOr};

/// A segment, with header fields as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number of its first byte, or of the SYN.
    pub sequence: u32,
    /// The next number that its sender expects; valid if [`Flags::ACK`] is set.
    pub acknowledgement: u32,
    /// The receive window, scaled except in a SYN.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// Length of the payload.
    pub payload_bytes: u32,
    /// TCP options.
    pub options: Options,
}

impl Segment {
    /// Length of the TCP header, including padded options: 20 to 60 bytes.
    #[must_use]
    pub fn header_bytes(&self) -> u32 {
        20 + self.options.bytes()
    }

    /// How far it advances the sequence number: the payload, and one each for SYN and FIN.
    #[must_use]
    pub const fn sequence_length(&self) -> u64 {
        self.payload_bytes as u64 + self.flags.has(Flags::SYN) as u64 + self.flags.has(Flags::FIN) as u64
    }
}

/// Control bits (RFC 9293, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(1);
    /// Opens the connection.
    pub const SYN: Self = Self(1 << 1);
    /// Resets the connection.
    pub const RST: Self = Self(1 << 2);
    /// The last segment of a write.
    pub const PSH: Self = Self(1 << 3);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(1 << 4);
    /// A packet with a congestion mark was received (RFC 3168, section 6.1).
    pub const ECE: Self = Self(1 << 6);
    /// The sender has reduced its window (RFC 3168, section 6.1).
    pub const CWR: Self = Self(1 << 7);

    /// Whether all of `others` are set.
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::FIN, "FIN"),
            (Self::SYN, "SYN"),
            (Self::RST, "RST"),
            (Self::PSH, "PSH"),
            (Self::ACK, "ACK"),
            (Self::ECE, "ECE"),
            (Self::CWR, "CWR"),
        ];
        f.debug_list().entries(names.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, name)| name)).finish()
    }
}

/// ECN codepoint of the IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable: queues may drop it, but not mark it.
    #[default]
    NotCapable,
    /// Queues may mark it.
    Capable,
    /// A queue has marked it.
    Marked,
}

/// TCP options of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The largest segment that its sender accepts (RFC 9293, section 3.7.1); in a SYN.
    pub maximum_segment_size: Option<u16>,
    /// Shift of its sender's windows (RFC 7323, section 2); in a SYN.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements may be sent (RFC 2018, section 2); in a SYN.
    pub sack_permitted: bool,
    /// Value and echo (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Data that arrived out of order (RFC 2018, section 3).
    pub sack: Blocks,
}

impl Options {
    /// Length of the options, padded to multiples of four as Linux does.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let fixed = |is_there: bool, bytes: u32| if is_there { bytes } else { 0 };
        let blocks = self.sack.as_slice().len() as u32;
        // Kind, length, and padding to align what follows.
        let timestamps = fixed(self.timestamps.is_some(), 12);
        let permitted = fixed(self.sack_permitted && self.timestamps.is_none(), 4);
        fixed(self.maximum_segment_size.is_some(), 4)
            + fixed(self.window_scale.is_some(), 4)
            + timestamps
            + permitted
            + fixed(blocks > 0, 4 + 8 * blocks)
    }
}

/// Selective acknowledgements: for each block its first number and one past its last.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    blocks: [(u32, u32); Self::MAX_BLOCKS],
    len: u8,
}

impl Blocks {
    /// Most blocks that fit when there are no other options (RFC 2018, section 3).
    pub const MAX_BLOCKS: usize = 4;

    /// Adds a block; false if there is no room.
    pub fn push(&mut self, block: (u32, u32)) -> bool {
        let Some(free) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *free = block;
        self.len += 1;
        true
    }

    /// The blocks, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
