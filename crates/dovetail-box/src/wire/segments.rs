//! Splits one long frame into the segments that were or will be on the wire.
//!
//! Kernels pass up to 64 KiB of a stream as one frame: from a local sender, to be split by its interface, or received
//! segments that were joined. A policy would see one packet that takes as long as forty. It is split here as Linux would:
//!
//! | field | in segment i of n |
//! |---|---|
//! | IPv4 identification | the frame's + i |
//! | TCP sequence number | the frame's + i · payload |
//! | FIN, PSH | in the last only |
//! | CWR | in the first only, or in all ([`Cwr`]) |
//! | lengths, checksums | its own |
//! | outer headers of a tunnel | the same, each its own (`wire::tunnel`) |
//!
//! Everything else is copied from the frame, including options. Start and length of a segment follow from its index, so a
//! segment that a queue refuses is never copied.

mod ip;

use std::ops::Range;

use super::{
    Refused,
    offload::{Cwr, Kind, Offload, Partial, Segmented},
    tag::{self, Tag},
    tunnel::Outer,
};
use crate::functions::{
    checksum::{finish, sum},
    frame::{Ip, TCP, UDP, Version, read_u16, write},
    protocol,
    transport::{pseudo_header, write_udp},
};

/// Maximum number of segments of a frame: 64 KiB by the smallest payload that Linux's TCP sends, 48 bytes, and some.
/// Smaller parts would let one frame cost as much as tens of thousands.
pub const MAX_SEGMENTS: usize = 2048;
/// Maximum bytes of headers in all segments together: 256 each; longer headers mean fewer segments.
pub(super) const MAX_HEADER_BYTES: usize = MAX_SEGMENTS * 256;

const FIN: u8 = 0x01;
const PUSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// A frame and where to split it. Borrows the frame, keeps no copy.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    frame: &'a [u8],
    tag: Option<Tag>,
    /// The outer headers, if the packet is in a tunnel.
    outer: Option<Outer>,
    ip: Ip,
    /// Offset of the header of TCP or UDP.
    transport: usize,
    /// Offset of the payload.
    payload: usize,
    segmented: Segmented,
    /// The sum of the pseudo-header without the length.
    pseudo: u64,
}

impl<'a> Segments<'a> {
    /// Parses the headers. `frame` is as delivered: without `tag`, which every segment gets. Bytes after the IP packet's
    /// end are in no segment. The time does not depend on the frame's length.
    ///
    /// # Errors
    /// The headers do not match `segmented` and `partial`, are inconsistent, or belong to a fragment or to a tunnel of an
    /// unknown kind; the payload of a segment is zero bytes or leads to more than [`MAX_SEGMENTS`], or to more bytes of
    /// headers than that many of 256. Packets longer than their length field can express ("BIG TCP") are refused.
    pub fn new(
        frame: &'a [u8],
        partial: Option<Partial>,
        segmented: Segmented,
        tag: Option<Tag>,
    ) -> Result<Self, Refused> {
        let (outer, ip) = packet(frame, partial, segmented.kind)?;
        let (protocol, Some(transport)) = ip.transport(frame) else { return Err(Refused::Headers) };
        let (wanted, version, checksum) = match segmented.kind {
            Kind::Tcp4 => (protocol::TCP, Version::V4, 16),
            Kind::Tcp6 => (protocol::TCP, Version::V6, 16),
            Kind::Udp => (protocol::UDP, ip.version, 6),
        };
        if (protocol, ip.version) != (wanted, version) || ip.is_fragment(frame) {
            return Err(Refused::Headers);
        }
        let (header, least) = match protocol {
            protocol::TCP => (frame.get(transport + 12).map_or(0, |byte| usize::from(byte >> 4) * 4), TCP),
            _ => (UDP, UDP),
        };
        let payload = transport + header;
        if header < least || payload > ip.end {
            return Err(Refused::Headers);
        }
        let bytes = ip.end - transport;
        let pseudo = match partial {
            // The field holds the sum already, and for the final destination if a routing header names another.
            Some(partial) if (usize::from(partial.start), usize::from(partial.offset)) == (transport, checksum) => {
                let field = read_u16(frame, transport + checksum).unwrap_or(0);
                // Of segments joined as a list (`rx-gro-list`), the field is that of the first, with its length.
                let first = header + usize::from(segmented.payload_bytes);
                let is_of_first = field == !finish(pseudo_header(frame, &ip, protocol, first));
                u64::from(field) + u64::from(!(if is_of_first { first } else { bytes } as u16))
            }
            Some(_) => return Err(Refused::Headers),
            None => pseudo_header(frame, &ip, protocol, 0),
        };
        let split = Self { frame, tag, outer, ip, transport, payload, segmented, pseudo };
        let count = split.count();
        if segmented.payload_bytes == 0 || count > MAX_SEGMENTS || count * payload > MAX_HEADER_BYTES {
            return Err(Refused::Segments);
        }
        Ok(split)
    }

