//! Users' connections to the gateway, if users and gateway speak TCP.
//!
//! Like a browser, a user opens a connection for a request that finds none idle, up to a limit; requests beyond it wait for a
//! response to end. A connection carries one request at a time. What the gateway has read for a user and the user's end has
//! not acknowledged is in the socket's buffer at the gateway. That buffer is bounded, and the gateway reads no more of a
//! response than fits. A slow user thus closes the window of the connection to the server.

use std::collections::{BTreeMap, VecDeque};

use dovetail_sched::Nanos;

use super::{
    idle::{Idle, Most},
    told::{GatewayNet, Part, Told},
    user::User,
};
use crate::network::{
    agenda::Event,
    connections::Opening,
    error::NetworkError,
    packets::{EndId, Of, Side},
    party::{Application, Party},
    spec::UserConnections,
};

/// Separates seeds of users' connections from those of connections to servers.
const SEEDS: u64 = 1 << 31;

/// State of a user's connection.
#[derive(Debug, Clone, Copy, Default)]
struct Downstream {
    user: usize,
    exchange: Option<usize>,
    /// Bytes of the request that the gateway has still to read, and of the response that the user has.
    asks: u64,
    answers: u64,
}

/// The connections of one user.
#[derive(Debug, Default)]
struct OfUser {
    open: u32,
    /// Requests waiting for a connection.
    waiting: VecDeque<usize>,
}

/// All users' connections.
pub(super) struct Downstreams {
    spec: UserConnections,
    gateway: usize,
    // By index of the connection.
    open: Vec<Downstream>,
    // By number of the user.
    users: Vec<OfUser>,
    // The gateway's end of the connection that carries a request, by exchange.
    carriers: BTreeMap<usize, EndId>,
    idle: Idle,
    /// Number of connections opened.
    pub(super) opened: u64,
    /// The most bytes that the gateway held for one of them.
    pub(super) most_held: u64,
}

impl Downstreams {
    pub(super) fn new(spec: UserConnections, gateway: usize, users: usize) -> Self {
        Self {
            spec,
            gateway,
            open: Vec::new(),
            users: (0..users).map(|_| OfUser::default()).collect(),
            carriers: BTreeMap::new(),
            idle: Idle::new(spec.idle, Most::UNLIMITED),
            opened: 0,
            most_held: 0,
        }
    }

    /// A user sends a request of this many bytes, with a response of `answers` bytes. Returns the end of the connection it is
    /// sent on, whose turn is due; `None` if it waits for a connection.
    pub(super) fn ask(
        &mut self,
        exchange: usize,
        (number, user): (usize, &User),
        [asks, answers]: [u64; 2],
        net: &mut GatewayNet<'_>,
    ) -> Result<Option<EndId>, NetworkError> {
        let id = match self.idle.take(number) {
            Some(id) => id,
            None if self.users[number].open < self.spec.most => self.dial(number, user, net)?,
            None => {
                self.users[number].waiting.push_back(exchange);
                return Ok(None);
            }
        };
        let downstream = &mut self.open[id.place];
        (downstream.exchange, downstream.asks, downstream.answers) = (Some(exchange), asks, answers);
        self.carriers.insert(exchange, EndId { side: Side::Listener, ..id });
        net.connections[id].opener.end.application.to_send += asks;
        Ok(Some(id))
    }

    fn dial(&mut self, number: usize, user: &User, net: &mut GatewayNet<'_>) -> Result<EndId, NetworkError> {
        let room = net.spec.transport.tcp.receive_bytes;
        let application = Application { to_send: 0, to_read: u64::MAX, closes: false };
        let users = Party { receive_bytes: room, send_bytes: room.into(), application };
        let gateways = Party { send_bytes: self.spec.buffer_bytes.into(), ..users };
        let seed = SEEDS + 2 * self.opened;
        self.opened += 1;
        self.users[number].open += 1;
        let id = net.open(&Opening {
            nodes: [user.node, self.gateway],
            parties: [users, gateways],
            seeds: [seed, seed + 1],
            traffic: user.traffic,
            of: Of::Access(Part::OverTcp),
            stop: Nanos::MAX,
        })?;
        // As browsers and proxies do (TCP_NODELAY).
        let connection = &mut net.connections[id];
        connection.opener.end.sends_at_once();
        connection.listener.end.sends_at_once();
        if id.place >= self.open.len() {
            self.open.resize(id.place + 1, Downstream::default());
        }
        self.open[id.place] = Downstream { user: number, ..Downstream::default() };
        Ok(id)
    }

