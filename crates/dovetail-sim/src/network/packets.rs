//! Packets in flight.

use dovetail_sched::flow::FiveTuple;
use dovetail_tcp::{Ecn, Segment};
use slab::Slab;

use super::quic;

/// A packet in flight; `P` is what the model of users' access sends.
#[derive(Debug)]
pub(super) struct Datagram<P> {
    /// What is in it.
    pub(super) body: Body,
    /// Its length, from IP's header on.
    pub(super) bytes: u32,
    /// What its header says.
    pub(super) tuple: FiveTuple,
    /// The node that it is for, as an index.
    pub(super) to: usize,
    /// The connection's end that takes it there; `None`: it is of no connection.
    pub(super) taker: Option<EndId>,
    /// The traffic that it is of, as an index.
    pub(super) traffic: usize,
    /// Whose it is.
    pub(super) of: Of<P>,
    /// Its number among the packets that arrived at the watched link.
    pub(super) number: u64,
}

/// What is in a packet. Payloads have a length and no contents, but for QUIC's, which are there until the packet is
/// delivered or dropped.
#[derive(Debug)]
pub(super) enum Body {
    Tcp(Segment),
    Quic(quic::Payload),
    Udp,
}

impl Body {
    /// Marks it as one that met congestion, if its ends understand that (RFC 3168, section 5); whether this marked it.
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

/// Names a connection's end also after it is gone and another connection is in its place.
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

/// What a packet is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of<P> {
    /// By its number.
    Transfer(usize),
    /// By its number.
    Stream(usize),
    /// Something of users' access.
    Access(P),
}

impl<P> Of<P> {
    /// The number of the transfer that it is part of.
    pub(super) fn transfer(&self) -> Option<usize> {
        match self {
            Self::Transfer(number) => Some(*number),
            Self::Stream(_) | Self::Access(_) => None,
        }
    }
}

/// All packets in flight; a packet's name is its place.
pub(super) type Packets<P> = Slab<Datagram<P>>;
