//! The records of a capture file: classic pcap and pcapng.

use pcap_parser::{
    LegacyPcapReader, OptionCode, PcapBlockOwned, PcapError, PcapNGReader,
    pcapng::{
        InterfaceDescriptionBlock, parse_enhancedpacketblock_be, parse_enhancedpacketblock_le,
        parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le, parse_simplepacketblock_be,
        parse_simplepacketblock_le,
    },
    traits::{PcapNGPacketBlock, PcapReaderIterator},
};

use super::{
    frame::Link,
    steady::{Failure, Steady},
};
use crate::workload::input::Bytes;

/// Records are read whole; none written by any tool comes near the larger of these limits.
const BUFFER: usize = 1 << 18;
const MAX_RECORD_BYTES: usize = 1 << 24;
/// Limit of interfaces per section; no real machine has more, and each takes memory.
const MAX_INTERFACES: usize = 1 << 16;

/// One packet as stored in the file.
pub(super) struct Record<'a> {
    /// Nanoseconds since the epoch; `None` if the record has no timestamp.
    pub(super) time: Option<i128>,
    /// Length on the wire.
    pub(super) bytes: u32,
    /// The captured part.
    pub(super) data: &'a [u8],
    pub(super) link: Link,
}

/// The next item in the file.
pub(super) enum Next<T> {
    Packet(T),
    /// A packet or an interface that had to be skipped.
    Skipped(Skipped),
    End(End),
    /// A packet arrived through an interface with an unsupported link type.
    UnknownLink(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// Its contents contradict its length.
    Damaged,
    /// A packet of an undeclared interface.
    NoInterface,
    /// The obsolete packet block of 2004.
    Obsolete,
}

#[derive(Debug)]
pub(super) enum End {
    /// After a complete record.
    Clean,
    /// In the middle of a record.
    Cut,
    /// At an invalid record, after which no other can be found.
    Damaged,
    Failed(std::io::Error),
}

/// Reads either format.
pub(super) enum Records {
    Classic(Classic),
    Sections(Sections),
}

/// Why a file is not a capture.
pub(super) enum Unopened {
    Empty,
    Unknown([u8; 4]),
    /// It starts like a capture, but its header is truncated or invalid.
    BadHeader,
    UnknownLink(i32),
    Failed(std::io::Error),
}

impl Records {
    /// `head` is what `read` starts with: its first four bytes, or fewer if there are fewer.
    pub(super) fn open(head: &[u8], read: Bytes) -> Result<Self, Unopened> {
        if head.is_empty() {
            return Err(Unopened::Empty);
        }
        let &[a, b, c, d] = head else { return Err(Unopened::BadHeader) };
        let (read, failure) = Steady::new(read);
        let bad = |failure: &Failure| failure.take().map_or(Unopened::BadHeader, Unopened::Failed);
        match u32::from_le_bytes([a, b, c, d]) {
            0x0a0d_0d0a => {
                let reader = PcapNGReader::new(BUFFER, read).map_err(|_| bad(&failure))?;
                let input = Input { reader, failure, capacity: BUFFER };
                Ok(Self::Sections(Sections { input, interfaces: Vec::new(), big_endian: false, skip: 0 }))
            }
            0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0xa1b2_cd34 => {
                let mut reader = LegacyPcapReader::new(BUFFER, read).map_err(|_| bad(&failure))?;
                let Ok((length, PcapBlockOwned::LegacyHeader(header))) = reader.next() else {
                    return Err(bad(&failure));
                };
                // The upper half tells whether frames end with a checksum, and how long it is.
                let number = header.network.0 & 0xffff;
                let nanos = if header.is_nanosecond_precision() { 1 } else { 1000 };
                reader.consume(length);
                let link = Link::of(number).ok_or(Unopened::UnknownLink(number))?;
                Ok(Self::Classic(Classic { input: Input { reader, failure, capacity: BUFFER }, nanos, link }))
            }
            _ => Err(Unopened::Unknown([a, b, c, d])),
        }
    }

