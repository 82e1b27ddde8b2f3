//! Checksums that were left out, where nothing says so.
//!
//! On its way to an AF_XDP socket a frame loses what the sending host had said of it: that protocol::TCP's or protocol::UDP's checksum is
//! [partial](super::offload), as between hosts of one machine. But then its field holds the sum of the pseudo-header, and that
//! can be seen. To fill in a checksum that is there already, and has that value by chance, does not change it; one of 65,536
//! wrong ones has it as well, and becomes right.

use super::offload::Partial;
use crate::functions::{
    checksum::finish,
    frame::{Ip, read_u16},
    protocol,
    transport::pseudo_header,
};

/// The checksum of a frame that looks as if it were left out. Constant time.
///
/// Checksums within tunnels, and SCTP's, which has no pseudo-header, are not looked for.
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
    // What is in parts, or padded, comes from a host that has filled it in.
    if ip.end != frame.len() || start + offset + 2 > ip.end || ip.is_fragment(frame) {
        return None;
    }
    let is_partial = read_u16(frame, start + offset)? == !finish(pseudo_header(frame, &ip, protocol, ip.end - start));
    is_partial.then_some(Partial { start: start as u16, offset: offset as u16 })
}

#[cfg(test)]
mod tests;
