//! The gateway's events, and what its packets belong to.

use crate::network::net::Net;

/// An event of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum Told {
    /// A user may want something.
    User(usize),
    /// A user no longer waits for an exchange.
    Cancels(usize),
    /// A scheduler is to be polled.
    Poll,
    /// Time for a probe.
    Probe,
    /// Time to record the scheduler's figures.
    Note,
    /// Time to check how much was sent up.
    Look,
    /// Time to learn what the uplink carries.
    Learn,
    /// Idle connections of a user may be overdue.
    UserIdle(usize),
    /// Idle connections to a server may be overdue; the server's node, as an index.
    ServerIdle(usize),
}

/// What a packet belongs to; exchanges are given by their index in the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum Part {
    /// A request or its response between gateway and server.
    Exchange,
    /// A request or its response between user and gateway, if they speak TCP.
    OverTcp,
    /// A request between user and gateway, if they do not.
    Asks(usize),
    /// Part of a response between gateway and user, likewise.
    Answers { exchange: usize, payload: u32 },
    /// A probe of the far queue, by its number.
    Probe(u64),
}

/// The network that the gateway acts on.
pub(super) type GatewayNet<'a> = Net<'a, Told, Part>;