    /// Passes the next packet to `see`.
    #[inline]
    pub(super) fn next<T>(&mut self, see: impl FnOnce(&Record<'_>) -> T) -> Next<T> {
        match self {
            Self::Classic(classic) => classic.next(see),
            Self::Sections(sections) => sections.next(see),
        }
    }
}

pub(super) struct Classic {
    input: Input<LegacyPcapReader<Steady>>,
    /// Nanoseconds per unit of the timestamps' fraction.
    nanos: u32,
    link: Link,
}

impl Classic {
    fn next<T>(&mut self, see: impl FnOnce(&Record<'_>) -> T) -> Next<T> {
        loop {
            match self.input.reader.next() {
                Ok((length, PcapBlockOwned::Legacy(block))) => {
                    let fraction = i128::from(block.ts_usec) * i128::from(self.nanos);
                    let time = Some(i128::from(block.ts_sec) * 1_000_000_000 + fraction);
                    let seen = see(&Record { time, bytes: block.origlen, data: block.data, link: self.link });
                    self.input.reader.consume(length);
                    return Next::Packet(seen);
                }
                Ok((length, _)) => self.input.reader.consume(length),
                Err(error) => {
                    let lack = Lack::of(&error);
                    if let Some(end) = self.input.more(lack) {
                        return Next::End(end);
                    }
                }
            }
        }
    }
}

/// A reader whose buffer grows with the records.
struct Input<R> {
    reader: R,
    failure: Failure,
    capacity: usize,
}

/// Why the reader returned no record, without the bytes that its own error may borrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    Bytes,
    Room,
    End,
    CutEnd,
    Sense,
}

impl Lack {
    fn of(error: &PcapError<&[u8]>) -> Self {
        match error {
            PcapError::Incomplete(_) => Self::Bytes,
            PcapError::BufferTooSmall => Self::Room,
            PcapError::Eof => Self::End,
            PcapError::UnexpectedEof => Self::CutEnd,
            _ => Self::Sense,
        }
    }
}

impl<R: PcapReaderIterator> Input<R> {
    /// Reads more bytes, or returns why there are none.
    fn more(&mut self, lack: Lack) -> Option<End> {
        let end = match lack {
            Lack::Bytes => {
                // `Steady` keeps read errors, so this cannot fail.
                let _ = self.reader.refill();
                return None;
            }
            Lack::Room if self.capacity < MAX_RECORD_BYTES => {
                self.capacity *= 2;
                self.reader.grow(self.capacity);
                return None;
            }
            Lack::Room | Lack::Sense => End::Damaged,
            Lack::CutEnd if !self.reader.data().is_empty() => End::Cut,
            Lack::End | Lack::CutEnd => End::Clean,
        };
        Some(self.end(end))
    }

    /// `end`, unless the bytes ended because of a read error.
    fn end(&self, end: End) -> End {
        match self.failure.take() {
            // A truncated compressed file ends here like a truncated plain one.
            Some(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => End::Cut,
            Some(error) => End::Failed(error),
            None => end,
        }
    }
}

/// Timestamp resolution and link type of an interface.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: i32,
    ticks_per_second: u64,
    offset_seconds: i64,
    snap_length: u32,
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let option = |code| block.options.iter().find(|option| option.code == code).and_then(|o| o.as_bytes().ok());
        // Bit 7 selects powers of 2 instead of 10; the default is a microsecond.
        let ticks_per_second = match option(OptionCode::IfTsresol) {
            Some(&[power]) if power & 0x80 == 0 => 10u64.checked_pow(u32::from(power)),
            Some(&[power]) => 1u64.checked_shl(u32::from(power & 0x7f)),
            _ => None,
        };
        let offset_seconds = match option(OptionCode::IfTsoffset).and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) if big_endian => i64::from_be_bytes(bytes),
            Some(bytes) => i64::from_le_bytes(bytes),
            None => 0,
        };
        Self {
            link: block.linktype.0,
            ticks_per_second: ticks_per_second.unwrap_or(1_000_000),
            offset_seconds,
            snap_length: block.snaplen,
        }
    }

    fn time(&self, high: u32, low: u32) -> i128 {
        const SECOND: u64 = 1_000_000_000;
        let ticks = u64::from(high) << 32 | u64::from(low);
        let nanos = if SECOND.is_multiple_of(self.ticks_per_second) {
            u128::from(ticks) * u128::from(SECOND / self.ticks_per_second)
        } else {
            u128::from(ticks) * u128::from(SECOND) / u128::from(self.ticks_per_second)
        };
        nanos as i128 + i128::from(self.offset_seconds) * i128::from(SECOND)
    }
}

