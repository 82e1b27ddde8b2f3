//! Relays requests to servers and responses to users, as the schedulers permit.
//!
//! | file | what |
//! |---|---|
//! | `down` | between users and the gateway |
//! | `up` | uploads of requests |

mod down;
mod up;

use std::mem;

use dovetail_sched::{
    Nanos,
    request::{ClassId, Request, RequestScheduler, RequestSetup, Turn, UserId},
};
use slab::Slab;

use super::{
    downstreams::Downstreams,
    live::{Live, id_of},
    tls::Tls,
    told::{GatewayNet, Part, Told},
    uplink::Uplink,
    upstreams::Upstreams,
    users::Users,
};
use crate::blame::Unread;
use crate::network::{
    agenda::Event,
    ask_again::AskAgain,
    error::NetworkError,
    net::Turned,
    outcome::Exchange,
    packets::{EndId, Of, Side},
    spec::Access,
};

/// The part of a gateway that relays requests and responses.
pub(super) struct Relay<'a> {
    pub(super) access: &'a Access,
    pub(super) scheduler: Box<dyn RequestScheduler>,
    pub(super) users: Users<'a>,
    /// Whether schedulers are to be polled before time advances.
    pub(super) is_asked: bool,
    uplink: Uplink,
    upstreams: Upstreams,
    // If users speak TCP with the gateway.
    downstreams: Option<Downstreams>,
    // A request's id is its index.
    live: Slab<Live>,
    ask_again: AskAgain,
}

