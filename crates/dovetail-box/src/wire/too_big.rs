//! Tells a sender that its packet does not fit the link behind the middlebox.
//!
//! ICMP "fragmentation needed" (RFC 1191) and ICMPv6 "packet too big" (RFC 4443, 3.2), with the MTU that does fit. Without
//! them a sender repeats a packet that never arrives. A bridge has no address of its own: the answer comes from the address
//! that the packet was sent to, over the link that it came from.
//!
//! The packet that is quoted must be the one that the sender sent. So ask when it arrives, before a function has changed it,
//! with the egress MTU less what functions add. The frame is one as it was on the wire: with its tag, and not one that is
//! still to be split (see [`received`](super::received)).
//!
//! Both RFCs demand a limit on the rate of such answers (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f). That is the caller's: there is
//! no clock here.

use crate::functions::frame::{IPV4, IPV6, Ip, Version, finish, is_extension, read_u16, sum, write, write_length};

use super::checksum::pseudo_header;

/// ICMP's header with the MTU, of both versions.
const ICMP: usize = 8;
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;
/// The longest answers that every host takes, from the IP header on (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;
/// Less than this no sender may be told to send (RFC 791, RFC 8200).
const LEAST_V4: u32 = 68;
const LEAST_V6: u32 = 1280;
const HOP_LIMIT: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const REDIRECT_V6: u8 = 137;

/// Why there is no answer. The packet is to be dropped and counted all the same, but for [`Silent::Fits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Silent {
    /// It fits.
    Fits,
    /// No IP packet, or one that contradicts itself.
    NoPacket,
    /// IPv4 that routers may fragment: its sender expects them to. It is not fragmented here.
    MayFragment,
    /// A fragment that does not hold the packet's beginning. The first one is as long, and is answered.
    LaterFragment,
    /// An error message, a redirect, or a packet whose headers end beyond what is read: errors answer no errors.
    Error,
    /// To a group of hosts, by its link or its IP address.
    Group,
    /// From or to an address that is no single host's.
    Address,
    /// The MTU is less than IP allows senders to be told: 68 bytes, or 1,280 for IPv6.
    Narrow,
}

/// Replaces what `into` holds by the frame that tells the sender of `frame` that its packet does not fit `mtu` bytes: to the
/// address of the link that it came from, with its VLAN tags. Quotes as much of the packet as fits the 576 or 1,280 bytes that
/// answers may have. Copies and sums that.
///
/// # Errors
/// No answer may be sent, and why; then `into` is as it was.
pub fn answer(frame: &[u8], mtu: u32, into: &mut Vec<u8>) -> Result<(), Silent> {
    let ip = Ip::find(frame).map_err(|_| Silent::NoPacket)?;
    if ip.end - ip.at <= mtu as usize {
        return Err(Silent::Fits);
    }
    may_answer(frame, &ip, mtu)?;
    let (Some(to), Some(from), Some(kind)) = (frame.get(..6), frame.get(6..12), frame.get(12..ip.at)) else {
        return Err(Silent::NoPacket);
    };
    into.clear();
    into.extend_from_slice(from);
    into.extend_from_slice(to);
    into.extend_from_slice(kind);
    let (source, destination) = ip.addresses(frame);
    let (protocol, header, longest) = match ip.version {
        Version::V4 => {
            // Of the class that routers speak in (RFC 1812, 4.3.2.5); not to be fragmented, so that it needs no number.
            into.extend_from_slice(&[0x45, 0xc0, 0, 0, 0, 0, 0x40, 0, HOP_LIMIT, PROTOCOL_ICMP, 0, 0]);
            into.extend_from_slice(&(destination as u32).to_be_bytes());
            into.extend_from_slice(&(source as u32).to_be_bytes());
            let [high, low] = u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes();
            into.extend_from_slice(&[3, 4, 0, 0, 0, 0, high, low]);
            (PROTOCOL_ICMP, IPV4, LONGEST_V4)
        }
        Version::V6 => {
            into.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, PROTOCOL_ICMPV6, HOP_LIMIT]);
            into.extend_from_slice(&destination.to_be_bytes());
            into.extend_from_slice(&source.to_be_bytes());
            into.extend_from_slice(&[2, 0, 0, 0]);
            into.extend_from_slice(&mtu.to_be_bytes());
            (PROTOCOL_ICMPV6, IPV6, LONGEST_V6)
        }
    };
    let end = ip.end.min(ip.at + longest - header - ICMP);
    into.extend_from_slice(frame.get(ip.at..end).unwrap_or_default());
    let answer = Ip { body: ip.at + header, end: into.len(), ..ip };
    write_length(into, &answer);
    let pseudo = match ip.version {
        Version::V4 => 0,
        Version::V6 => pseudo_header(into, &answer, protocol, answer.end - answer.body),
    };
    let checksum = finish(sum(into.get(answer.body..).unwrap_or_default(), pseudo));
    write(into, answer.body + 2, &checksum.to_be_bytes());
    Ok(())
}

/// Whether an error may be answered to this packet (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e).
fn may_answer(frame: &[u8], ip: &Ip, mtu: u32) -> Result<(), Silent> {
    let is_group = |at: usize| frame.get(at).is_none_or(|first| first & 1 == 1);
    if is_group(0) {
        return Err(Silent::Group);
    }
    if is_group(6) {
        return Err(Silent::Address);
    }
    let (protocol, transport) = ip.transport(frame);
    let (source, destination) = ip.addresses(frame);
    let of_message = transport.filter(|&at| at < ip.end).and_then(|at| frame.get(at).copied());
    let is_answerable = match ip.version {
        Version::V4 => {
            if finish(sum(frame.get(ip.at..ip.body).unwrap_or_default(), 0)) != 0 {
                return Err(Silent::NoPacket);
            }
            if read_u16(frame, ip.at + 6).is_none_or(|flags| flags & DO_NOT_FRAGMENT == 0) {
                return Err(Silent::MayFragment);
            }
            check_addresses(source, destination, |address| match address >> 24 {
                0 | 127 => Scope::Nowhere,
                224.. => Scope::Group,
                _ => Scope::Host,
            })?;
            // Queries and their answers are known; the others are errors, or nothing that a host would send.
            protocol != PROTOCOL_ICMP || matches!(of_message, Some(0 | 8..=10 | 13..=18))
        }
        Version::V6 => {
            check_addresses(source, destination, |address| match (address >> 120, address) {
                (0xff, _) => Scope::Group,
                (_, 0 | 1) => Scope::Nowhere,
                _ => Scope::Host,
            })?;
            match protocol {
                PROTOCOL_ICMPV6 => matches!(of_message, Some(128..)) && of_message != Some(REDIRECT_V6),
                other => !is_extension(other),
            }
        }
    };
    if transport.is_none() {
        return Err(Silent::LaterFragment);
    }
    if !is_answerable {
        return Err(Silent::Error);
    }
    let least = if ip.version == Version::V4 { LEAST_V4 } else { LEAST_V6 };
    if mtu < least { Err(Silent::Narrow) } else { Ok(()) }
}

enum Scope {
    Host,
    Group,
    Nowhere,
}

fn check_addresses(source: u128, destination: u128, scope: impl Fn(u128) -> Scope) -> Result<(), Silent> {
    match (scope(source), scope(destination)) {
        (Scope::Host, Scope::Host) => Ok(()),
        (_, Scope::Group) => Err(Silent::Group),
        _ => Err(Silent::Address),
    }
}

#[cfg(test)]
mod tests;
