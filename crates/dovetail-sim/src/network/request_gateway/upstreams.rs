//! Connections from the gateway to servers, which are kept for the next request.

use dovetail_sched::{Nanos, request::RequestSetup};

use super::{
    idle::Idle,
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

/// The most that a connection's buffer holds: 16 MiB, as the longest window of a scenario.
const LONGEST_WINDOW: u32 = 1 << 24;

/// What a connection to a server is doing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Upstream {
    pub(super) server: usize,
    /// The request that is answered on it.
    pub(super) live: Option<usize>,
    /// What the gateway has read of its stream.
    pub(super) taken: u64,
    /// What the server has still to read of the request, and what it then answers.
    pub(super) asks: u64,
    pub(super) answers: u64,
    /// TLS's handshake, until it is over.
    pub(super) tls: Option<Tls>,
}

/// All connections to servers.
pub(super) struct Upstreams {
    // By their place among connections.
    open: Vec<Upstream>,
    // By server.
    idle: Idle,
    tls_round_trips: u8,
    /// How many were opened.
    pub(super) dialled: u64,
    gateway: usize,
    // Room for what a window that closes lets come, where that is told.
    receive_bytes: u32,
}

impl Upstreams {
    pub(super) fn new(access: &Access, setup: &RequestSetup) -> Self {
        // What may come and what may be read at once, with some for rounding.
        let longest = setup.longest_window.saturating_add(4 * setup.quantum);
        Self {
            open: Vec::new(),
            idle: Idle::new(access.servers.idle),
            tls_round_trips: access.servers.tls_round_trips,
            dialled: 0,
            gateway: access.gateway,
            receive_bytes: u32::try_from(longest).map_or(LONGEST_WINDOW, |longest| longest.min(LONGEST_WINDOW)),
        }
    }

    /// What the connection of this end is doing.
    pub(super) fn of(&mut self, id: EndId) -> &mut Upstream {
        &mut self.open[id.place]
    }

    /// A connection to the server that waits for a request.
    pub(super) fn take_idle(&mut self, server: usize) -> Option<EndId> {
        self.idle.take(server)
    }

    /// Whether a connection is used again.
    pub(super) fn keeps(&self) -> bool {
        self.idle.keeps()
    }

    /// A connection waits for the next request.
    pub(super) fn rests(&mut self, id: EndId, net: &mut GatewayNet<'_>) {
        let server = self.open[id.place].server;
        if let Some(at) = self.idle.rests(server, id, net.now) {
            net.agenda.add(at, Event::Access(Told::ServerIdle(server)));
        }
    }

    /// Connections to a server that were idle for too long, which are to be closed.
    pub(super) fn overdue(&mut self, server: usize, net: &mut GatewayNet<'_>) -> Vec<EndId> {
        let (closed, again) = self.idle.overdue(server, net.now);
        if let Some(at) = again {
            net.agenda.add(at, Event::Access(Told::ServerIdle(server)));
        }
        closed
    }

    /// Opens a connection to a server, for a response of this window first.
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
        // Any two numbers that no other connection has.
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
        if id.place >= self.open.len() {
            self.open.resize(id.place + 1, Upstream::default());
        }
        self.open[id.place] = Upstream { server, tls: Tls::new(self.tls_round_trips), ..Upstream::default() };
        Ok(id)
    }

    /// A server read this many bytes; what it answers, if that was the last of a request.
    pub(super) fn server_read(&mut self, id: EndId, bytes: u64) -> Option<u64> {
        let upstream = &mut self.open[id.place];
        if upstream.asks == 0 {
            return None;
        }
        upstream.asks = upstream.asks.saturating_sub(bytes);
        (upstream.asks == 0).then_some(upstream.answers)
    }
}
