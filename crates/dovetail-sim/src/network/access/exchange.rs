//! A request's way from the user through the gateway to the server, and the answer's way back.

use dovetail_sched::{
    Nanos,
    request::{ClassId, Request, Turn, UserId},
};

use super::{
    gateway::{Gateway, Live, Told},
    user::{User, Wish},
};
use crate::{
    Observer,
    network::{
        Exchange, Kind, Network, NetworkError, Requests, Traffic,
        datagrams::{self, UDP},
        end::{Application, HEADERS_BYTES, Party, Place, UNUSED_BYTES, five_tuple},
        events::Event,
        packets::{Datagram, EndId, Of, Side},
        spec::MOST_TRANSFERS,
        world::World,
    },
};

/// What a connection from the gateway to a server is doing.
#[derive(Debug, Clone, Copy)]
pub(in crate::network) struct Upstream {
    server: usize,
    /// The request that is answered on it.
    pub(super) live: Option<usize>,
    /// What the gateway has read of its stream.
    taken: u64,
    /// What the server has still to read of the request, and what it then answers.
    asks: u64,
    answers: u64,
    /// The furthest byte of its stream that the server was ever let send.
    edge: u64,
    /// Room for what the gateway receives.
    receive_bytes: usize,
}

/// A probe's length: an ICMP echo with 8 bytes of data is 36, a UDP packet with a number and a time 44; rounded up.
const PROBE_BYTES: u32 = 64;
/// From one note of the scheduler's figures to the next.
const NOTE_EVERY: Nanos = Nanos::from_secs(1);
/// From one look at what was sent up to the next.
const LOOK_EVERY: Nanos = Nanos::from_secs(1);
/// More than a day's are not kept.
const MOST_NOTES: usize = 100_000;

impl<'a, O: Observer> World<'a, O> {
    /// Puts what the gateway and its users do first on the agenda.
    pub(in crate::network) fn open_gateway(&mut self, mut gateway: Gateway<'a>) {
        for number in 0..gateway.users.len() {
            let user = &mut gateway.users[number];
            let Some(requests) = self.network.requests(user.traffic) else { continue };
            let start = self.network.traffic[user.traffic].start;
            for begins in user.begins(requests) {
                self.agenda.add(start + begins, Event::Gateway(Told::User(number)));
            }
        }
        if let Some(period) = gateway.access.probe {
            self.agenda.add(period, Event::Gateway(Told::Probe));
        }
        self.agenda.add(NOTE_EVERY, Event::Gateway(Told::Note));
        if self.network.has_uploads() {
            self.agenda.add(LOOK_EVERY, Event::Gateway(Told::Look));
        }
        self.gateway = Some(gateway);
    }

    pub(in crate::network) fn told(&mut self, told: Told) -> Result<(), NetworkError> {
        let now = self.now;
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        match told {
            Told::User(user) => return self.wants(user),
            Told::GivesUp(exchange) => return self.gives_up(exchange),
            Told::Poll | Told::PollUplink => gateway.is_asked = true,
            Told::Look => {
                gateway.look_up(now);
                self.agenda.add(now + LOOK_EVERY, Event::Gateway(Told::Look));
            }
            Told::Probe => return self.probe(),
            Told::Note => {
                let mut figures = Vec::new();
                gateway.scheduler.figures(&mut |name, value| figures.push((name, value)));
                gateway.outcome.notes.push((now, figures));
                if gateway.outcome.notes.len() < MOST_NOTES {
                    self.agenda.add(now + NOTE_EVERY, Event::Gateway(Told::Note));
                }
            }
        }
        Ok(())
    }

    /// Nobody wants anything any more, and everybody has what he wanted.
    pub(in crate::network) fn is_satisfied(&self) -> bool {
        let Some(gateway) = &self.gateway else { return false };
        let over = |user: &User| self.now >= self.network.traffic[user.traffic].stop;
        // What is sent without end is seen through.
        let sends = |traffic: &Traffic| matches!(traffic.kind, Kind::LongLived(_) | Kind::Datagrams(_));
        let is_sent = |traffic: &Traffic| sends(traffic) && self.now < traffic.stop;
        gateway.outcome.open == 0 && gateway.users.iter().all(over) && !self.network.traffic.iter().any(is_sent)
    }

