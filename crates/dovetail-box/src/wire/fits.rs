//! Frame lengths that an interface's MTU permits.
//!
//! There are two limits. Whether a packet fits a link depends on its IP length. A packet socket counts the frame, and is
//! stricter with tags: beyond the MTU it accepts the Ethernet header and one 802.1Q tag. With a provider's tag (0x88a8)
//! outside, or with two tags, full packets pass only if the interface's MTU is 4 bytes more than theirs.

use crate::functions::frame::{ETHERNET, Ip, behind_tags, read_u16};

use super::tag::TAG;

/// Bytes that count against an MTU: the IP packet's own length; for other frames, and for inconsistent packets, everything
/// after the Ethernet header and up to two tags. Constant time.
#[must_use]
pub fn packet_bytes(frame: &[u8]) -> usize {
    match Ip::find(frame) {
        Ok(ip) => ip.end - ip.at,
        Err(_) => frame.len().saturating_sub(behind_tags(frame).map_or(ETHERNET, |(at, _)| at)),
    }
}

/// Whether a frame's packet fits a link with this MTU, in bytes. Constant time.
#[must_use]
pub fn fits(frame: &[u8], mtu: u32) -> bool {
    packet_bytes(frame) <= mtu as usize
}

/// Whether a packet socket accepts the frame for an interface with this MTU, in bytes; otherwise it returns `EMSGSIZE`.
/// Constant time.
#[must_use]
pub fn socket_takes(frame: &[u8], mtu: u32) -> bool {
    let tag = if read_u16(frame, ETHERNET - 2) == Some(0x8100) { TAG } else { 0 };
    frame.len() <= mtu as usize + ETHERNET + tag
}

#[cfg(test)]
mod tests;
