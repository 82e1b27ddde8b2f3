//! What requests of users behind a gateway waited for.
//!
//! A request goes from its user to the gateway, is queued there until it is released, and goes on to its server. The response
//! comes over the watched link, on a connection that carries one request at a time. A request's *packets* are those that
//! reach the watched link on its connection between its release and the last byte that the gateway reads: the response to the
//! handshake, acknowledgements, and the response itself. From the time `a` at which the user wants the response until they
//! have its last byte at `e`, the request is at every instant in the first of these states that applies:
//!
//! | state | the request's time goes to |
//! |---|---|
//! | one of its packets is on the watched link | own |
//! | one of its packets waits before that link | the user whose packet is on it, or *held* if none is |
//! | it is queued at the gateway, or part of its response could be read but may not be | the user whose packet is on the link, or *pace* if none is |
//! | users speak TCP with the gateway, and it has not arrived there, or the gateway has read its whole response or has no room for more | *user side* |
//! | one of its packets was dropped at the link, and its data has neither arrived there again nor been read | *recovering* |
//! | it is released, and nothing of the response has reached the link | *server*: the way up, the connection, the server |
//! | otherwise | *on its way*: between user and gateway, in flight, before other links |
//!
//! which divides `e - a` without remainder. The time of a packet on the link is charged to *same flow* if it belongs to
//! another request of the same user, otherwise to its user's column. A connection's packets belong to the user whose request
//! it carries or carried last. Probes have a column, and so has all traffic that does not belong to users.
//!
//! Limits of this attribution:
//!
//! - A scheduler does not tell why a request is queued at the gateway: because others are served first, or because of a rate
//!   limit. While the link carries another user's packet, the time goes to that user, even if the request would have waited
//!   without them; *pace* is the part during which the link carried no packet at all.
//! - Time at the server, on the way to it, and for a request or handshake lost on the way is all *server*.
//! - Time spent waiting for another link, such as the shaper of `ingress`, is *on its way*.
//!
//! | file | what |
//! |---|---|
//! | `link` | the watched link, over time |
//! | `connection` | a connection's packets at the link |
//! | `open` | a request that has not ended, and its state |
//!
//! Cost: O(columns) for each change of a request's state, otherwise O(log requests) per packet; 8 bytes per column for each
//! request that has not ended, and about 100 bytes for each connection opened until the observation ends.

mod connection;
mod link;
mod open;

use std::collections::BTreeMap;

use dovetail_sched::Nanos;

use self::{
    connection::Connection,
    link::Link,
    open::{Open, Stage},
};
use super::{
    columns::{FLOW_COLUMNS, ON_ITS_WAY, USER_SIDE},
    explanation::Explanation,
    ledger::{Done, Ledger},
    parts::Selection,
    segment::Segment,
};

/// Label and class of probes of the far queue.
const PROBES: &str = "probes";

/// Divides the time of users' requests among what they waited for. In the resulting [`Explanation`], a request takes the role
/// of a packet, numbered by its index in [`AccessOutcome::exchanges`](crate::network::AccessOutcome::exchanges), and its user
/// that of a flow; a cancelled request counts as dropped.
#[derive(Debug)]
pub struct RequestBlame {
    // Flows are users, then other traffic, then probes.
    ledger: Ledger,
    probes: usize,
    // The column of time between users and the gateway.
    among_users: usize,
    // By index of traffic that does not belong to users.
    flow_of: BTreeMap<usize, usize>,
    link: Link,
    connections: BTreeMap<u64, Connection>,
    open: BTreeMap<usize, Open>,
}

/// Owner of a packet at the watched link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A connection from the gateway to a server, by its number.
    Connection(u64, Option<Segment>),
    /// Traffic that does not belong to users, by its index.
    Traffic(usize),
    /// A probe.
    Probe,
}

/// Why the gateway does not read more of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The scheduler does not permit it.
    Withheld,
    /// There is no room for it.
    Full,
}

