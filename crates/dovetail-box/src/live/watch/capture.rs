//! Captures sent frames in a file for Wireshark.
//!
//! ```text
//! file     magic of nanoseconds, version 2.4, zone, accuracy, most bytes of a packet, Ethernet
//! packet   seconds, nanoseconds, bytes here, bytes on the wire | frame
//! ```
//! (draft-ietf-opsawg-pcap, sections 4 and 5)

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use dovetail_sched::Nanos;

use super::{Arrived, Watch, create::create};
use crate::{live::clock, node::Passage};

const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: u32 = 4 << 16 | 2;
const MAX_BYTES: u32 = 1 << 18;
const ETHERNET: u32 = 1;

/// A capture of the packets sent, each timestamped with the start of its transmission on the link.
pub struct Capture {
    file: BufWriter<File>,
    /// Wall-clock time at zero of the box's clock.
    epoch: Nanos,
    is_broken: bool,
}

impl Capture {
    /// Creates a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(create(path)?);
        write_words(&mut file, [MAGIC, VERSION, 0, 0, MAX_BYTES, ETHERNET])?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = Nanos((now.as_nanos() as u64).saturating_sub(clock::now().0));
        Ok(Self { file, epoch, is_broken: false })
    }
}

fn write_words<const N: usize>(into: &mut impl Write, words: [u32; N]) -> io::Result<()> {
    words.iter().try_for_each(|word| into.write_all(&word.to_ne_bytes()))
}

impl Watch for Capture {
    fn arrived(&mut self, _: &Arrived<'_>) {}

    fn left(&mut self, _: u64, passage: &Passage, frame: &[u8]) {
        if self.is_broken {
            return;
        }
        let at = (self.epoch + passage.link_start).0;
        let (seconds, nanos) = ((at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32);
        let bytes = frame.len() as u32;
        let head = write_words(&mut self.file, [seconds, nanos, bytes, bytes]);
        if let Err(wrong) = head.and_then(|()| self.file.write_all(frame)) {
            tracing::warn!("capture: {wrong}: no more is written");
            self.is_broken = true;
        }
    }

    fn dropped(&mut self, _: u64) {}
}

impl Drop for Capture {
    fn drop(&mut self) {
        if let Err(wrong) = self.file.flush() {
            tracing::warn!("capture: {wrong}");
        }
    }
}
