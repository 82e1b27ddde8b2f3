//! What an interface says of a frame beside its bytes: `struct virtio_net_hdr`, as packet sockets have it.
//!
//! ```text
//! flags │ gso_type │ hdr_len │ gso_size │ csum_start │ csum_offset
//!  1 B       1 B       2 B        2 B         2 B           2 B        in the machine's byte order
//! ```
//!
//! A checksum that the sender left to its interface is *partial*: its field holds the sum of the pseudo-header only. A frame
//! that is still to be cut into packets is *segmented*: the interface would have done that as well.

use super::Refused;

/// What an interface says of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// The checksum that is not filled in.
    pub partial: Option<Partial>,
    /// How the frame is to be split.
    pub segmented: Option<Segmented>,
}

/// A checksum that is not filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// Where in the frame summing begins; it ends with the frame. Bytes.
    pub start: u16,
    /// Where behind `start` the checksum is. Bytes.
    pub offset: u16,
}

/// A frame that is to be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmented {
    /// By which protocol.
    pub kind: Kind,
    /// To which segments a CWR belongs.
    pub cwr: Cwr,
    /// How many bytes lay together in the kernel: at least the headers. A hint for allocation: no header
    /// need end there.
    pub header_bytes: u16,
    /// What every segment but the last carries behind the transport's header. Bytes.
    pub payload_bytes: u16,
}

/// What is said of TCP's CWR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cwr {
    /// Nothing. Where it is set it is part of a count all the same: kernels that do not say so have such frames.
    Unsaid,
    /// It answers one mark (RFC 3168), and so belongs to the first segment only.
    InFirst,
    /// It is part of a count (RFC 9768), and belongs to every segment that the frame is split into.
    InAll,
}

/// What is split.
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
/// Kernels that have it go by it where both are set.
const ACCURATE_ECN: u8 = 0x10;

impl Offload {
    /// Bytes of the header.
    pub const BYTES: usize = 10;
    /// A frame as it is on the wire.
    pub const NONE: Self = Self { partial: None, segmented: None };

    /// Reads the header. Constant time.
    ///
    /// # Errors
    /// A flag or a type that is not known here: IP fragments (`GSO_UDP`), tunnels.
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

    /// Writes the header. Constant time. That the kernel had found a checksum valid is not among what is kept.
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
            // What this kernel has said it takes back; an older one never says it.
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

    /// The same of a frame whose headers have become `bytes` longer in front of what is summed, as by a VLAN tag. Constant
    /// time.
    ///
    /// # Errors
    /// What is summed would begin beyond 64 KiB.
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
    /// As [`Offload::behind`].
    ///
    /// # Errors
    /// What is summed would begin beyond 64 KiB.
    pub fn behind(&self, bytes: u16) -> Result<Self, Refused> {
        let start = self.start.checked_add(bytes).ok_or(Refused::Checksum)?;
        Ok(Self { start, ..*self })
    }

    /// Where the checksum is.
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
