//! Tells a sender that its packet does not fit the link behind the middlebox.
//!
//! ICMP "fragmentation needed" (RFC 1191) and ICMPv6 "packet too big" (RFC 4443, 3.2), with the MTU that does fit. Without
//! them a sender repeats a packet that never arrives. For the contents, and for packets that are not answered, see
//! [`icmp_error`].

use crate::functions::frame::{Ip, Version, read_u16};

use super::icmp_error::{self, Message, Silent};

/// Minimum MTU that may be reported (RFC 791, RFC 8200).
const MIN_MTU_V4: u32 = 68;
const MIN_MTU_V6: u32 = 1280;
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// Replaces the contents of `into` by the error to the sender of `frame` that its packet does not fit `mtu` bytes: the
/// egress MTU less the growth by functions, if the packet is the one that arrived.
///
/// # Errors
/// Why no error may be sent; `into` is then unchanged.
pub fn answer(frame: &[u8], mtu: u32, into: &mut Vec<u8>) -> Result<(), Silent> {
    let ip = Ip::find(frame).map_err(|_| Silent::NoPacket)?;
    if ip.end - ip.at <= mtu as usize {
        return Err(Silent::Fits);
    }
    let may_fragment = read_u16(frame, ip.at + 6).is_none_or(|flags| flags & DO_NOT_FRAGMENT == 0);
    let least = match ip.version {
        Version::V4 if may_fragment => return Err(Silent::MayFragment),
        Version::V4 => MIN_MTU_V4,
        Version::V6 => MIN_MTU_V6,
    };
    if mtu < least {
        return Err(Silent::Narrow);
    }
    icmp_error::answer(frame, Message::TooBig { mtu }, into)
}

#[cfg(test)]
mod tests;
