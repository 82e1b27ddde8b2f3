//! Writes what leaves the watched link as a capture, with times to the nanosecond.

use std::io::{self, Write};

use dovetail_sched::Nanos;
use pcap_parser::{LegacyPcapBlock, Linktype, PcapHeader, ToVec};

/// A capture that is being written.
pub(super) struct Capture<'a> {
    into: &'a mut dyn Write,
}

impl<'a> Capture<'a> {
    pub(super) fn begin(into: &'a mut dyn Write) -> io::Result<Self> {
        let header = PcapHeader {
            // Nanoseconds rather than microseconds.
            magic_number: 0xa1b2_3c4d,
            version_major: 2,
            version_minor: 4,
            thiszone: 0,
            sigfigs: 0,
            snaplen: 1 << 16,
            network: Linktype::RAW,
        };
        into.write_all(&vector(header)?)?;
        Ok(Self { into })
    }

    pub(super) fn packet(&mut self, bytes: &[u8], now: Nanos) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let block = LegacyPcapBlock {
            ts_sec: u32::try_from(now.0 / 1_000_000_000).unwrap_or(u32::MAX),
            ts_usec: (now.0 % 1_000_000_000) as u32,
            caplen: length,
            origlen: length,
            data: bytes,
        };
        self.into.write_all(&vector(block)?)
    }
}

fn vector(block: impl ToVec) -> io::Result<Vec<u8>> {
    block.to_vec_raw().map_err(|error| io::Error::other(error.to_string()))
}
