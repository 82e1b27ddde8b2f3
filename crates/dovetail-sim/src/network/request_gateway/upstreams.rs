//! Connections from the gateway to servers, which are kept for the next request.

use std::collections::BTreeMap;

use dovetail_sched::{
    Nanos,
    request::{Offer, RequestSetup},
};

use super::{
    idle::{Idle, Most},
    tls::Tls,
    told::{GatewayNet, Part, Told},
};
use crate::network::{
    agenda::Event,
    connections::Opening,
    error::NetworkError,
    packets::{EndId, Of},
    party::{Application, Party},
    spec::Access,
};

/// Largest buffer of a connection: 16 MiB, like the longest window of a scenario.
const MAX_WINDOW_BYTES: u32 = 1 << 24;

/// Idle connections that the gateway keeps: as many as the real one does unless configured.
const MOST_IDLE: Most = Most { to_each: Offer::MAX_IDLE_PER_SERVER, to_all: Offer::MAX_IDLE };

/// State of a connection to a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Upstream {
    pub(super) server: usize,
    /// The request being answered on it.
    pub(super) live: Option<usize>,
    /// Bytes of its stream that the gateway has read.
    pub(super) taken: u64,
    /// Bytes of the request that the server has still to read, and of its response.
    pub(super) asks: u64,
    pub(super) answers: u64,
    /// The TLS handshake, until it is over.
    pub(super) tls: Option<Tls>,
    /// Whether TCP's handshake is over.
    pub(super) is_established: bool,
    /// The receive window that it offers, and its server's distance.
    pub(super) offer: Offer,
}

impl Upstream {
    const fn to(server: usize, tls: Option<Tls>, offer: Offer) -> Self {
        Self { server, live: None, taken: 0, asks: 0, answers: 0, tls, is_established: false, offer }
    }
}

/// All connections to servers.
pub(super) struct Upstreams {
    // By index of the connection.
    open: Vec<Upstream>,
    // By server.
    idle: Idle,
    tls_round_trips: u8,
    first_window: u64,
    longest_window: u64,
    /// Number of connections opened.
    pub(super) dialled: u64,
    gateway: usize,
    // The minimum round trip to each server.
    least: BTreeMap<usize, Nanos>,
    // Receive buffer for what may arrive after a window closes, if configured.
    receive_bytes: u32,
}

impl Upstreams {
    pub(super) fn new(access: &Access, setup: &RequestSetup) -> Self {
        // What may arrive and be read at once, with some margin for rounding.
        let longest = setup.longest_window.saturating_add(4 * setup.quantum);
        Self {
            open: Vec::new(),
            idle: Idle::new(access.servers.idle, MOST_IDLE),
            tls_round_trips: access.servers.tls_round_trips,
            first_window: setup.window,
            longest_window: setup.longest_window,
            dialled: 0,
            gateway: access.gateway,
            least: BTreeMap::new(),
            receive_bytes: u32::try_from(longest).map_or(MAX_WINDOW_BYTES, |longest| longest.min(MAX_WINDOW_BYTES)),
        }
    }

    /// State of the connection of this end.
    pub(super) fn of(&mut self, id: EndId) -> &mut Upstream {
        &mut self.open[id.place]
    }

    /// An idle connection to the server.
    pub(super) fn take_idle(&mut self, server: usize) -> Option<EndId> {
        self.idle.take(server)
    }

    /// Records a round trip to a server; returns the minimum so far.
    pub(super) fn note(&mut self, server: usize, took: Nanos) -> Nanos {
        let least = self.least.entry(server).or_insert(took);
        *least = took.min(*least);
        *least
    }

    /// How long after a request's release its response begins to arrive, as far as known: on a new connection after the
    /// handshakes.
    pub(super) fn distance(&self, server: usize, is_connected: bool) -> Nanos {
        let trips = if is_connected { 1 } else { 2 + u64::from(self.tls_round_trips) };
        Nanos(self.least.get(&server).map_or(0, |least| least.0 * trips))
    }

    /// Whether connections are reused.
    pub(super) fn keeps(&self) -> bool {
        self.idle.keeps()
    }

    /// A connection becomes idle. Returns one that is to be closed, if there are enough.
    pub(super) fn rests(&mut self, id: EndId, net: &mut GatewayNet<'_>) -> Option<EndId> {
        let server = self.open[id.place].server;
        let rested = self.idle.rests(server, id, net.now);
        if let Some(at) = rested.timed {
            net.agenda.add(at, Event::Access(Told::ServerIdle(server)));
        }
        rested.closed
    }

    /// Connections to a server that were idle for too long and are to be closed.
    pub(super) fn overdue(&mut self, server: usize, net: &mut GatewayNet<'_>) -> Vec<EndId> {
        let (closed, again) = self.idle.overdue(server, net.now);
        if let Some(at) = again {
            net.agenda.add(at, Event::Access(Told::ServerIdle(server)));
        }
        closed
    }

    /// Opens a connection to a server, with this window for the first response.
    pub(super) fn dial(
        &mut self,
        server: usize,
        traffic: usize,
        window: u64,
        net: &mut GatewayNet<'_>,
    ) -> Result<EndId, NetworkError> {
        let room = net.spec.transport.tcp.receive_bytes;
        let receive_bytes = if window == u64::MAX { room } else { self.receive_bytes };
        let gateways = Party {
            receive_bytes,
            send_bytes: room.into(),
            application: Application { to_send: 0, to_read: 0, closes: false },
        };
        let servers = Party {
            receive_bytes: room,
            send_bytes: room.into(),
            application: Application { to_read: u64::MAX, ..gateways.application },
        };
        // Two numbers that no other connection uses.
        let seed = 2 * self.dialled;
        self.dialled += 1;
        let id = net.open(&Opening {
            nodes: [self.gateway, server],
            parties: [gateways, servers],
            seeds: [seed, seed + 1],
            traffic,
            of: Of::Access(Part::Exchange),
            stop: Nanos::MAX,
        })?;
        let upstream = Upstream::to(server, Tls::new(self.tls_round_trips), self.offer(window));
        if id.place >= self.open.len() {
            self.open.resize(id.place + 1, upstream);
        }
        self.open[id.place] = upstream;
        Ok(id)
    }

    /// The offer of a connection that begins with this window.
    fn offer(&self, window: u64) -> Offer {
        if window == u64::MAX { Offer::UNLIMITED } else { Offer::new(self.first_window, self.longest_window, window) }
    }

    /// A connection offers at least this window from now on. Returns the window that it offers.
    pub(super) fn widen(&mut self, id: EndId, window: u64) -> u64 {
        let offer = &mut self.open[id.place].offer;
        if let Some(window) = offer.wider(window) {
            offer.offers(window);
        }
        offer.bytes()
    }

    /// A connection is established, by a handshake of this round trip if known. Returns the window that it offers, if that has
    /// changed.
    pub(super) fn establish(&mut self, id: EndId, trip: Option<Nanos>) -> Option<u64> {
        let upstream = &mut self.open[id.place];
        upstream.is_established = true;
        let window = upstream.offer.establish(trip)?;
        upstream.offer.offers(window);
        Some(window)
    }

    /// A server read this many bytes; returns the length of its response if they completed a request.
    pub(super) fn server_read(&mut self, id: EndId, bytes: u64) -> Option<u64> {
        let upstream = &mut self.open[id.place];
        if upstream.asks == 0 {
            return None;
        }
        upstream.asks = upstream.asks.saturating_sub(bytes);
        (upstream.asks == 0).then_some(upstream.answers)
    }
}