    /// A user wants something now.
    fn wants(&mut self, number: usize) -> Result<(), NetworkError> {
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let user = &mut gateway.users[number];
        let traffic = &self.network.traffic[user.traffic];
        let Some(requests) = self.network.requests(user.traffic) else { return Ok(()) };
        if self.now >= traffic.stop {
            return Ok(());
        }
        let silence = requests.silent.iter().find(|(from, to)| (*from..*to).contains(&self.now));
        let next = user.next();
        let again = next.map(|gap| self.now + gap).or(silence.map(|(_, to)| *to));
        if let Some(again) = again {
            self.agenda.add(again, Event::Gateway(Told::User(number)));
        }
        if silence.is_some() {
            return Ok(());
        }
        if gateway.outcome.exchanges.len() as u64 >= MOST_TRANSFERS {
            let why =
                format!("at {} users have asked {MOST_TRANSFERS} times: lower the rate, or stop earlier", self.now);
            return Err(NetworkError::Network(why));
        }
        let Wish { bytes, server, upload } = user.asks(traffic, requests);
        let exchange = gateway.outcome.exchanges.len();
        gateway.outcome.open += 1;
        gateway.outcome.exchanges.push(Exchange::new((user.traffic, number), server, [bytes, upload], self.now));
        if let Some(patience) = requests.patience {
            self.agenda.add(self.now + patience, Event::Gateway(Told::GivesUp(exchange)));
        }
        let (node, place, traffic, to) = (user.node, user.place, user.traffic, gateway.access.gateway);
        let bytes = gateway.access.request_bytes;
        let there = Place { port: PROXY, ..self.addresses.service(to) };
        self.hand_over(node, to, (place, there), bytes, Of::Asks(exchange), traffic)
    }

    /// Sends a packet without TCP, from a node to another.
    fn hand_over(
        &mut self,
        from: usize,
        to: usize,
        (here, there): (Place, Place),
        bytes: u32,
        of: Of,
        traffic: usize,
    ) -> Result<(), NetworkError> {
        let mut buffer = self.wire.buffer();
        datagrams::write(&mut buffer, bytes.max(UDP_HEADERS_BYTES), here, there);
        let tuple = five_tuple(UDP, here, there);
        self.send(from, Datagram { bytes: buffer, tuple, to, taker: None, traffic, of, number: 0 })
    }

    /// A request is at the gateway.
    pub(in crate::network) fn asked(&mut self, exchange: usize) {
        let Some(gateway) = &mut self.gateway else { return };
        let Exchange { user, server, bytes, upload, ended, gave_up, .. } = gateway.outcome.exchanges[exchange];
        if gave_up || ended.is_some() {
            return;
        }
        let left = u64::from(gateway.access.header_bytes) + bytes;
        let live = gateway.live.insert(Live {
            exchange,
            server,
            end: None,
            left,
            begins: 0,
            granted: 0,
            window: 0,
            upload_left: upload,
            length_told: false,
            ready_told: false,
        });
        gateway.outcome.exchanges[exchange].live = Some(live);
        gateway.outcome.exchanges[exchange].arrived = Some(self.now);
        let request = Request { id: Gateway::id(live), user: UserId(user as u32), length: None };
        gateway.scheduler.enqueue(&request, self.now);
        gateway.is_asked = true;
    }

    /// Asks the schedulers for all that may be done now.
    pub(in crate::network) fn serve(&mut self) -> Result<(), NetworkError> {
        self.serve_downlink()?;
        self.serve_uplink()
    }

    fn serve_downlink(&mut self) -> Result<(), NetworkError> {
        loop {
            let now = self.now;
            let Some(gateway) = &mut self.gateway else { return Ok(()) };
            gateway.is_asked = false;
            let Some(turn) = gateway.scheduler.dequeue(now) else {
                if let Some(at) = gateway.ask_at(now) {
                    self.agenda.add(at, Event::Gateway(Told::Poll));
                }
                return Ok(());
            };
            let live = turn.request.0 as usize;
            if !gateway.live.contains(live) {
                continue;
            }
            if turn.releases { self.release(live, turn)? } else { self.grant(live, turn)? }
        }
    }

