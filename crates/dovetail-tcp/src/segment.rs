//! Segments: what one end sends the other.
//!
//! A segment says how much it carries, not what: a simulated byte need not exist. Who has bytes finds those of a segment by
//! its sequence number, and who has wires writes the header (RFC 9293, section 3.1) from these fields as they are.

use core::{fmt, ops::BitOr};

/// A segment, headers as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// The number of its first byte, or of the SYN.
    pub sequence: u32,
    /// The next number that its sender expects; counts where [`Flags::ACK`] is set.
    pub acknowledgement: u32,
    /// The receive window, scaled but in a SYN.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Codepoint of the IP header.
    pub ecn: Ecn,
    /// Length of what it carries.
    pub payload_bytes: u32,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Length of TCP's header, options included and padded: 20 to 60 bytes.
    #[must_use]
    pub fn header_bytes(&self) -> u32 {
        20 + self.options.bytes()
    }

    /// How far it moves the sequence number: what it carries, and one each for SYN and FIN.
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
    /// Breaks the connection off.
    pub const RST: Self = Self(1 << 2);
    /// The last of what the application wrote.
    pub const PSH: Self = Self(1 << 3);
    /// The acknowledgement counts.
    pub const ACK: Self = Self(1 << 4);
    /// A packet came with a congestion mark (RFC 3168, section 6.1).
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

/// What the IP header says of congestion (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Queues may drop it, not mark it.
    #[default]
    NotCapable,
    /// Queues may mark it.
    Capable,
    /// A queue has marked it.
    Marked,
}

/// Options of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The largest segment that the sender takes (RFC 9293, section 3.7.1); in a SYN.
    pub maximum_segment_size: Option<u16>,
    /// The shift of the sender's windows (RFC 7323, section 2); in a SYN.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements may be sent (RFC 2018, section 2); in a SYN.
    pub sack_permitted: bool,
    /// Value and echo (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Data that arrived out of order (RFC 2018, section 3).
    pub sack: Blocks,
}

impl Options {
    /// Their length, padded as Linux pads them to multiples of four.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let fixed = |is_there: bool, bytes: u32| if is_there { bytes } else { 0 };
        let blocks = self.sack.as_slice().len() as u32;
        // Kind, length, and the padding that aligns what follows.
        let timestamps = fixed(self.timestamps.is_some(), 12);
        let permitted = fixed(self.sack_permitted && self.timestamps.is_none(), 4);
        fixed(self.maximum_segment_size.is_some(), 4)
            + fixed(self.window_scale.is_some(), 4)
            + timestamps
            + permitted
            + fixed(blocks > 0, 4 + 8 * blocks)
    }
}

/// Selective acknowledgements: from the first number of each block to one after its last.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    blocks: [(u32, u32); Self::MOST],
    len: u8,
}

impl Blocks {
    /// As many as there is room for beside no other option (RFC 2018, section 3).
    pub const MOST: usize = 4;

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