pub(super) struct Sections {
    input: Input<PcapNGReader<Steady>>,
    interfaces: Vec<Interface>,
    big_endian: bool,
    /// Bytes still to be skipped.
    skip: usize,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;

/// Why packets of an interface cannot be read.
enum Closed {
    NotDescribed,
    UnknownLink(i32),
}

impl Closed {
    fn next<T>(self) -> Next<T> {
        match self {
            Self::NotDescribed => Next::Skipped(Skipped::NoInterface),
            Self::UnknownLink(number) => Next::UnknownLink(number),
        }
    }
}

impl Sections {
    /// Finds blocks by their length and passes only relevant ones to the parser, as a whole: some of its parsers for other
    /// blocks trust the length that they read.
    fn next<T>(&mut self, see: impl FnOnce(&Record<'_>) -> T) -> Next<T> {
        loop {
            if self.skip > 0 {
                let here = self.skip.min(self.input.reader.data().len());
                self.input.reader.consume(here);
                self.skip -= here;
                if self.skip > 0 && !self.fill() {
                    return Next::End(self.input.end(End::Cut));
                }
                continue;
            }
            let data = self.input.reader.data();
            let Some(&[a, b, c, d, e, f, g, h, i, j, k, l]) = data.first_chunk::<12>() else {
                let end = if data.is_empty() { End::Clean } else { End::Cut };
                if self.fill() {
                    continue;
                }
                return Next::End(self.input.end(end));
            };
            // A section's byte order is given by the word after its length; its type reads the same in both.
            let section = [a, b, c, d] == SECTION.to_be_bytes();
            if section {
                self.big_endian = match u32::from_be_bytes([i, j, k, l]) {
                    0x1a2b_3c4d => true,
                    0x4d3c_2b1a => false,
                    _ => return Next::End(self.input.end(End::Damaged)),
                };
            }
            let word = |bytes| if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
            let (kind, length) = (word([a, b, c, d]), word([e, f, g, h]) as usize);
            if length < 12 {
                return Next::End(self.input.end(End::Damaged));
            }
            if section {
                self.interfaces.clear();
            }
            if !matches!(kind, INTERFACE | SIMPLE_PACKET | PACKET) {
                self.skip = length;
                if kind == OLD_PACKET {
                    return Next::Skipped(Skipped::Obsolete);
                }
                continue;
            }
            if length > self.input.reader.data().len() {
                if length > MAX_RECORD_BYTES {
                    return Next::End(self.input.end(End::Damaged));
                }
                if length > self.input.capacity {
                    self.input.capacity = length.next_power_of_two();
                    self.input.reader.grow(self.input.capacity);
                }
                if !self.fill() {
                    return Next::End(self.input.end(End::Cut));
                }
                continue;
            }
            if kind == INTERFACE {
                let understood = self.interface(length);
                self.input.reader.consume(length);
                if understood {
                    continue;
                }
                return Next::Skipped(Skipped::Damaged);
            }
            let next = self.packet(kind, length, see);
            self.input.reader.consume(length);
            return next;
        }
    }

    /// Records an interface; false if its block is invalid.
    fn interface(&mut self, length: usize) -> bool {
        let block = &self.input.reader.data()[..length];
        let parse =
            if self.big_endian { parse_interfacedescriptionblock_be } else { parse_interfacedescriptionblock_le };
        match parse(block) {
            Ok((_, block)) if self.interfaces.len() < MAX_INTERFACES => {
                self.interfaces.push(Interface::of(&block, self.big_endian));
                true
            }
            _ => false,
        }
    }

    /// Passes the packet in a block to `see`.
    fn packet<T>(&self, kind: u32, length: usize, see: impl FnOnce(&Record<'_>) -> T) -> Next<T> {
        let block = &self.input.reader.data()[..length];
        if kind == PACKET {
            let parse = if self.big_endian { parse_enhancedpacketblock_be } else { parse_enhancedpacketblock_le };
            let Ok((_, block)) = parse(block) else { return Next::Skipped(Skipped::Damaged) };
            let (interface, link) = match self.through(block.if_id) {
                Ok(found) => found,
                Err(closed) => return closed.next(),
            };
            let time = Some(interface.time(block.ts_high, block.ts_low));
            Next::Packet(see(&Record { time, bytes: block.origlen, data: block.packet_data(), link }))
        } else {
            let parse = if self.big_endian { parse_simplepacketblock_be } else { parse_simplepacketblock_le };
            let Ok((_, block)) = parse(block) else { return Next::Skipped(Skipped::Damaged) };
            let (interface, link) = match self.through(0) {
                Ok(found) => found,
                Err(closed) => return closed.next(),
            };
            let data = block.packet_data();
            let most = if interface.snap_length == 0 { data.len() } else { interface.snap_length as usize };
            Next::Packet(see(&Record { time: None, bytes: block.origlen, data: &data[..data.len().min(most)], link }))
        }
    }

    /// The interface with this number, and its link type.
    fn through(&self, number: u32) -> Result<(&Interface, Link), Closed> {
        let interface = self.interfaces.get(number as usize).ok_or(Closed::NotDescribed)?;
        Ok((interface, Link::of(interface.link).ok_or(Closed::UnknownLink(interface.link))?))
    }

    /// Reads more bytes; false if there are none.
    fn fill(&mut self) -> bool {
        // `Steady` keeps read errors, so this cannot fail.
        let _ = self.input.reader.refill();
        !self.input.reader.reader_exhausted()
    }
}
