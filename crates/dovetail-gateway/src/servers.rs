//! Connects to servers at permitted addresses, and counts the connections.

use std::{collections::VecDeque, io, net::IpAddr, rc::Rc, sync::Arc, time::Duration};

use http::{HeaderMap, Version};
use tokio::time::timeout;
use tracing::debug;

use crate::{
    config::{Parent, Probe},
    counted::Counted,
    counters::{Counters, add},
    message,
    refusal::Refusal,
    round_trips::{RoundTrips, Sampled},
    state::{Destinations, Room, Settings},
    upstream::{Failure, Gated, Line, Reached, Server, TunnelRefused, Upstream, Window, chain},
    wanted::Wanted,
    ways::{Unreached, Way, asked_for, is_resolvable, ways},
};

/// How long to wait for a parent that does not answer, if there is another way.
const PATIENCE: Duration = Duration::from_secs(5);

/// The remaining ways, and the addresses of the first one if already known.
pub(crate) type Ways = VecDeque<(Way, Vec<IpAddr>)>;

/// Makes connections to servers.
#[derive(Debug)]
pub(crate) struct Servers {
    settings: Rc<Settings>,
    destinations: Rc<Destinations>,
    room: Rc<Room>,
    counters: Rc<Counters>,
    round_trips: Rc<RoundTrips>,
    unreached: Rc<Unreached>,
}

impl Servers {
    pub(crate) fn new(
        settings: &Rc<Settings>,
        (destinations, room): (&Rc<Destinations>, &Rc<Room>),
        (counters, unreached): (&Rc<Counters>, &Rc<Unreached>),
        round_trips: &Rc<RoundTrips>,
    ) -> Self {
        Self {
            settings: Rc::clone(settings),
            destinations: Rc::clone(destinations),
            room: Rc::clone(room),
            counters: Rc::clone(counters),
            round_trips: Rc::clone(round_trips),
            unreached: Rc::clone(unreached),
        }
    }

    /// The ways to reach what is wanted, in the order in which to try them. `named` is the header that a request is forwarded
    /// with; a tunnel has none.
    ///
    /// For ways through a parent, which resolves names itself, the requested host is checked.
    pub(crate) fn ways(&self, wanted: &Wanted, named: Option<&HeaderMap>) -> Result<Ways, Refusal> {
        let config = self.settings.config();
        let ways = ways(&self.settings, &self.unreached, &wanted.host);
        if ways.iter().any(|way| way.parent().is_some()) {
            let asked = asked_for(&config, wanted, named)?;
            for asked in [wanted, &asked] {
                if let Ok(address) = asked.host.parse() {
                    self.destinations.check(&asked.host, (address, asked.port))?;
                } else if !is_resolvable(&asked.host) {
                    return Err(Refusal::OwnName(Arc::clone(&asked.host)));
                }
            }
        }
        Ok(ways.into_iter().map(|way| (way, Vec::new())).collect())
    }

    /// The key under which a connection is pooled.
    pub(crate) fn server(way: &Way, wanted: &Wanted) -> Server {
        match way {
            Way::Direct => Server::Direct(Arc::clone(&wanted.host), wanted.port),
            Way::By(parent) => Server::By(Arc::clone(parent)),
        }
    }

    /// Connects by the first of these ways that succeeds; those that failed before it are removed.
    pub(crate) async fn connect(
        &self,
        ways: &mut Ways,
        wanted: &Wanted,
        window: Option<Window>,
    ) -> Result<(Reached, Way), Refusal> {
        let mut failed = Refusal::Internal("there is no way".into());
        while let Some((way, addresses)) = ways.front_mut() {
            let (way, known) = (way.clone(), std::mem::take(addresses));
            let is_last = ways.len() == 1;
            let dialled = match &way {
                Way::Direct => self.dial_server(known, wanted, window).await,
                Way::By(parent) => self.dial_parent(parent, window, is_last).await,
            };
            match dialled {
                Ok(reached) => return Ok((reached, way)),
                Err(refusal) => failed = refusal,
            }
            ways.pop_front();
            // Without room here, the parent has not been tried.
            if let Some(parent) = way.parent().filter(|_| failed != Refusal::Full) {
                debug!("{failed}");
                let next = ways.front().map(|(way, _)| way);
                self.unreached.note(parent, &failed, next);
            }
        }
        Err(failed)
    }

    async fn dial_server(
        &self,
        mut addresses: Vec<IpAddr>,
        wanted: &Wanted,
        window: Option<Window>,
    ) -> Result<Reached, Refusal> {
        if addresses.is_empty() {
            addresses = self.addresses(wanted).await?;
        }
        let upstream = self.dial(&addresses, wanted, window).await?;
        let server = upstream.server;
        let (gated, gate) = Gated::new(upstream, false, self.sampled(server));
        Ok(Reached { line: Line::Clear(gated), gate, server })
    }

