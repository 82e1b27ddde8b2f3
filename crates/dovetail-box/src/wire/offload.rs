//! Offload metadata of a frame: `struct virtio_net_hdr`, as used by packet sockets.
//!
//! ```text
//! flags │ gso_type │ hdr_len │ gso_size │ csum_start │ csum_offset
//!  1 B       1 B       2 B        2 B         2 B           2 B        in the machine's byte order
//! ```
//!
//! A checksum that the sender left to its interface is *partial*: its field holds the sum of the pseudo-header only. A
//! frame that is still to be split into packets is *segmented*: that was left to the interface as well.

use super::Refused;

/// Offload metadata of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// A checksum that is not filled in yet.
    pub partial: Option<Partial>,
    /// How the frame is to be split.
    pub segmented: Option<Segmented>,
}

/// A checksum that is not filled in yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// Offset in the frame where summing begins; it ends with the frame. Bytes.
    pub start: u16,
    /// Offset of the checksum after `start`. Bytes.
    pub offset: u16,
}

/// How a frame is to be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmented {
    /// The protocol to split by.
    pub kind: Kind,
    /// Which segments a CWR belongs to.
    pub cwr: Cwr,
    /// How many bytes were contiguous in the kernel: at least the headers. A hint for allocation: no header need end there.
    pub header_bytes: u16,
    /// Payload of every segment but the last, after the transport header. Bytes.
    pub payload_bytes: u16,
}

/// Interpretation of TCP's CWR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cwr {
    /// Unknown. If set, it is still treated as part of a count: such frames come from kernels that do not report it.
    Unsaid,
    /// It answers one mark (RFC 3168), and so belongs to the first segment only.
    InFirst,
    /// It is part of a count (RFC 9768), and belongs to every segment that the frame is split into.
    InAll,
}

/// The kind of packets to split into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// Datagrams of one length (`GSO_UDP_L4`), over either.
    Udp,
}

const NEEDS_CHECKSUM: u8 = 1;
const CHECKSUM_IS_VALID: u8 = 2;
const NONE: u8 = 0;
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
const ECN: u8 = 0x80;
/// Kernels that support it give it precedence if both are set.
const ACCURATE_ECN: u8 = 0x10;

impl Offload {
    /// Bytes of the header.
    pub const BYTES: usize = 10;
    /// Metadata of a frame that needs no offload.
    pub const NONE: Self = Self { partial: None, segmented: None };

    /// Parses the header. Constant time.
    ///
    /// # Errors
    /// An unsupported flag or type: IP fragments (`GSO_UDP`), tunnels.
    pub fn parse(header: &[u8; Self::BYTES]) -> Result<Self, Refused> {
        let [flags, kind, header_bytes @ .., _, _, _, _, _, _] = *header;
        let [.., a, b, c, d, e, f] = *header;
        let unknown = Refused::Offload { flags, kind };
        if flags & !(NEEDS_CHECKSUM | CHECKSUM_IS_VALID) != 0 {
            return Err(unknown);
        }
        let [payload_bytes, start, offset] = [[a, b], [c, d], [e, f]].map(u16::from_ne_bytes);
        let split = |kind, cwr| Segmented { kind, cwr, header_bytes: u16::from_ne_bytes(header_bytes), payload_bytes };
        let cwr = match (kind & ACCURATE_ECN != 0, kind & ECN != 0) {
            (true, _) => Cwr::InAll,
            (false, true) => Cwr::InFirst,
            (false, false) => Cwr::Unsaid,
        };
        Ok(Self {
            partial: (flags & NEEDS_CHECKSUM != 0).then_some(Partial { start, offset }),
            segmented: match (kind & !(ECN | ACCURATE_ECN), cwr) {
                (NONE, Cwr::Unsaid) => None,
                (TCP4, _) => Some(split(Kind::Tcp4, cwr)),
                (TCP6, _) => Some(split(Kind::Tcp6, cwr)),
                (UDP, Cwr::Unsaid) => Some(split(Kind::Udp, cwr)),
                _ => return Err(unknown),
            },
        })
    }

    /// Encodes the header. Constant time. The information that the kernel had verified a checksum is not preserved.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let flags = if self.partial.is_some() { NEEDS_CHECKSUM } else { 0 };
        let Partial { start, offset } = self.partial.unwrap_or(Partial { start: 0, offset: 0 });
        let (kind, header_bytes, payload_bytes) = self.segmented.map_or((NONE, 0, 0), |split| {
            let kind = match split.kind {
                Kind::Tcp4 => TCP4,
                Kind::Tcp6 => TCP6,
                Kind::Udp => UDP,
            };
            // A kernel that has reported it accepts it as well; an older one never reports it.
            let cwr = match split.cwr {
                Cwr::Unsaid => 0,
                Cwr::InFirst => ECN,
                Cwr::InAll => ACCURATE_ECN,
            };
            (kind | cwr, split.header_bytes, split.payload_bytes)
        });
        let [[a, b], [c, d], [e, f], [g, h]] = [header_bytes, payload_bytes, start, offset].map(u16::to_ne_bytes);
        [flags, kind, a, b, c, d, e, f, g, h]
    }

    /// The metadata after `bytes` were inserted in front of what is summed, such as a VLAN tag. Constant time.
    ///
    /// # Errors
    /// Summing would start beyond 64 KiB.
    pub fn behind(&self, bytes: u16) -> Result<Self, Refused> {
        let partial = match self.partial {
            Some(partial) => Some(partial.behind(bytes)?),
            None => None,
        };
        let segmented =
            self.segmented.map(|split| Segmented { header_bytes: split.header_bytes.saturating_add(bytes), ..split });
        Ok(Self { partial, segmented })
    }
}

impl Partial {
    /// Same as for [`Offload::behind`].
    ///
    /// # Errors
    /// Summing would start beyond 64 KiB.
    pub fn behind(&self, bytes: u16) -> Result<Self, Refused> {
        let start = self.start.checked_add(bytes).ok_or(Refused::Checksum)?;
        Ok(Self { start, ..*self })
    }

    /// Offset of the checksum.
    pub(crate) fn at(&self) -> usize {
        usize::from(self.start) + usize::from(self.offset)
    }

    /// Whether the checksum lies within a frame of this length.
    pub(crate) fn lies_within(&self, frame_bytes: usize) -> bool {
        self.at() + 2 <= frame_bytes
    }
}

#[cfg(test)]
mod tests;
