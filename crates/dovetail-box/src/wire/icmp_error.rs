//! ICMP errors that a router sends to the sender of a dropped packet.
//!
//! A bridge has no address of its own: the error is sent from the packet's destination address, over the link that the
//! packet came from. It quotes the packet, so that its sender finds the socket. So the packet must be the one that was
//! sent: as it arrived, with its tag, before a function has changed it, and not one that is still to be split (see
//! [`received`](super::received)).
//!
//! No errors are sent in response to errors, to groups, or to addresses that are no host's (RFC 1812, 4.3.2.7; RFC 1122,
//! 3.2.2; RFC 4443, 2.4 e): otherwise one packet would become many, or reach a host that sent nothing.
//!
//! Both RFCs demand a rate limit for such errors (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f): the caller applies a
//! [`TokenBucket`](super::token_bucket::TokenBucket), as there is no clock here.

use crate::functions::{
    checksum::{finish, sum},
    frame::{IPV4, IPV6, Ip, Version, write, write_length},
    protocol,
    transport::pseudo_header,
};

/// Length of the ICMP header with the four message-specific bytes, in both versions (RFC 792; RFC 4443, 2.1).
const ICMP: usize = 8;
/// Maximum lengths that every host accepts, from the IP header on (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c).
const MAX_V4_BYTES: usize = 576;
const MAX_V6_BYTES: usize = 1280;
/// The default of hosts (RFC 1700, "IP time to live").
const HOP_LIMIT: u8 = 64;
/// ICMPv6's informational messages begin here (RFC 4443, 2.1).
const FIRST_INFORMATIONAL_V6: u8 = 128;
/// An ICMPv6 redirect, which like an error must not be answered (RFC 4443, 2.4 e.2).
const REDIRECT_V6: u8 = 137;

/// The message to a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// The packet does not fit the outgoing link: "fragmentation needed" (RFC 1191, 4), or "packet too big" (RFC 4443, 3.2).
    TooBig {
        /// The size that does fit, in bytes from the IP header on.
        mtu: u32,
    },
    /// The packet's hop limit is exhausted: "time exceeded in transit" (RFC 1812, 5.3.1; RFC 4443, 3.3).
    HopLimit,
    /// There is no route to the packet's destination: "network unreachable" (RFC 1812, 5.2.7.1), or "no route to
    /// destination" (RFC 4443, 3.1).
    NoRoute,
}

impl Message {
    /// Number of kinds.
    pub const KINDS: usize = 3;

    /// Index of the kind: less than [`KINDS`](Self::KINDS).
    #[must_use]
    pub const fn kind(self) -> usize {
        match self {
            Self::TooBig { .. } => 0,
            Self::HopLimit => 1,
            Self::NoRoute => 2,
        }
    }

    /// The ICMP header without its checksum.
    fn header(self, version: Version) -> [u8; ICMP] {
        // An MTU beyond ICMP's 16 bits is equivalent to the maximum packet length.
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

/// Why no error is sent. The packet is to be dropped and counted all the same, except for [`Silent::Fits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Silent {
    /// The packet is not too long; see [`too_big`](super::too_big).
    Fits,
    /// No IP packet, or an inconsistent one.
    NoPacket,
    /// It is too long, but an IPv4 packet that may be fragmented: its sender expects routers to do that. It is not
    /// fragmented here.
    MayFragment,
    /// A fragment other than the first. The first one is lost as well, and is answered.
    LaterFragment,
    /// An error message, a redirect, or a packet whose headers extend beyond what is read: errors are not answered.
    Error,
    /// The packet is addressed to a group, by its Ethernet or its IP address.
    Group,
    /// The source or destination is not a single host's address.
    Address,
    /// The MTU is less than the minimum that may be reported: 68 bytes, or 1,280 for IPv6.
    Narrow,
}

/// Replaces the contents of `into` by the error to the sender of `frame`, addressed to the Ethernet address that it came
/// from, with its VLAN tags. Quotes as much of the packet as fits the 576 or 1,280 bytes that errors may have. Copies and
/// sums that much.
///
/// # Errors
/// Why no error may be sent; `into` is then unchanged.
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
            // With the precedence of routers (RFC 1812, 4.3.2.5); not to be fragmented, so that it needs no identification.
            into.extend_from_slice(&[0x45, 0xc0, 0, 0, 0, 0, 0x40, 0, HOP_LIMIT, protocol::ICMP, 0, 0]);
            into.extend_from_slice(&(destination as u32).to_be_bytes());
            into.extend_from_slice(&(source as u32).to_be_bytes());
            (protocol::ICMP, IPV4, MAX_V4_BYTES)
        }
        Version::V6 => {
            into.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, protocol::ICMPV6, HOP_LIMIT]);
            into.extend_from_slice(&destination.to_be_bytes());
            into.extend_from_slice(&source.to_be_bytes());
            (protocol::ICMPV6, IPV6, MAX_V6_BYTES)
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

/// Whether this packet may be answered by an error (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e).
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
            // Queries and replies are known; all others are errors, or nothing that a host would send.
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
