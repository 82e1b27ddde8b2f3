//! Writes what leaves the watched link as a capture (pcap), with times to the nanosecond.

use std::io::{self, Write};

use dovetail_sched::Nanos;

/// Of a file whose times have nanoseconds rather than microseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Version 2.4: two numbers of 16 bits, the first in the lower half.
const VERSION: u32 = 2 | 4 << 16;
/// The longest packet that a reader has to expect.
const LONGEST_BYTES: u32 = 1 << 16;
/// Packets that start with their IP header.
const RAW_IP: u32 = 101;

/// A capture that is being written.
pub(super) struct Capture<'a> {
    into: &'a mut dyn Write,
}

impl<'a> Capture<'a> {
    pub(super) fn begin(into: &'a mut dyn Write) -> io::Result<Self> {
        // Between the version and the longest packet: the time zone, and the accuracy of times.
        write_all(into, [MAGIC, VERSION, 0, 0, LONGEST_BYTES, RAW_IP])?;
        Ok(Self { into })
    }

    pub(super) fn packet(&mut self, bytes: &[u8], now: Nanos) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let seconds = u32::try_from(now.0 / 1_000_000_000).unwrap_or(u32::MAX);
        // Its length in the file, and on the wire.
        write_all(self.into, [seconds, (now.0 % 1_000_000_000) as u32, length, length])?;
        self.into.write_all(bytes)
    }
}

fn write_all<const N: usize>(into: &mut dyn Write, words: [u32; N]) -> io::Result<()> {
    into.write_all(words.map(u32::to_le_bytes).as_flattened())
}
