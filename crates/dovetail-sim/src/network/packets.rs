//! Packets in flight.

use dovetail_sched::flow::FiveTuple;
use dovetail_tcp::{Ecn, Segment};
use slab::Slab;

use super::quic;

/// A packet in flight; `P` is what packets of users' access belong to.
#[derive(Debug)]
pub(super) struct Datagram<P> {
    /// Its contents.
    pub(super) body: Body,
    /// Length, including the IP header.
    pub(super) bytes: u32,
    /// Addresses and ports of its header.
    pub(super) tuple: FiveTuple,
    /// Index of its destination node.
    pub(super) to: usize,
    /// The connection's end that receives it there; `None` if it belongs to no connection.
    pub(super) taker: Option<EndId>,
    /// Index of its traffic, or the number of the gateway's probes.
    pub(super) traffic: usize,
    /// What it belongs to.
    pub(super) of: Of<P>,
    /// Its number among the packets that arrived at the watched link.
    pub(super) number: u64,
}

/// Contents of a packet. Payloads have a length but no contents, except those of QUIC, which exist until the packet is
/// delivered or dropped.
#[derive(Debug)]
pub(super) enum Body {
    Tcp(Segment),
    Quic(quic::Payload),
    Udp,
}

impl Body {
    /// Sets a congestion mark, if its ends support ECN (RFC 3168, section 5); returns whether this set it.
    pub(super) fn mark(&mut self) -> bool {
        match self {
            Self::Tcp(segment) if segment.ecn == Ecn::Capable => {
                segment.ecn = Ecn::Marked;
                true
            }
            _ => false,
        }
    }
}

/// Identifies a connection's end even after it is gone and another connection is in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndId {
    pub(super) place: usize,
    pub(super) made: u64,
    pub(super) side: Side,
}

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Opener,
    Listener,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Listener,
            Self::Listener => Self::Opener,
        }
    }
}

/// What a packet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of<P> {
    /// A transfer, by number.
    Transfer(usize),
    /// A stream, by number.
    Stream(usize),
    /// Users' access.
    Access(P),
}

impl<P: Copy> Of<P> {
    /// The part of users' access that it belongs to.
    pub(super) fn access(&self) -> Option<P> {
        match self {
            Self::Access(part) => Some(*part),
            Self::Transfer(_) | Self::Stream(_) => None,
        }
    }

    /// The number of the transfer that it belongs to.
    pub(super) fn transfer(&self) -> Option<usize> {
        match self {
            Self::Transfer(number) => Some(*number),
            Self::Stream(_) | Self::Access(_) => None,
        }
    }
}

/// All packets in flight; a packet is identified by its index.
pub(super) type Packets<P> = Slab<Datagram<P>>;