    /// Number of segments: at least 1. Constant time.
    #[must_use]
    pub fn count(&self) -> usize {
        let bytes = self.ip.end - self.payload;
        bytes.div_ceil(usize::from(self.segmented.payload_bytes).max(1)).max(1)
    }

    /// Length of a segment's frame in bytes, with its tag, or `None` if there is no such segment. Constant time.
    #[must_use]
    pub fn length(&self, index: usize) -> Option<usize> {
        Some(tag::bytes(self.tag) + self.payload + self.part(index)?.len())
    }

    /// Replaces the contents of `into` by a segment's frame, its checksums filled in. Returns `false`, with `into`
    /// unchanged, if there is no such segment. Copies and sums one segment.
    pub fn write(&self, index: usize, into: &mut Vec<u8>) -> bool {
        let (Some(part), Some(headers)) = (self.part(index), self.frame.get(..self.payload)) else { return false };
        if tag::put_back(headers, self.tag, into).is_err() {
            return false;
        }
        into.extend_from_slice(self.frame.get(part).unwrap_or_default());
        let shift = tag::bytes(self.tag);
        self.ip.in_segment(shift, into.len()).write_segment(into, index);
        match self.segmented.kind {
            Kind::Tcp4 | Kind::Tcp6 => self.write_tcp(index, into, self.transport + shift),
            Kind::Udp => write_udp(into, self.transport + shift, self.pseudo),
        }
        if let Some(outer) = &self.outer {
            outer.write(into, index, shift);
        }
        true
    }

    /// The range of a segment's payload in the frame.
    fn part(&self, index: usize) -> Option<Range<usize>> {
        let bytes = usize::from(self.segmented.payload_bytes);
        let from = self.payload + index.checked_mul(bytes).filter(|_| index < self.count())?;
        Some(from..(from + bytes).min(self.ip.end))
    }

    fn write_tcp(&self, index: usize, segment: &mut [u8], transport: usize) {
        let before = index * usize::from(self.segmented.payload_bytes);
        let Some(header) = segment.get_mut(transport..).and_then(|header| header.first_chunk_mut::<TCP>()) else {
            return;
        };
        let [_, _, _, _, a, b, c, d, ..] = *header;
        let sequence = u32::from_be_bytes([a, b, c, d]).wrapping_add(before as u32);
        header[4..8].copy_from_slice(&sequence.to_be_bytes());
        if index + 1 < self.count() {
            header[13] &= !(FIN | PUSH);
        }
        if index > 0 && self.segmented.cwr == Cwr::InFirst {
            header[13] &= !CWR;
        }
        write(segment, transport + 16, &[0, 0]);
        let packet = segment.get(transport..).unwrap_or_default();
        let checksum = finish(sum(packet, self.pseudo + packet.len() as u64));
        write(segment, transport + 16, &checksum.to_be_bytes());
    }
}

/// Has the checksum's field of a long frame that stays whole hold the sum for all of it, as interfaces that split it expect.
/// Any other frame stays unchanged. Constant time.
pub fn sum_as_one(frame: &mut [u8], offload: &Offload) {
    let (Some(partial), Some(segmented)) = (offload.partial, offload.segmented) else { return };
    let Ok(Segments { ip, transport, pseudo, .. }) = Segments::new(frame, Some(partial), segmented, None) else {
        return;
    };
    let sum = !finish(pseudo + (ip.end - transport) as u64);
    write(frame, partial.at(), &sum.to_be_bytes());
}

/// Whether the metadata of a long frame is about a packet in a tunnel. The kernel, which cannot be told of the tunnel, does
/// not accept such a frame back. Constant time.
pub(crate) fn is_of_inner(frame: &[u8], partial: Option<Partial>, kind: Kind) -> bool {
    Ip::find(frame).is_ok_and(|ip| is_within(frame, &ip, partial, kind))
}

/// Whether the packet to split is inside this one: this one has another protocol, or summing starts further back.
fn is_within(frame: &[u8], ip: &Ip, partial: Option<Partial>, kind: Kind) -> bool {
    let (protocol, transport) = ip.transport(frame);
    let wanted = if kind == Kind::Udp { protocol::UDP } else { protocol::TCP };
    let is_behind = |at| partial.is_some_and(|partial| usize::from(partial.start) > at);
    protocol != wanted || transport.is_some_and(is_behind)
}

/// The packet to split, and its outer headers.
fn packet(frame: &[u8], partial: Option<Partial>, kind: Kind) -> Result<(Option<Outer>, Ip), Refused> {
    let ip = Ip::find(frame).map_err(|_| Refused::Headers)?;
    if !is_within(frame, &ip, partial, kind) {
        return Ok((None, ip));
    }
    Outer::find(frame, ip).map(|(outer, inner)| (Some(outer), inner))
}

#[cfg(test)]
mod tests;