impl RequestBlame {
    /// Keeps the `slowest` requests of the selection: of all, of a user (a flow) or a class, or the one with this number.
    #[must_use]
    pub fn new(selection: Selection, slowest: usize) -> Self {
        Self {
            ledger: Ledger::new(FLOW_COLUMNS, selection, slowest),
            probes: 0,
            among_users: ON_ITS_WAY,
            flow_of: BTreeMap::new(),
            link: Link::default(),
            connections: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Sets the users of the network, by name and class, whether they speak TCP with the gateway, and other traffic, by index
    /// and name.
    pub(crate) fn knows<'n>(
        &mut self,
        users: impl Iterator<Item = (&'n str, &'n str)>,
        over_tcp: bool,
        traffic: impl Iterator<Item = (usize, &'n str)>,
    ) {
        self.among_users = if over_tcp { USER_SIDE } else { ON_ITS_WAY };
        for (label, class) in users {
            self.ledger.appears(label, class);
        }
        for (at, name) in traffic {
            self.flow_of.insert(at, self.ledger.appears(name, name));
        }
        self.probes = self.ledger.appears(PROBES, PROBES);
        self.link = Link::new(self.ledger.columns(), self.ledger.flows());
    }

    /// A user wants a response.
    pub(crate) fn wanted(&mut self, request: usize, user: usize, now: Nanos) {
        self.open.insert(request, Open::new(user, self.ledger.columns(), self.among_users, now));
    }

    /// A request has arrived at the gateway.
    pub(crate) fn arrived(&mut self, request: usize, now: Nanos) {
        self.reaches(request, Stage::Queued, now);
    }

    /// It is released to its server on this connection, where `before` bytes precede its response.
    pub(crate) fn released(&mut self, request: usize, connection: u64, before: u64, now: Nanos) {
        let Some(open) = self.open.get_mut(&request) else { return };
        let carrier = self.connections.entry(connection).or_insert_with(|| Connection::new(open.user));
        carrier.carries(request, open.user, before);
        open.connection = Some(connection);
        self.reaches(request, Stage::Asked, now);
    }

    /// The gateway read `bytes` bytes of its response.
    pub(crate) fn read(&mut self, request: usize, bytes: u64, now: Nanos) {
        let Some(connection) = self.open.get(&request).and_then(|open| open.connection) else { return };
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.read(bytes);
        }
        self.turn(request, now);
    }

    /// Why part of its response could be read but is not.
    pub(crate) fn unread(&mut self, request: usize, why: Option<Unread>, now: Nanos) {
        let stage = match why {
            Some(Unread::Withheld) => Stage::Withheld,
            Some(Unread::Full) => Stage::Full,
            None => Stage::Answered,
        };
        let is_news = self.open.get(&request).is_some_and(|open| {
            matches!(open.stage, Stage::Answered | Stage::Withheld | Stage::Full) && open.stage != stage
        });
        if is_news {
            self.reaches(request, stage, now);
        }
    }

    /// The gateway has read all of its response, which continues to the user.
    pub(crate) fn read_whole(&mut self, request: usize, now: Nanos) {
        self.rests(request);
        self.reaches(request, Stage::AmongUsers, now);
    }

    /// The user has the whole response.
    pub(crate) fn ended(&mut self, request: usize, now: Nanos) {
        self.link.settle(now);
        let Some(mut open) = self.open.remove(&request) else { return };
        open.leaves(&self.link);
        self.ledger.ended(&Done {
            number: request,
            flow: open.user,
            begun: open.wanted,
            ended: now,
            own_nanos: open.own,
            same_flow_nanos: open.same_user,
            owed: &open.owed,
        });
    }

    /// The user no longer waits for it.
    pub(crate) fn cancelled(&mut self, request: usize) {
        self.rests(request);
        let Some(open) = self.open.remove(&request) else { return };
        self.ledger.cancelled(request, open.user);
    }

    /// A packet arrived at the link, and waits.
    pub(crate) fn waits(&mut self, whose: Whose, now: Nanos) {
        self.change(whose, now, |connection, segment| connection.waits(segment));
    }

    /// A packet was dropped; `waited` tells whether it had been queued.
    pub(crate) fn dropped(&mut self, whose: Whose, waited: bool, now: Nanos) {
        self.change(whose, now, |connection, segment| connection.dropped(segment, waited));
    }

    /// The link starts to send a packet.
    pub(crate) fn takes(&mut self, whose: Whose, now: Nanos) {
        let flow = match whose {
            Whose::Connection(number, _) => self.connections.get(&number).map(|connection| connection.user),
            Whose::Traffic(traffic) => self.flow_of.get(&traffic).copied(),
            Whose::Probe => Some(self.probes),
        };
        let on = flow.map(|flow| (self.ledger.column(flow), flow));
        self.link.turns_to(on, now);
        self.change(whose, now, |connection, _| connection.taken());
    }

    /// The link has sent its packet.
    pub(crate) fn frees(&mut self, whose: Whose, now: Nanos) {
        self.link.turns_to(None, now);
        self.change(whose, now, |connection, _| connection.left());
    }

    /// Ends the observation. Requests that have not ended are counted as left.
    #[must_use]
    pub fn finish(mut self) -> Explanation {
        for (&request, open) in &self.open {
            self.ledger.left(request, open.user);
        }
        self.ledger.finish()
    }

    /// Applies a change to a connection, due to one of its packets.
    fn change(&mut self, whose: Whose, now: Nanos, change: impl FnOnce(&mut Connection, Option<Segment>)) {
        let Whose::Connection(number, segment) = whose else { return };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        change(connection, segment);
        if let Some(request) = connection.request {
            let stage = self.open.get(&request).map(|open| open.stage);
            if connection.has_answered && stage == Some(Stage::Asked) {
                self.reaches(request, Stage::Answered, now);
            } else {
                self.turn(request, now);
            }
        }
    }

    fn reaches(&mut self, request: usize, stage: Stage, now: Nanos) {
        if let Some(open) = self.open.get_mut(&request) {
            open.stage = stage;
            self.turn(request, now);
        }
    }

    /// Moves a request to its current state.
    fn turn(&mut self, request: usize, now: Nanos) {
        self.link.settle(now);
        let Some(open) = self.open.get_mut(&request) else { return };
        let connection = open.connection.and_then(|number| self.connections.get(&number));
        open.turns(connection, &self.link);
    }

    /// A request's connection no longer carries it.
    fn rests(&mut self, request: usize) {
        let connection = self.open.get_mut(&request).and_then(|open| open.connection.take());
        if let Some(connection) = connection.and_then(|number| self.connections.get_mut(&number)) {
            connection.request = None;
        }
    }
}

#[cfg(test)]
mod tests;
