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

/// Fills in a checksum whose field holds the pseudo-header's sum. Linear in the bytes summed.
///
/// Like the kernel, sums to the end of the frame, and writes 0xffff for zero, whatever the protocol. If the missing
/// checksum is SCTP's CRC32c, that is filled in.
///
/// # Errors
/// The checksum lies outside of the frame, which is unchanged.
pub fn complete(frame: &mut [u8], partial: Partial) -> Result<(), Refused> {
    if !partial.lies_within(frame.len()) {
        return Err(Refused::Checksum);
    }
    let start = usize::from(partial.start);
    if let (SCTP_OFFSET, Some(end)) = (partial.offset, end_of_sctp(frame, start)) {
        return complete_sctp(frame, start, end);
    }
    let checksum = finish_udp(sum(frame.get(start..).unwrap_or_default(), 0));
    write(frame, partial.at(), &checksum.to_be_bytes());
    Ok(())
}

/// The end of the packet if SCTP begins at `start`.
fn end_of_sctp(frame: &[u8], start: usize) -> Option<usize> {
    let ip = Ip::find(frame).ok()?;
    (ip.transport(frame) == (SCTP, Some(start))).then_some(ip.end)
}

fn complete_sctp(frame: &mut [u8], start: usize, end: usize) -> Result<(), Refused> {
    let at = start + usize::from(SCTP_OFFSET);
    // Unlike a sum, a CRC depends on trailing zeros: link padding is not part of it.
    let packet = frame.get_mut(start..end).unwrap_or_default();
    let field = packet.get_mut(at - start..).and_then(|field| field.first_chunk_mut::<4>());
    *field.ok_or(Refused::Checksum)? = [0; 4];
    let crc = crc32c(packet);
    write(frame, at, &crc.to_le_bytes());
    Ok(())
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