    /// The request carried by the connection of this end.
    pub(super) fn exchange(&self, id: EndId) -> Option<usize> {
        self.open[id.place].exchange
    }

    /// The gateway read this many bytes; returns the request if they completed it.
    pub(super) fn gateway_read(&mut self, id: EndId, bytes: u64) -> Option<usize> {
        let downstream = &mut self.open[id.place];
        if downstream.asks == 0 {
            return None;
        }
        downstream.asks = downstream.asks.saturating_sub(bytes);
        downstream.exchange.filter(|_| downstream.asks == 0)
    }

    /// Bytes of a response that the gateway has room for; unlimited if it uses no connection.
    pub(super) fn room(&self, exchange: usize, net: &mut GatewayNet<'_>) -> u64 {
        let Some(&id) = self.carriers.get(&exchange) else { return u64::MAX };
        u64::from(self.spec.buffer_bytes).saturating_sub(net.connections[id].listener.end.held_bytes())
    }

    /// Sends `bytes` of a response to its user; returns the end of the connection, whose turn is due.
    pub(super) fn hand_over(&mut self, exchange: usize, bytes: u64, net: &mut GatewayNet<'_>) -> Option<EndId> {
        let id = *self.carriers.get(&exchange)?;
        let end = &mut net.connections[id].listener.end;
        end.application.to_send += bytes;
        self.most_held = self.most_held.max(end.held_bytes());
        Some(id)
    }

    /// The user read this many bytes; returns whether they completed a response.
    pub(super) fn user_read(&mut self, id: EndId, bytes: u64) -> bool {
        let downstream = &mut self.open[id.place];
        downstream.answers = downstream.answers.saturating_sub(bytes);
        downstream.answers == 0
    }

    /// A response is over, and its connection is free. Returns the request to send next, if one waits for a connection, and
    /// whether the connection is to be closed.
    pub(super) fn rests(&mut self, id: EndId, net: &mut GatewayNet<'_>) -> (Option<usize>, bool) {
        let downstream = &mut self.open[id.place];
        let number = downstream.user;
        if let Some(exchange) = downstream.exchange.take() {
            self.carriers.remove(&exchange);
        }
        if self.idle.keeps() {
            if let Some(at) = self.idle.rests(number, id, net.now).timed {
                net.agenda.add(at, Event::Access(Told::UserIdle(number)));
            }
        } else {
            self.users[number].open -= 1;
        }
        (self.users[number].waiting.pop_front(), !self.idle.keeps())
    }

    /// A user's connections that were idle for too long and are to be closed.
    pub(super) fn overdue(&mut self, number: usize, net: &mut GatewayNet<'_>) -> Vec<EndId> {
        let (closed, again) = self.idle.overdue(number, net.now);
        if let Some(at) = again {
            net.agenda.add(at, Event::Access(Told::UserIdle(number)));
        }
        self.users[number].open -= closed.len() as u32;
        closed
    }

    /// A user cancels a request. Returns the user's end of its connection, which is to be aborted, and the request to send
    /// next.
    pub(super) fn cancels(&mut self, exchange: usize, number: usize) -> Option<(EndId, Option<usize>)> {
        let user = &mut self.users[number];
        let Some(id) = self.carriers.remove(&exchange) else {
            // All of a user's requests have the same patience, so it is the first.
            if let Some(at) = user.waiting.iter().position(|&waiting| waiting == exchange) {
                user.waiting.remove(at);
            }
            return None;
        };
        self.open[id.place].exchange = None;
        user.open -= 1;
        Some((EndId { side: Side::Opener, ..id }, user.waiting.pop_front()))
    }
}
