//! Packets under way.

use dovetail_sched::flow::FiveTuple;
use slab::Slab;

/// A packet under way.
#[derive(Debug)]
pub(super) struct Datagram {
    /// As on the wire, from IP's header on.
    pub(super) bytes: Vec<u8>,
    /// What it says of itself.
    pub(super) tuple: FiveTuple,
    /// The node that it is for, as an index.
    pub(super) to: usize,
    /// The connection's end that takes it there; `None`: it is only counted.
    pub(super) taker: Option<EndId>,
    /// The traffic that it is of, as an index.
    pub(super) traffic: usize,
    /// Whose it is.
    pub(super) of: Of,
    /// Its number among the packets that arrived at the watched link.
    pub(super) number: u64,
}

/// Names a connection's end also after it is gone and another connection is in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EndId {
    pub(super) place: usize,
    pub(super) made: u64,
    pub(super) side: Side,
}

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// What a packet is part of, as an index into the outcome's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Transfer(usize),
    Stream(usize),
    /// A request or its response between gateway and server.
    Exchange(usize),
    /// A request between user and gateway.
    Asks(usize),
    /// So much of a response between gateway and user.
    Answers {
        exchange: usize,
        payload: u32,
    },
    /// A probe of the far queue, by its number.
    Probe(u64),
}

/// All packets under way; a packet's name is its place.
pub(super) type Packets = Slab<Datagram>;