    /// A request leaves for its server.
    fn release(&mut self, live: usize, turn: Turn) -> Result<(), NetworkError> {
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let (server, exchange) = (gateway.live[live].server, gateway.live[live].exchange);
        gateway.outcome.exchanges[exchange].released = Some(self.now);
        let idle = gateway.idle.get_mut(&server).and_then(Vec::pop);
        let id = match idle {
            Some(id) => id,
            None => self.dial(server, exchange, turn)?,
        };
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let exchange = &gateway.outcome.exchanges[gateway.live[live].exchange];
        let header = u64::from(gateway.access.request_bytes);
        let asks = header + exchange.upload;
        let answers = u64::from(gateway.access.header_bytes) + exchange.bytes;
        let connection = &mut self.connections[id.place];
        connection.traffic = exchange.traffic;
        connection.of = Of::Exchange(gateway.live[live].exchange);
        if let Some(upstream) = &mut connection.upstream {
            (upstream.live, upstream.asks, upstream.answers) = (Some(live), asks, answers);
            gateway.live[live].begins = upstream.taken;
            // A window cannot be taken back: the server may send what it was let send before.
            let offered = upstream.edge.saturating_sub(upstream.taken);
            if offered > turn.window {
                gateway.scheduler.offers(turn.request, offered, self.now);
                gateway.is_asked = true;
            }
        }
        gateway.live[live].end = Some(id);
        connection.sender.end.application.to_send += header;
        self.begin_upload(live);
        self.grant(live, turn)
    }

    /// More of a response may be read.
    fn grant(&mut self, live: usize, turn: Turn) -> Result<(), NetworkError> {
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let Live { begins, granted, window, end, ready_told, .. } = &mut gateway.live[live];
        let Some(id) = *end else { return Ok(()) };
        *granted = granted.saturating_add(turn.units);
        *window = turn.window;
        *ready_told = false;
        let connection = &mut self.connections[id.place];
        let application = &mut connection.sender.end.application;
        application.to_read = application.to_read.saturating_add(turn.units);
        if let Some(upstream) =
            connection.upstream.as_mut().filter(|_| turn.units != u64::MAX && turn.window != u64::MAX)
        {
            upstream.edge = upstream.edge.max(*begins + *granted + turn.window);
            connection.sender.end.reach(upstream.edge, upstream.receive_bytes);
        }
        self.turn(id)
    }

    /// Opens a connection to a server.
    fn dial(&mut self, server: usize, exchange: usize, turn: Turn) -> Result<EndId, NetworkError> {
        let Some(gateway) = &mut self.gateway else { return Err(NetworkError::Network("there is no gateway".into())) };
        let transport = &self.network.transport;
        let room = transport.window_bytes as usize;
        let receive_bytes = if turn.window == u64::MAX {
            room
        } else {
            // What may come and what may be read at once, with some for rounding.
            let longest = gateway.setup.longest_window.saturating_add(4 * gateway.setup.quantum);
            usize::try_from(longest).map_or(LONGEST_WINDOW, |longest| longest.min(LONGEST_WINDOW))
        };
        let request = if self.network.has_uploads() { room } else { gateway.access.request_bytes as usize };
        let request = request.max(UNUSED_BYTES);
        let (traffic, node) = (gateway.outcome.exchanges[exchange].traffic, gateway.access.gateway);
        let gateways = Party {
            receive_bytes,
            send_bytes: request,
            application: Application { to_send: 0, to_read: 0, closes: false },
        };
        let servers = Party {
            receive_bytes: request,
            send_bytes: room,
            application: Application { to_read: u64::MAX, ..gateways.application },
        };
        // Any two numbers that no other connection has.
        let seed = 2 * gateway.outcome.dialled;
        gateway.outcome.dialled += 1;
        let id = self.open(node, server, traffic, Of::Exchange(exchange), &[gateways, servers], [seed, seed + 1])?;
        let upstream = Upstream { server, live: None, taken: 0, asks: 0, answers: 0, edge: 0, receive_bytes };
        self.connections[id.place].upstream = Some(upstream);
        Ok(id)
    }

