//! Errors of ICMP that a router sends to the sender of a packet which goes no further.
//!
//! A bridge has no address of its own: the answer comes from the address that the packet was sent to, over the link that it
//! came from. It quotes the packet, so that its sender finds the socket. So the packet must be the one that was sent: as it
//! arrived, before a function has changed it, with its tag, and not one that is still to be split (see
//! [`received`](super::received)).
//!
//! Errors answer no errors, no groups and no hosts that are none (RFC 1812, 4.3.2.7; RFC 1122, 3.2.2; RFC 4443, 2.4 e):
//! otherwise one packet would become many, or go to a host that sent nothing.
//!
//! Both RFCs demand a limit on the rate of such answers (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f): a
//! [`TokenBucket`](super::token_bucket::TokenBucket) of the caller's, as there is no clock here.

use crate::functions::{
    checksum::{finish, sum},
    frame::{IPV4, IPV6, Ip, Version, write, write_length},
    protocol,
    transport::pseudo_header,
};

/// ICMP's header with the four bytes that the message says more in, of both versions (RFC 792; RFC 4443, 2.1).
const ICMP: usize = 8;
/// IANA's protocol numbers.
/// The longest answers that every host takes, from the IP header on (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;
/// What hosts begin with (RFC 1700, "IP time to live").
const HOP_LIMIT: u8 = 64;
/// ICMPv6's informational messages begin here (RFC 4443, 2.1).
const FIRST_INFORMATIONAL_V6: u8 = 128;
/// An ICMPv6 redirect, which is answered as little as an error (RFC 4443, 2.4 e.2).
const REDIRECT_V6: u8 = 137;

/// What a sender is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// Its packet does not fit the link behind: "fragmentation needed" (RFC 1191, 4), or "packet too big" (RFC 4443, 3.2).
    TooBig {
        /// What does fit, in bytes from the IP header on.
        mtu: u32,
    },
    /// Its packet has been through as many routers as it may: "time exceeded in transit" (RFC 1812, 5.3.1; RFC 4443, 3.3).
    HopLimit,
    /// There is no route to its packet's destination: "network unreachable" (RFC 1812, 5.2.7.1), or "no route to destination"
    /// (RFC 4443, 3.1).
    NoRoute,
}

impl Message {
    /// How many kinds there are.
    pub const KINDS: usize = 3;

    /// Which kind it is: less than [`KINDS`](Self::KINDS).
    #[must_use]
    pub const fn kind(self) -> usize {
        match self {
            Self::TooBig { .. } => 0,
            Self::HopLimit => 1,
            Self::NoRoute => 2,
        }
    }

    /// ICMP's header without its checksum.
    fn header(self, version: Version) -> [u8; ICMP] {
        // An MTU that does not fit ICMP's 16 bits is as good as the longest packet.
        let [high, low] = match self {
            Self::TooBig { mtu } => u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes(),
            Self::HopLimit | Self::NoRoute => [0; 2],
        };
        match (version, self) {
            (Version::V4, Self::TooBig { .. }) => [3, 4, 0, 0, 0, 0, high, low],
            (Version::V4, Self::HopLimit) => [11, 0, 0, 0, 0, 0, 0, 0],
            (Version::V4, Self::NoRoute) => [3, 0, 0, 0, 0, 0, 0, 0],
            (Version::V6, Self::TooBig { mtu }) => {
                let [a, b, c, d] = mtu.to_be_bytes();
                [2, 0, 0, 0, a, b, c, d]
            }
            (Version::V6, Self::HopLimit) => [3, 0, 0, 0, 0, 0, 0, 0],
            (Version::V6, Self::NoRoute) => [1, 0, 0, 0, 0, 0, 0, 0],
        }
    }
}

/// Why there is no answer. The packet is to be dropped and counted all the same, but for [`Silent::Fits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Silent {
    /// It is not too long; see [`too_big`](super::too_big).
    Fits,
    /// No IP packet, or one that contradicts itself.
    NoPacket,
    /// It is too long, and IPv4 that routers may fragment: its sender expects them to. It is not fragmented here.
    MayFragment,
    /// A fragment that does not hold the packet's beginning. The first one is as bad, and is answered.
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

/// Replaces what `into` holds by the frame that tells the sender of `frame` what became of it: to the address of the link that
/// it came from, with its VLAN tags. Quotes as much of the packet as fits the 576 or 1,280 bytes that answers may have. Copies
/// and sums that.
///
/// # Errors
/// No answer may be sent, and why; then `into` is as it was.
pub fn answer(frame: &[u8], message: Message, into: &mut Vec<u8>) -> Result<(), Silent> {
    let ip = Ip::find(frame).map_err(|_| Silent::NoPacket)?;
    may_answer(frame, &ip)?;
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
            into.extend_from_slice(&[0x45, 0xc0, 0, 0, 0, 0, 0x40, 0, HOP_LIMIT, protocol::ICMP, 0, 0]);
            into.extend_from_slice(&(destination as u32).to_be_bytes());
            into.extend_from_slice(&(source as u32).to_be_bytes());
            (protocol::ICMP, IPV4, LONGEST_V4)
        }
        Version::V6 => {
            into.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, protocol::ICMPV6, HOP_LIMIT]);
            into.extend_from_slice(&destination.to_be_bytes());
            into.extend_from_slice(&source.to_be_bytes());
            (protocol::ICMPV6, IPV6, LONGEST_V6)
        }
    };
    into.extend_from_slice(&message.header(ip.version));
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
fn may_answer(frame: &[u8], ip: &Ip) -> Result<(), Silent> {
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
            check_addresses(source, destination, |address| match address >> 24 {
                0 | 127 => Scope::Nowhere,
                224.. => Scope::Group,
                _ => Scope::Host,
            })?;
            // Queries and their answers are known; the others are errors, or nothing that a host would send.
            protocol != protocol::ICMP || matches!(of_message, Some(0 | 8..=10 | 13..=18))
        }
        Version::V6 => {
            check_addresses(source, destination, |address| match (address >> 120, address) {
                (0xff, _) => Scope::Group,
                (_, 0 | 1) => Scope::Nowhere,
                _ => Scope::Host,
            })?;
            match protocol {
                protocol::ICMPV6 => {
                    matches!(of_message, Some(FIRST_INFORMATIONAL_V6..)) && of_message != Some(REDIRECT_V6)
                }
                other => !protocol::is_extension(other),
            }
        }
    };
    if transport.is_none() {
        return Err(Silent::LaterFragment);
    }
    if is_answerable { Ok(()) } else { Err(Silent::Error) }
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
