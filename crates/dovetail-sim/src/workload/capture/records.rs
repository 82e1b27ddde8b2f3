//! The records of a capture file: classic pcap and pcapng.

use pcap_parser::{
    Block, LegacyPcapReader, OptionCode, PcapBlockOwned, PcapError, PcapNGReader,
    pcapng::InterfaceDescriptionBlock,
    traits::{PcapNGPacketBlock, PcapReaderIterator},
};

use super::frame::Link;
use crate::workload::input::{Bytes, Failure, Steady};

/// A record is read whole; none that any tool writes comes near the larger of these.
const BUFFER: usize = 1 << 18;
const LARGEST_RECORD: usize = 1 << 24;
/// Interfaces of one section; more are not described by any real machine, and would cost memory.
const MOST_INTERFACES: usize = 1 << 16;

/// One packet as the file has it.
pub(super) struct Record<'a> {
    /// Nanoseconds since the epoch; without one, the record bears no time.
    pub(super) time: Option<i128>,
    /// Length on the wire.
    pub(super) bytes: u32,
    /// How much of it was captured.
    pub(super) data: &'a [u8],
    pub(super) link: Link,
}

/// What comes next in the file.
pub(super) enum Next<T> {
    Packet(T),
    /// A block that had to be passed over.
    Skipped(Skipped),
    End(End),
    /// A packet came through an interface of a link type that nobody here reads.
    UnknownLink(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// Its contents contradict its length.
    Damaged,
    /// A packet of an interface that was not described.
    NoInterface,
    /// The packet block of 2004, which lacks what its successor has.
    Obsolete,
}

#[derive(Debug)]
pub(super) enum End {
    /// After a whole record.
    Clean,
    /// In the midst of a record.
    Cut,
    /// At a record that makes no sense, after which nothing can be found.
    Damaged,
    Failed(std::io::Error),
}

/// Reads the one or the other format.
pub(super) enum Records {
    Classic(Classic),
    Sections(Sections),
}

/// Why a file is no capture.
pub(super) enum Unopened {
    Empty,
    Unknown([u8; 4]),
    /// It starts as a capture does, but ends or errs within its header.
    BadHeader,
    UnknownLink(i32),
    Failed(std::io::Error),
}

impl Records {
    /// `head` is what `read` starts with: its first four bytes, if there are so many.
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
                Ok(Self::Sections(Sections { input, interfaces: Vec::new(), big_endian: false }))
            }
            0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0xa1b2_cd34 => {
                let mut reader = LegacyPcapReader::new(BUFFER, read).map_err(|_| bad(&failure))?;
                let Ok((length, PcapBlockOwned::LegacyHeader(header))) = reader.next() else {
                    return Err(bad(&failure));
                };
                // The upper half says whether frames end with a check sum, and how long it is.
                let number = header.network.0 & 0xffff;
                let nanos = if header.is_nanosecond_precision() { 1 } else { 1000 };
                reader.consume(length);
                let link = Link::of(number).ok_or(Unopened::UnknownLink(number))?;
                Ok(Self::Classic(Classic { input: Input { reader, failure, capacity: BUFFER }, nanos, link }))
            }
            _ => Err(Unopened::Unknown([a, b, c, d])),
        }
    }

    /// Hands the next packet to `see`.
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
    /// In one unit of the time stamps' fraction.
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

/// Why the reader had no record, without the bytes that its own error may hold on to.
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
    /// Gets more bytes, or says why there are none.
    fn more(&mut self, lack: Lack) -> Option<End> {
        let end = match lack {
            Lack::Bytes => {
                // Errors of reading are kept by `Steady`, so that this cannot fail.
                let _ = self.reader.refill();
                return None;
            }
            Lack::Room if self.capacity < LARGEST_RECORD => {
                self.capacity *= 2;
                self.reader.grow(self.capacity);
                return None;
            }
            Lack::Room | Lack::Sense => End::Damaged,
            Lack::CutEnd if !self.reader.data().is_empty() => End::Cut,
            Lack::End | Lack::CutEnd => End::Clean,
        };
        match self.failure.take() {
            // A compressed file that was cut off ends here as a plain one does.
            Some(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Some(End::Cut),
            Some(error) => Some(End::Failed(error)),
            None => Some(end),
        }
    }
}

/// How an interface stamps time and what its frames start with.
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
        // Bit 7 chooses powers of 2 instead of 10; the default is a microsecond.
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
}

impl Sections {
    fn next<T>(&mut self, see: impl FnOnce(&Record<'_>) -> T) -> Next<T> {
        loop {
            let (length, found) = match self.input.reader.next() {
                Ok((length, PcapBlockOwned::NG(block))) => match block {
                    Block::SectionHeader(header) => {
                        self.big_endian = header.big_endian();
                        self.interfaces.clear();
                        (length, None)
                    }
                    Block::InterfaceDescription(block) if self.interfaces.len() < MOST_INTERFACES => {
                        self.interfaces.push(Interface::of(&block, self.big_endian));
                        (length, None)
                    }
                    Block::InterfaceDescription(_) => (length, Some(Next::Skipped(Skipped::Damaged))),
                    Block::EnhancedPacket(block) => {
                        let found = match self.interfaces.get(block.if_id as usize) {
                            None => Next::Skipped(Skipped::NoInterface),
                            Some(interface) => match Link::of(interface.link) {
                                None => Next::UnknownLink(interface.link),
                                Some(link) => {
                                    let time = Some(interface.time(block.ts_high, block.ts_low));
                                    let data = block.packet_data();
                                    Next::Packet(see(&Record { time, bytes: block.origlen, data, link }))
                                }
                            },
                        };
                        self.input.reader.consume(length);
                        return found;
                    }
                    Block::SimplePacket(block) => {
                        let found = match self.interfaces.first() {
                            None => Next::Skipped(Skipped::NoInterface),
                            Some(interface) => match Link::of(interface.link) {
                                None => Next::UnknownLink(interface.link),
                                Some(link) => {
                                    let data = block.packet_data();
                                    let snap =
                                        if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
                                    let data = &data[..data.len().min(snap as usize)];
                                    Next::Packet(see(&Record { time: None, bytes: block.origlen, data, link }))
                                }
                            },
                        };
                        self.input.reader.consume(length);
                        return found;
                    }
                    Block::Unknown(block) if block.block_type == 2 => (length, Some(Next::Skipped(Skipped::Obsolete))),
                    _ => (length, None),
                },
                Ok((length, _)) => (length, None),
                Err(error) => {
                    let lack = Lack::of(&error);
                    // A block that is here as a whole and still wants more contradicts itself.
                    match self.whole_block() {
                        Some(length) => (length, Some(Next::Skipped(Skipped::Damaged))),
                        None => match self.input.more(lack) {
                            Some(end) => return Next::End(end),
                            None => continue,
                        },
                    }
                }
            };
            self.input.reader.consume(length);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// The stated length of the block that comes next, if all of it is in the buffer.
    fn whole_block(&self) -> Option<usize> {
        let data = self.input.reader.data();
        let length: [u8; 4] = data.get(4..8)?.try_into().ok()?;
        let length = if self.big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) } as usize;
        (length >= 12 && length <= data.len()).then_some(length)
    }
}