    /// What an end of a connection to a server read.
    pub(in crate::network) fn upstream_read(&mut self, id: EndId, bytes: u64) -> Result<(), NetworkError> {
        match id.side {
            Side::Opener => {
                self.upload(id);
                self.gateway_read(id, bytes)
            }
            Side::Listener => self.server_read(id, bytes),
        }
    }

    /// A server read of a request, and answers when it has it whole.
    fn server_read(&mut self, id: EndId, bytes: u64) -> Result<(), NetworkError> {
        let connection = &mut self.connections[id.place];
        let Some(upstream) = connection.upstream.as_mut().filter(|upstream| upstream.asks > 0) else { return Ok(()) };
        upstream.asks = upstream.asks.saturating_sub(bytes);
        if upstream.asks > 0 {
            return Ok(());
        }
        connection.receiver.end.application.to_send += upstream.answers;
        self.turn(id)
    }

    /// The gateway read of a response; it goes on to the user.
    fn gateway_read(&mut self, id: EndId, bytes: u64) -> Result<(), NetworkError> {
        let now = self.now;
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let connection = &mut self.connections[id.place];
        let Some(upstream) = &mut connection.upstream else { return Ok(()) };
        upstream.taken += bytes;
        let Some(at) = upstream.live else { return Ok(()) };
        let (request, live) = (Gateway::id(at), &mut gateway.live[at]);
        let application = &mut connection.sender.end.application;
        let starved = application.to_read == 0;
        if bytes == 0 && !(starved && !live.ready_told && connection.sender.end.is_readable()) {
            return Ok(());
        }
        gateway.is_asked = true;
        let exchange = live.exchange;
        if bytes > 0 {
            live.left = live.left.saturating_sub(bytes);
            let whole = u64::from(gateway.access.header_bytes) + gateway.outcome.exchanges[exchange].bytes;
            if gateway.access.tells_length && !live.length_told {
                live.length_told = true;
                gateway.scheduler.length(request, whole, now);
            }
            gateway.scheduler.received(request, bytes, now);
            gateway.uplink.acknowledges(bytes, now);
        }
        if live.left == 0 {
            gateway.scheduler.ended(request, now);
            let grown = live.window > 2 * gateway.setup.window && live.window != u64::MAX;
            gateway.live.remove(at);
            gateway.outcome.exchanges[exchange].live = None;
            upstream.live = None;
            connection.sender.end.application.to_read = 0;
            if grown {
                // A window cannot be taken back: the next response would come with it.
                connection.sender.end.application.closes = true;
                self.turn(id)?;
            } else {
                gateway.idle.entry(upstream.server).or_default().push(id);
            }
        } else if starved && connection.sender.end.is_readable() {
            live.ready_told = true;
            gateway.scheduler.ready(request, now);
        }
        self.pass_on(exchange, bytes)
    }

    /// What the gateway read goes on to the user, in packets.
    fn pass_on(&mut self, exchange: usize, bytes: u64) -> Result<(), NetworkError> {
        let Some(gateway) = &self.gateway else { return Ok(()) };
        let Exchange { user, traffic, .. } = gateway.outcome.exchanges[exchange];
        let (node, there, from) = (gateway.users[user].node, gateway.users[user].place, gateway.access.gateway);
        let here = Place { port: PROXY, ..self.addresses.service(from) };
        let most = u64::from(self.network.transport.mtu_bytes - HEADERS_BYTES);
        let mut left = bytes;
        while left > 0 {
            let payload = left.min(most);
            left -= payload;
            let of = Of::Answers { exchange, payload: payload as u32 };
            self.hand_over(from, node, (here, there), payload as u32 + HEADERS_BYTES, of, traffic)?;
        }
        Ok(())
    }

