//! What the gateway foresees, and what its packets are part of.

use crate::network::net::Net;

/// What an event means to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum Told {
    /// A user wants something.
    User(usize),
    /// A user waits no longer.
    Cancels(usize),
    /// A scheduler wanted to be asked.
    Poll,
    /// Time for a probe.
    Probe,
    /// Time to note the scheduler's figures.
    Note,
    /// Time to look how much was sent up.
    Look,
    /// Idle connections of a user may be overdue.
    UserIdle(usize),
    /// Idle connections to a server may be overdue; the server's node, as an index.
    ServerIdle(usize),
}

/// What a packet is part of; exchanges by their place in the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum Part {
    /// A request or its response between gateway and server.
    Exchange,
    /// A request or its response between user and gateway, where they speak TCP.
    OverTcp,
    /// A request between user and gateway, where they do not.
    Asks(usize),
    /// So much of a response between gateway and user, likewise.
    Answers { exchange: usize, payload: u32 },
    /// A probe of the far queue, by its number.
    Probe(u64),
}

/// The network that the gateway acts on.
pub(super) type GatewayNet<'a> = Net<'a, Told, Part>;
