//! One long frame as the many that were or will be on the wire.
//!
//! Kernels hand up to 64 KiB of a stream through as one frame: a local sender's, to be split by its interface, or received
//! segments that were joined. To a policy it would be one packet that takes as long as forty. It is split here as Linux would:
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
//! Everything else is the frame's, options included. Where a segment begins and how long it is follows from its number, so one
//! that a queue refuses is never copied.

mod ip;

use std::ops::Range;

use super::{
    Refused,
    offload::{Cwr, Kind, Partial, Segmented},
    tag::{self, Tag},
    tunnel::Outer,
};
use crate::functions::{
    checksum::{finish, sum},
    frame::{Ip, TCP, UDP, Version, read_u16, write},
    protocol,
    transport::{pseudo_header, write_udp},
};

/// Segments that a frame may be split into: 64 KiB by the least payload that Linux's TCP sends, 48 bytes, and some. Smaller
/// parts are a way to make one frame cost as much as tens of thousands.
pub const MOST_SEGMENTS: usize = 2048;
/// Bytes of headers in all segments together: 256 each, and where headers are longer fewer segments.
const MOST_HEADER_BYTES: usize = MOST_SEGMENTS * 256;

const FIN: u8 = 0x01;
const PUSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// A frame and where to split it. Reads it, keeps no copy.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    frame: &'a [u8],
    tag: Option<Tag>,
    /// What is around the packet, if it is in a tunnel.
    outer: Option<Outer>,
    ip: Ip,
    /// Where TCP's or UDP's header begins.
    transport: usize,
    /// Where the payload begins.
    payload: usize,
    segmented: Segmented,
    /// The sum of the pseudo-header but for the length.
    pseudo: u64,
}

impl<'a> Segments<'a> {
    /// Reads the headers. `frame` is as it was handed over: without `tag`, which every segment gets. What lies behind the IP
    /// packet's end is in no segment. Time does not grow with the frame's length.
    ///
    /// # Errors
    /// The headers are not those that `segmented` and `partial` say, contradict themselves, belong to a fragment, or to a
    /// tunnel of an unknown kind; the payload of a segment is zero bytes or leads to more than [`MOST_SEGMENTS`], or to more
    /// bytes of headers than that many of 256. Packets that are longer than their length field can say ("BIG TCP") are refused.
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
            // The field holds the sum already, and with the address that it ends at where a routing header names another.
            Some(partial) if (usize::from(partial.start), usize::from(partial.offset)) == (transport, checksum) => {
                let field = read_u16(frame, transport + checksum).unwrap_or(0);
                u64::from(field) + u64::from(!(bytes as u16))
            }
            Some(_) => return Err(Refused::Headers),
            None => pseudo_header(frame, &ip, protocol, 0),
        };
        let split = Self { frame, tag, outer, ip, transport, payload, segmented, pseudo };
        let count = split.count();
        if segmented.payload_bytes == 0 || count > MOST_SEGMENTS || count * payload > MOST_HEADER_BYTES {
            return Err(Refused::Segments);
        }
        Ok(split)
    }

    /// How many frames it is: at least 1. Constant time.
    #[must_use]
    pub fn count(&self) -> usize {
        let bytes = self.ip.end - self.payload;
        bytes.div_ceil(usize::from(self.segmented.payload_bytes).max(1)).max(1)
    }

    /// Bytes of a segment's frame, with its tag, or `None` if there is no such segment. Constant time.
    #[must_use]
    pub fn length(&self, index: usize) -> Option<usize> {
        Some(tag::bytes(self.tag) + self.payload + self.part(index)?.len())
    }

    /// Replaces what `into` holds by a segment's frame, its checksums filled in. `false`, and `into` as it was, if there is
    /// no such segment. Copies and sums one segment.
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

    /// Where in the frame a segment's payload is.
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

/// Whether what is said of a long frame is about a packet in a tunnel. The kernel, which cannot be told of the tunnel, does not
/// take such a frame back. Constant time.
pub(crate) fn is_of_inner(frame: &[u8], partial: Option<Partial>, kind: Kind) -> bool {
    Ip::find(frame).is_ok_and(|ip| is_within(frame, &ip, partial, kind))
}

/// Whether the packet that is split is within this one: it is of another protocol, or what is summed begins further behind.
fn is_within(frame: &[u8], ip: &Ip, partial: Option<Partial>, kind: Kind) -> bool {
    let (protocol, transport) = ip.transport(frame);
    let wanted = if kind == Kind::Udp { protocol::UDP } else { protocol::TCP };
    let is_behind = |at| partial.is_some_and(|partial| usize::from(partial.start) > at);
    protocol != wanted || transport.is_some_and(is_behind)
}

/// The packet that is split, and what is around it.
fn packet(frame: &[u8], partial: Option<Partial>, kind: Kind) -> Result<(Option<Outer>, Ip), Refused> {
    let ip = Ip::find(frame).map_err(|_| Refused::Headers)?;
    if !is_within(frame, &ip, partial, kind) {
        return Ok((None, ip));
    }
    Outer::find(frame, ip).map(|(outer, inner)| (Some(outer), inner))
}

#[cfg(test)]
mod tests;