    /// Some of a response is with the user.
    pub(in crate::network) fn answered(&mut self, exchange: usize, bytes: u32) {
        let now = self.now;
        let Some(gateway) = &mut self.gateway else { return };
        let header = u64::from(gateway.access.header_bytes);
        let done = &mut gateway.outcome.exchanges[exchange];
        done.delivered += u64::from(bytes);
        gateway.outcome.classes[done.traffic].received(u64::from(bytes), now);
        if done.delivered < header + done.bytes || done.gave_up {
            return;
        }
        done.ended = Some(now);
        let user = done.user;
        self.thinks(user);
    }

    /// A request is over for its user, who may want another.
    fn thinks(&mut self, number: usize) {
        let Some(gateway) = &mut self.gateway else { return };
        gateway.outcome.open -= 1;
        let user = &mut gateway.users[number];
        let Some(requests) = self.network.requests(user.traffic) else { return };
        if let Some(time) = user.thinks(requests) {
            self.agenda.add(self.now + time, Event::Gateway(Told::User(number)));
        }
    }

    /// A user waits no longer, and the gateway breaks the response off.
    fn gives_up(&mut self, exchange: usize) -> Result<(), NetworkError> {
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let over = &mut gateway.outcome.exchanges[exchange];
        if over.ended.is_some() {
            return Ok(());
        }
        over.gave_up = true;
        let (user, live) = (over.user, over.live.take());
        let mut end = None;
        if let Some(live) = live {
            gateway.scheduler.cancel(Gateway::id(live), self.now);
            gateway.uplink.gave_up(Gateway::id(live), self.now);
            gateway.is_asked = true;
            end = gateway.live.remove(live).end;
        }
        if let Some(id) = end {
            let connection = &mut self.connections[id.place];
            if let Some(upstream) = &mut connection.upstream {
                upstream.live = None;
            }
            connection.sender.end.abort();
            self.turn(id)?;
        }
        self.thinks(user);
        Ok(())
    }

    /// A probe leaves, and what is known of the far queue without it is told.
    fn probe(&mut self) -> Result<(), NetworkError> {
        let now = self.now;
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let (from, to, period) = (gateway.access.gateway, gateway.access.provider, gateway.access.probe);
        let number = gateway.far.probe(now);
        gateway.scheduler.far_queue(gateway.far.delay(now), now);
        gateway.is_asked = true;
        if let Some(period) = period {
            self.agenda.add(now + period, Event::Gateway(Told::Probe));
        }
        self.send_probe(from, to, number)
    }

    fn send_probe(&mut self, from: usize, to: usize, number: u64) -> Result<(), NetworkError> {
        let places = [from, to].map(|node| Place { port: ECHO, ..self.addresses.service(node) });
        self.hand_over(from, to, (places[0], places[1]), PROBE_BYTES, Of::Probe(number), 0)
    }

    /// A probe is at one end of the link.
    pub(in crate::network) fn probed(&mut self, at: usize, number: u64) -> Result<(), NetworkError> {
        let now = self.now;
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        if at != gateway.access.gateway {
            let back = gateway.access.gateway;
            return self.send_probe(at, back, number);
        }
        gateway.far.back(number, now);
        gateway.scheduler.far_queue(gateway.far.delay(now), now);
        gateway.is_asked = true;
        Ok(())
    }

    /// Something that nobody asked for came to the gateway.
    pub(in crate::network) fn strayed(&mut self, at: usize, bytes: u64) {
        let now = self.now;
        if let Some(gateway) = self.gateway.as_mut().filter(|gateway| gateway.access.gateway == at) {
            gateway.scheduler.stray(None::<ClassId>, bytes, now);
            gateway.is_asked = true;
        }
    }
}

/// The port that users ask at (Squid's).
const PROXY: u16 = 3128;
/// The port of the echo service (RFC 862).
const ECHO: u16 = 7;
/// Headers of IP and UDP.
const UDP_HEADERS_BYTES: u32 = 28;
/// The most that a connection's buffer holds: 16 MiB, as the longest window of a scenario.
const LONGEST_WINDOW: usize = 1 << 24;

impl Network {
    /// What the users of this traffic ask for, if it is users'.
    pub(in crate::network) fn requests(&self, traffic: usize) -> Option<&Requests> {
        match &self.traffic[traffic].kind {
            Kind::Requests(requests) => Some(requests),
            _ => None,
        }
    }
}