impl Access {
    /// Length of a response with a body of this length.
    fn whole(&self, body_bytes: u64) -> u64 {
        u64::from(self.header_bytes) + body_bytes
    }
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        access: &'a Access,
        scheduler: Box<dyn RequestScheduler>,
        setup: RequestSetup,
        uplink: Uplink,
        users: Users<'a>,
    ) -> Self {
        let downstreams = access.users.map(|spec| Downstreams::new(spec, access.gateway, users.number()));
        Self {
            access,
            scheduler,
            users,
            is_asked: false,
            upstreams: Upstreams::new(access, &setup),
            downstreams,
            uplink,
            live: Slab::new(),
            ask_again: AskAgain::new(),
        }
    }

    /// Number of connections opened.
    pub(super) fn dialled(&self) -> u64 {
        self.upstreams.dialled
    }

    /// A request arrived at the gateway.
    pub(super) fn asked(&mut self, exchange: usize, net: &mut GatewayNet<'_>) {
        let now = net.now;
        let Exchange { user, server, bytes, upload, ended, cancelled, .. } = *self.users.exchange(exchange);
        if cancelled.is_some() || ended.is_some() {
            return;
        }
        let whole = self.access.whole(bytes);
        let kept = self.upstreams.take_idle(server);
        let live = self.live.insert(Live::new(exchange, kept, whole, upload));
        self.users.arrived(exchange, live, now);
        if let Some(blame) = net.watch.blamed.requests() {
            blame.arrived(exchange, now);
        }
        let request = Request { id: id_of(live), user: UserId(user as u32), length: None };
        self.scheduler.enqueue(&request, now);
        self.scheduler.distance(request.id, self.upstreams.distance(server, kept.is_some()), now);
        self.is_asked = true;
    }

    /// Polls the schedulers for everything permitted now.
    pub(super) fn serve(&mut self, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        self.serve_downlink(net)?;
        self.serve_uplink(net)
    }

    fn serve_downlink(&mut self, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        loop {
            self.is_asked = false;
            let Some(turn) = self.scheduler.dequeue(net.now) else {
                let again = self.scheduler.poll_at().and_then(|at| self.ask_again.at(at, net.now));
                if let Some(at) = again {
                    net.agenda.add(at, Event::Access(Told::Poll));
                }
                return Ok(());
            };
            let live = turn.request.0 as usize;
            if !self.live.contains(live) {
                continue;
            }
            if turn.releases {
                self.release(live, turn, net)?;
            } else {
                self.grant(live, turn, net)?;
            }
        }
    }

    /// Sends a request to its server.
    fn release(&mut self, live: usize, turn: Turn, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let Live { exchange, ref mut kept, .. } = self.live[live];
        let kept = kept.take();
        self.users.released(exchange, net.now);
        let Exchange { traffic, server, upload, .. } = *self.users.exchange(exchange);
        let id = match kept {
            Some(id) => id,
            None => self.upstreams.dial(server, traffic, turn.window, net)?,
        };
        let upstream = self.upstreams.of(id);
        // Bytes of the handshake, which precede the response.
        let before = if upstream.tls.is_some() { Tls::answers(self.access.servers.tls_round_trips) } else { 0 };
        if let Some(blame) = net.watch.blamed.requests() {
            blame.released(exchange, id.made, before, net.now);
        }
        let connection = &mut net.connections[id];
        connection.traffic = traffic;
        // A request without upload is just a short header.
        connection.counts_sent = upload > 0;
        upstream.live = Some(live);
        self.live[live].begins = upstream.taken + before;
        self.live[live].end = Some(id);
        self.say(id, live, net);
        self.grant(live, turn, net)
    }

    /// Sends the next item to the server: a flight of the TLS handshake or, after the last, the request.
    fn say(&mut self, id: EndId, live: usize, net: &mut GatewayNet<'_>) {
        let upstream = self.upstreams.of(id);
        let application = &mut net.connections[id].opener.end.application;
        if let Some(flight) = upstream.tls.as_mut().and_then(Tls::next) {
            (upstream.asks, upstream.answers) = (flight.asks, flight.answers);
            application.to_send += flight.asks;
            return;
        }
        let Exchange { bytes, upload, .. } = *self.users.exchange(self.live[live].exchange);
        let header = u64::from(self.access.request_bytes);
        upstream.tls = None;
        upstream.asks = header + upload;
        upstream.answers = self.access.whole(bytes);
        application.to_send += header;
        if upstream.is_established {
            if let Some(least) = net.connections[id].opener.end.least_round_trip() {
                self.upstreams.of(id).offer.draws_near(least);
                self.tell_distance(id, live, least, net.now);
            }
            self.tell_connection(id, live, net.now);
        }
        self.begin_upload(live, net);
    }

    /// A new connection may be established. If so, and no TLS precedes the request, that is sent.
    fn may_be_established(&mut self, id: EndId, net: &mut GatewayNet<'_>) {
        let end = &mut net.connections[id].opener.end;
        if self.upstreams.of(id).is_established || !end.is_established() {
            return;
        }
        let (trip, least) = (end.round_trip(), end.least_round_trip());
        let widened = self.upstreams.establish(id, trip);
        let Some(live) = self.upstreams.of(id).live else { return };
        if let Some(least) = least {
            self.tell_distance(id, live, least, net.now);
        }
        let (upstream, end) = (self.upstreams.of(id), &mut net.connections[id].opener.end);
        if let Some(offered) = widened {
            end.reach(self.live[live].begins + self.live[live].granted + offered);
        }
        if upstream.tls.is_none() {
            self.tell_connection(id, live, net.now);
        }
    }

    /// Reports how far away the server of a connection is, from which the next units of its response come.
    fn tell_distance(&mut self, id: EndId, live: usize, took: Nanos, now: Nanos) {
        let server = self.upstreams.of(id).server;
        let least = self.upstreams.note(server, took);
        self.scheduler.distance(id_of(live), least, now);
        self.is_asked = true;
    }

    /// A request is sent: reports what its connection offers the server, because of earlier responses on it among others, and
    /// how far away that is, if very far.
    fn tell_connection(&mut self, id: EndId, live: usize, now: Nanos) {
        let offer = self.upstreams.of(id).offer;
        if offer.bytes() == u64::MAX {
            return;
        }
        self.scheduler.offers(id_of(live), offer.bytes(), now);
        if let Some(trip) = offer.farthest() {
            self.scheduler.round_trip(id_of(live), trip, now);
        }
        self.is_asked = true;
    }

    /// More of a response may be read.
    fn grant(&mut self, live: usize, turn: Turn, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let Live { granted, allowed, end, ready_told, .. } = &mut self.live[live];
        let Some(id) = *end else { return Ok(()) };
        *granted = granted.saturating_add(turn.units);
        *allowed = allowed.saturating_add(turn.units);
        *ready_told = false;
        self.lets_read(id, net);
        let Live { begins, granted, .. } = self.live[live];
        if turn.units != u64::MAX && turn.window != u64::MAX {
            let offered = self.upstreams.widen(id, turn.window);
            net.connections[id].opener.end.reach(begins + granted + offered);
        }
        self.turn(id, net)
    }

    /// Lets the gateway's end of a connection to a server read what the scheduler permits and the user's connection has room
    /// for; handshakes are always read.
    fn lets_read(&mut self, id: EndId, net: &mut GatewayNet<'_>) {
        let upstream = self.upstreams.of(id);
        let Some(live) = upstream.live.and_then(|at| self.live.get(at)) else { return };
        let to_read = match &upstream.tls {
            Some(tls) => tls.left(),
            None => live.allowed.min(self.room(live.exchange, net)),
        };
        net.connections[id].opener.end.application.to_read = to_read;
    }

    fn turn(&mut self, id: EndId, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        match net.turn(id)? {
            Some(turned) => self.turned(id, &turned, net),
            None => Ok(()),
        }
    }

    /// An end of a connection had its turn.
    pub(super) fn turned(
        &mut self,
        id: EndId,
        turned: &Turned<Part>,
        net: &mut GatewayNet<'_>,
    ) -> Result<(), NetworkError> {
        match turned.of {
            Of::Access(Part::OverTcp) if id.side == Side::Opener => self.user_read(id, turned.read, net),
            Of::Access(Part::OverTcp) => self.users_turned(id, turned.read, net),
            _ => self.servers_turned(id, turned, net),
        }
    }

    /// An end of a connection to a server had its turn.
    fn servers_turned(
        &mut self,
        id: EndId,
        turned: &Turned<Part>,
        net: &mut GatewayNet<'_>,
    ) -> Result<(), NetworkError> {
        if id.side == Side::Listener {
            return match self.upstreams.server_read(id, turned.read) {
                Some(answers) => {
                    net.connections[id].listener.end.application.to_send += answers;
                    self.turn(id, net)
                }
                None => Ok(()),
            };
        }
        self.may_be_established(id, net);
        if turned.sent > 0 {
            self.sent_up(id, turned.sent, net.now);
        }
        self.goes_on_up(id, net);
        self.gateway_read(id, turned.read, net)
    }

    /// The gateway read part of a response; forwards it to the user.
    fn gateway_read(&mut self, id: EndId, bytes: u64, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let now = net.now;
        let upstream = self.upstreams.of(id);
        upstream.taken += bytes;
        let Some(at) = upstream.live else { return Ok(()) };
        if upstream.tls.is_some() {
            return self.greeted(id, at, bytes, net);
        }
        let room = self.room(self.live[at].exchange, net).saturating_sub(bytes);
        let (request, live) = (id_of(at), &mut self.live[at]);
        let end = &mut net.connections[id].opener.end;
        live.allowed -= if live.allowed == u64::MAX { 0 } else { bytes };
        // Request no more while the user's connection is full.
        let starved = live.allowed == 0 && room > 0;
        if let Some(blame) = net.watch.blamed.requests() {
            let is_left = bytes < live.left && end.is_readable();
            let why = if room == 0 { Some(Unread::Full) } else { starved.then_some(Unread::Withheld) };
            blame.read(live.exchange, bytes, now);
            blame.unread(live.exchange, why.filter(|_| is_left), now);
        }
        let begins_to_wait = starved && !live.ready_told && end.is_readable();
        let exchange = live.exchange;
        if bytes > 0 {
            live.left = live.left.saturating_sub(bytes);
            live.unread_told = live.unread_told.saturating_sub(bytes);
            self.scheduler.received(request, bytes, now);
            self.uplink.acknowledges(bytes, now);
            if self.access.tells_length && self.has_header(at) {
                self.tell_length(at, now);
            }
        }
        self.tell_unread(at, end.readable_bytes(), now);
        if bytes == 0 && !begins_to_wait {
            return Ok(());
        }
        self.is_asked = true;
        let live = &mut self.live[at];
        if live.left == 0 {
            self.scheduler.ended(request, now);
            self.live.remove(at);
            self.users.left_gateway(exchange);
            if let Some(blame) = net.watch.blamed.requests() {
                blame.read_whole(exchange, now);
            }
            self.upstreams.of(id).live = None;
            end.application.to_read = 0;
            if self.upstreams.of(id).offer.is_grown() || !self.upstreams.keeps() {
                end.application.closes = true;
                self.turn(id, net)?;
            } else if let Some(other) = self.upstreams.rests(id, net) {
                self.close(other, net)?;
            }
        } else if starved && end.is_readable() {
            live.ready_told = true;
            if self.access.sees_end && end.readable_bytes() >= live.left {
                self.tell_length(at, now);
            }
            self.scheduler.ready(request, now);
        }
        self.pass_on(exchange, bytes, net)
    }

    /// Whether the whole header of a response has been read.
    fn has_header(&self, at: usize) -> bool {
        let live = &self.live[at];
        let body_bytes = self.users.exchange(live.exchange).bytes;
        live.left <= body_bytes
    }

    /// The gateway knows the length of the response, and reports it to the scheduler once.
    fn tell_length(&mut self, at: usize, now: Nanos) {
        let live = &mut self.live[at];
        if !mem::replace(&mut live.length_told, true) {
            let length = self.access.whole(self.users.exchange(live.exchange).bytes);
            self.scheduler.length(id_of(at), length, now);
        }
    }

    /// Reports what has arrived and was not read.
    fn tell_unread(&mut self, at: usize, unread: u64, now: Nanos) {
        if mem::replace(&mut self.live[at].unread_told, unread) < unread {
            self.scheduler.unread(id_of(at), unread, now);
            self.is_asked = true;
        }
    }

    /// The gateway read part of the server's TLS handshake, which belongs to no response and is not forwarded.
    fn greeted(&mut self, id: EndId, at: usize, bytes: u64, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        if bytes == 0 {
            return Ok(());
        }
        let exchange = self.live[at].exchange;
        let class = ClassId(net.spec.class_of(self.users.exchange(exchange).traffic) as u32);
        self.scheduler.stray(Some(class), bytes, net.now);
        self.uplink.acknowledges(bytes, net.now);
        self.is_asked = true;
        if let Some(blame) = net.watch.blamed.requests() {
            blame.read(exchange, bytes, net.now);
        }
        let Some(tls) = &mut self.upstreams.of(id).tls else { return Ok(()) };
        if !tls.read(bytes) {
            return Ok(());
        }
        self.say(id, at, net);
        self.lets_read(id, net);
        self.turn(id, net)
    }

    /// Closes connections to a server that were idle for too long.
    pub(super) fn closes_idle_servers(&mut self, server: usize, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        self.upstreams.overdue(server, net).into_iter().try_for_each(|id| self.close(id, net))
    }

    /// A user no longer waits, and the gateway aborts the response.
    pub(super) fn cancels(&mut self, exchange: usize, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let Some((user, live)) = self.users.cancels(exchange, net.now) else { return Ok(()) };
        if let Some(blame) = net.watch.blamed.requests() {
            blame.cancelled(exchange);
        }
        let mut end = None;
        if let Some(live) = live {
            self.scheduler.cancel(id_of(live), net.now);
            self.uplink.cancelled(id_of(live), net.now);
            self.is_asked = true;
            let live = self.live.remove(live);
            end = live.end;
            live.kept.map_or(Ok(()), |id| self.close(id, net))?;
        }
        if let Some(id) = end {
            self.upstreams.of(id).live = None;
            net.connections[id].opener.end.abort();
            self.turn(id, net)?;
        }
        let carrier = self.downstreams.as_mut().and_then(|downstreams| downstreams.cancels(exchange, user));
        if let Some((id, next)) = carrier {
            net.connections[id].opener.end.abort();
            self.turn(id, net)?;
            next.map_or(Ok(()), |exchange| self.ask(exchange, net))?;
        }
        self.users.thinks(user, net);
        Ok(())
    }
}