    /// Connects to a parent, whose address is unrestricted since the operator has configured it.
    async fn dial_parent(&self, parent: &Parent, window: Option<Window>, is_last: bool) -> Result<Reached, Refusal> {
        if !self.room.is_there() {
            return Err(Refusal::Full);
        }
        let name = || Arc::clone(&parent.name);
        let found = self.destinations.resolve(&parent.address.0).await;
        let addresses = found.map_err(|refusal| Refusal::Parent { parent: name(), why: refusal.to_string() })?;
        let within = self.settings.config().timeouts.connect;
        let within = if is_last { within } else { within.min(PATIENCE) };
        let upstream = self.race((&addresses, parent.address.1), window, within).await;
        let upstream = upstream.map_err(|failure| match failure {
            Failure::Timeout => Refusal::ParentTimeout(name()),
            Failure::Error(error) if error.kind() == io::ErrorKind::TimedOut => Refusal::ParentTimeout(name()),
            Failure::Error(error) => Refusal::Parent { parent: name(), why: error.to_string() },
        })?;
        let server = upstream.server;
        let (gated, gate) = Gated::new(upstream, parent.tls.is_some(), self.sampled(server));
        let line = match &parent.tls {
            None => Line::Clear(gated),
            Some(tls) => match timeout(within, tls.connector().connect(tls.name.clone(), gated)).await {
                Ok(Ok(stream)) => Line::Tls(Box::new(stream)),
                Ok(Err(error)) => {
                    return Err(Refusal::Parent { parent: name(), why: format!("its TLS is refused: {error}") });
                }
                Err(_) => return Err(Refusal::ParentTimeout(name())),
            },
        };
        self.unreached.forget(parent);
        Ok(Reached { line, gate, server })
    }

    /// Requests a tunnel from a parent.
    pub(crate) async fn chain(
        &self,
        line: &mut Line,
        parent: &Parent,
        wanted: &Wanted,
        passed: (&HeaderMap, Version),
    ) -> Result<(), Refusal> {
        let request = message::connect(&self.settings, parent, wanted, passed);
        let within = self.settings.config().timeouts.response;
        let (name, host) = (Arc::clone(&parent.name), Arc::clone(&wanted.host));
        match timeout(within, chain(line, request.as_bytes())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(TunnelRefused::Status(407))) => Err(Refusal::ParentAsks(name)),
            Ok(Err(TunnelRefused::Status(status))) => Err(Refusal::ParentStatus { parent: name, host, status }),
            Ok(Err(TunnelRefused::Garbage)) => {
                Err(Refusal::Parent { parent: name, why: "what it answered is not HTTP".into() })
            }
            Ok(Err(TunnelRefused::Error(error))) => {
                Err(Refusal::Parent { parent: name, why: format!("it broke off: {error}") })
            }
            Err(_) => Err(Refusal::ResponseTimeout(host)),
        }
    }

    /// Whether an existing connection to this address may still be used.
    pub(crate) fn may_reach(&self, server: Option<IpAddr>) -> bool {
        self.destinations.may_reach(server)
    }

    /// The permitted addresses of what is wanted.
    pub(crate) async fn addresses(&self, wanted: &Wanted) -> Result<Vec<IpAddr>, Refusal> {
        // Over HTTP/2 a client's connection can carry many requests.
        if !self.room.is_there() {
            return Err(Refusal::Full);
        }
        self.destinations.addresses(&wanted.host, wanted.port).await
    }

    /// Connects to one of these addresses.
    async fn dial(&self, addresses: &[IpAddr], wanted: &Wanted, window: Option<Window>) -> Result<Upstream, Refusal> {
        let host = wanted.host.clone();
        let within = self.settings.config().timeouts.connect;
        self.race((addresses, wanted.port), window, within).await.map_err(|failure| match failure {
            Failure::Timeout => Refusal::ConnectTimeout(host),
            Failure::Error(error) if error.kind() == io::ErrorKind::TimedOut => Refusal::ConnectTimeout(host),
            Failure::Error(error) => Refusal::Connect { host, why: error.to_string() },
        })
    }

    /// Tries several at once if there is room for more connections.
    async fn race(&self, to: (&[IpAddr], u16), window: Option<Window>, within: Duration) -> Result<Upstream, Failure> {
        Upstream::connect(to, window, within, || self.room.beside()).await
    }

    /// Reserves a slot for a connection that no request in flight has yet.
    pub(crate) fn place(&self) -> Result<Counted, Refusal> {
        self.room.place().ok_or(Refusal::Full)
    }

    /// Where to sample a connection's round-trip times, if they are the probe or may have to replace it.
    pub(crate) fn sampled(&self, server: Option<IpAddr>) -> Option<Sampled> {
        let server = server.filter(|_| self.settings.config().downlink.probe != Probe::Off)?;
        Some(Sampled::new(Rc::clone(&self.round_trips), server))
    }

    /// How long after its release a request's answer begins to arrive, if known: on a new connection after a handshake too.
    pub(crate) fn distance(&self, server: Option<IpAddr>, is_connected: bool) -> Option<Duration> {
        let least = self.round_trips.least(server?)?;
        Some(if is_connected { least } else { least * 2 })
    }

    /// Counts a request or tunnel sent on a connection, which is reused or new.
    pub(crate) fn goes_out(&self, is_reused: bool) {
        add(if is_reused { &self.counters.reused } else { &self.counters.dialled }, 1);
    }

    /// Counts a retry of a request.
    pub(crate) fn retries(&self) {
        add(&self.counters.retried, 1);
    }
}
