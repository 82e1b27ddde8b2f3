//! Fills in checksums that the sender left to its interface.
//!
//! Functions process whole packets, and a tunnel's other end does not see the offload header, so checksums are filled in
//! before anything else.

use super::{Refused, offload::Partial};
use crate::functions::{
    checksum::{finish_udp, sum},
    frame::{Ip, write},
};

/// For SCTP the kernel says "partial" as well, but means a CRC32c at an offset that only SCTP uses.
const SCTP: u8 = 132;
pub(crate) const SCTP_OFFSET: u16 = 8;
/// Its length in bytes.
const CRC: usize = 4;

/// Fills in a checksum whose field holds the pseudo-header's sum. Linear in the bytes summed.
///
/// Like the kernel, sums to the end of the frame, and writes 0xffff for zero, whatever the protocol. If the missing
/// checksum is SCTP's CRC32c, that is filled in.
///
/// # Errors
/// The checksum lies outside of the frame, which is unchanged.
pub fn complete(frame: &mut [u8], partial: Partial) -> Result<(), Refused> {
    match missing(frame, partial)? {
        Missing::Sum => {
            let checksum = finish_udp(sum(frame.get(partial.start.into()..).unwrap_or_default(), 0));
            write(frame, partial.at(), &checksum.to_be_bytes());
        }
        Missing::Crc { end } => {
            write(frame, partial.at(), &[0; CRC]);
            // Unlike a sum, a CRC depends on trailing zeros: link padding is not part of it.
            let crc = crc32c(frame.get(partial.start.into()..end).unwrap_or_default());
            write(frame, partial.at(), &crc.to_le_bytes());
        }
    }
    Ok(())
}

/// What kind of checksum is missing.
pub(super) enum Missing {
    Sum,
    /// SCTP's, of a packet that ends there.
    Crc {
        end: usize,
    },
}

/// The checksum that is missing. Constant time.
///
/// # Errors
/// It lies outside of the frame, or of the SCTP packet.
pub(super) fn missing(frame: &[u8], partial: Partial) -> Result<Missing, Refused> {
    if !partial.lies_within(frame.len()) {
        return Err(Refused::Checksum);
    }
    if partial.offset != SCTP_OFFSET {
        return Ok(Missing::Sum);
    }
    match end_of_sctp(frame, partial.start.into()) {
        None => Ok(Missing::Sum),
        Some(end) if partial.at() + CRC <= end => Ok(Missing::Crc { end }),
        Some(_) => Err(Refused::Checksum),
    }
}

/// The end of the packet if SCTP begins at `start`.
fn end_of_sctp(frame: &[u8], start: usize) -> Option<usize> {
    let ip = Ip::find(frame).ok()?;
    (ip.transport(frame) == (SCTP, Some(start))).then_some(ip.end)
}

/// CRC32c (RFC 3720, appendix B.4), one byte per step: it is missing only between SCTP hosts of one machine.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| (crc >> 8) ^ CRC32C[usize::from(crc as u8 ^ byte)])
}

const CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests;
