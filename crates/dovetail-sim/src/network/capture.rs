//! Writes what leaves the watched link as a capture (pcap), with nanosecond timestamps.
//!
//! Headers are constructed here. Payloads have a length but no contents, and are written as zeros; those of QUIC are real and
//! written as they are. Checksums cover what is written.

use std::io::{self, Write};

use dovetail_sched::{Nanos, flow::FiveTuple};
use dovetail_tcp::{Ecn, Flags, Segment};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement as Element, UdpHeader};

use super::{
    packets::{Body, Datagram},
    transport::UDP_HEADERS_BYTES,
};

/// Magic number of files with nanosecond rather than microsecond timestamps.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Version 2.4: two numbers of 16 bits, the first in the lower half.
const VERSION: u32 = 2 | 4 << 16;
/// The longest packet that a reader has to expect (snaplen).
const SNAPLEN_BYTES: u32 = 1 << 16;
/// Link type: packets start with their IP header.
const RAW_IP: u32 = 101;
/// RFC 1340's default.
const TIME_TO_LIVE: u8 = 64;

/// A capture being written.
pub(super) struct Capture<'a> {
    into: &'a mut dyn Write,
    zeros: Vec<u8>,
}

impl<'a> Capture<'a> {
    pub(super) fn begin(into: &'a mut dyn Write) -> io::Result<Self> {
        // Between the version and the longest packet: time zone and timestamp accuracy.
        write_all(into, [MAGIC, VERSION, 0, 0, SNAPLEN_BYTES, RAW_IP])?;
        Ok(Self { into, zeros: Vec::new() })
    }

    pub(super) fn packet<P>(&mut self, datagram: &Datagram<P>, now: Nanos) -> io::Result<()> {
        let seconds = u32::try_from(now.0 / 1_000_000_000).unwrap_or(u32::MAX);
        // Captured length and length on the wire.
        let length = datagram.bytes;
        write_all(self.into, [seconds, (now.0 % 1_000_000_000) as u32, length, length])?;
        let tuple = &datagram.tuple;
        match &datagram.body {
            Body::Tcp(segment) => self.tcp(tuple, segment),
            Body::Quic(payload) => udp(self.into, tuple, payload.as_ref()),
            Body::Udp => udp(self.into, tuple, zeros(&mut self.zeros, length - UDP_HEADERS_BYTES)),
        }
    }

    fn tcp(&mut self, tuple: &FiveTuple, segment: &Segment) -> io::Result<()> {
        let internet = ip_header(tuple, IpNumber::TCP, segment.header_bytes() + segment.payload_bytes, segment.ecn)?;
        let zeros = zeros(&mut self.zeros, segment.payload_bytes);
        let mut header = TcpHeader::new(tuple.source_port, tuple.destination_port, segment.sequence, segment.window);
        header.acknowledgment_number = segment.acknowledgement;
        header.fin = segment.flags.has(Flags::FIN);
        header.syn = segment.flags.has(Flags::SYN);
        header.rst = segment.flags.has(Flags::RST);
        header.psh = segment.flags.has(Flags::PSH);
        header.ack = segment.flags.has(Flags::ACK);
        header.ece = segment.flags.has(Flags::ECE);
        header.cwr = segment.flags.has(Flags::CWR);
        header.set_options(&options(segment)).map_err(|error| io::Error::other(error.to_string()))?;
        header.checksum = header.calc_checksum_ipv4(&internet, zeros).map_err(io::Error::other)?;
        internet.write(&mut self.into)?;
        header.write(&mut self.into)?;
        self.into.write_all(zeros)
    }
}

fn udp(mut into: &mut dyn Write, tuple: &FiveTuple, payload: &[u8]) -> io::Result<()> {
    let bytes = (UdpHeader::LEN + payload.len()) as u32;
    let internet = ip_header(tuple, IpNumber::UDP, bytes, Ecn::NotCapable)?;
    let header = UdpHeader::with_ipv4_checksum(tuple.source_port, tuple.destination_port, &internet, payload);
    let header = header.map_err(io::Error::other)?;
    internet.write(&mut into)?;
    header.write(&mut into)?;
    into.write_all(payload)
}

fn ip_header(tuple: &FiveTuple, protocol: IpNumber, payload_bytes: u32, ecn: Ecn) -> io::Result<Ipv4Header> {
    let payload = u16::try_from(payload_bytes).map_err(io::Error::other)?;
    let address = |mapped: [u8; 16]| [mapped[12], mapped[13], mapped[14], mapped[15]];
    let (source, destination) = (address(tuple.source), address(tuple.destination));
    let mut header = Ipv4Header::new(payload, TIME_TO_LIVE, protocol, source, destination).map_err(io::Error::other)?;
    header.ecn = match ecn {
        Ecn::NotCapable => IpEcn::ZERO,
        Ecn::Capable => IpEcn::TWO,
        Ecn::Marked => IpEcn::THREE,
    };
    header.header_checksum = header.calc_header_checksum();
    Ok(header)
}

/// Options in Linux's order, each aligned to four bytes.
fn options(segment: &Segment) -> Vec<Element> {
    let options = &segment.options;
    let mut elements = Vec::new();
    if let Some(bytes) = options.maximum_segment_size {
        elements.push(Element::MaximumSegmentSize(bytes));
    }
    if options.sack_permitted {
        if options.timestamps.is_none() {
            elements.extend([Element::Noop, Element::Noop]);
        }
        elements.push(Element::SelectiveAcknowledgementPermitted);
    }
    if let Some((value, echo)) = options.timestamps {
        if !options.sack_permitted {
            elements.extend([Element::Noop, Element::Noop]);
        }
        elements.push(Element::Timestamp(value, echo));
    }
    if let Some(shift) = options.window_scale {
        elements.extend([Element::Noop, Element::WindowScale(shift)]);
    }
    if let [first, others @ ..] = options.sack.as_slice() {
        let mut rest = [None; 3];
        rest.iter_mut().zip(others).for_each(|(place, block)| *place = Some(*block));
        elements.extend([Element::Noop, Element::Noop, Element::SelectiveAcknowledgement(*first, rest)]);
    }
    elements
}

/// A slice of this many zeros.
fn zeros(buffer: &mut Vec<u8>, bytes: u32) -> &[u8] {
    let bytes = bytes as usize;
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    &buffer[..bytes]
}

fn write_all<const N: usize>(into: &mut dyn Write, words: [u32; N]) -> io::Result<()> {
    into.write_all(words.map(u32::to_le_bytes).as_flattened())
}
