//! Detects missing checksums without an offload header.
//!
//! On its way to an AF_XDP socket a frame loses the sending host's note that the checksum of TCP or UDP is
//! [partial](super::offload), as between hosts of one machine. But its field then holds the sum of the pseudo-header, which
//! can be recognised. Filling in a correct checksum that has that value by chance does not change it; one of 65,536 wrong
//! ones has it as well, and becomes correct.

use super::offload::Partial;
use crate::functions::{
    checksum::finish,
    frame::{Ip, read_u16},
    protocol,
    transport::pseudo_header,
};

/// The checksum of a frame that looks as if it were left out. Constant time.
///
/// Checksums within tunnels, and SCTP's, which has no pseudo-header, are not detected.
#[must_use]
pub fn left_out(frame: &[u8]) -> Option<Partial> {
    let ip = Ip::find(frame).ok()?;
    let (protocol, start) = ip.transport(frame);
    let start = start?;
    let offset = match protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        _ => return None,
    };
    // A fragmented or padded packet comes from a host that has filled in the checksum.
    if ip.end != frame.len() || start + offset + 2 > ip.end || ip.is_fragment(frame) {
        return None;
    }
    let is_partial = read_u16(frame, start + offset)? == !finish(pseudo_header(frame, &ip, protocol, ip.end - start));
    is_partial.then_some(Partial { start: start as u16, offset: offset as u16 })
}

#[cfg(test)]
mod tests;
