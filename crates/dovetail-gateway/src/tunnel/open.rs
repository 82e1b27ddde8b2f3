//! Tunnels begin: at a client's `CONNECT`, when both sides of a request switch to another protocol, or with a connection that
//! was meant for a server.

use std::{net::IpAddr, rc::Rc, sync::Arc};

use http::{HeaderMap, Request, Response};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::spawn_local};

use super::carry::Tunnel;
use crate::{
    client::{Busy, Seat},
    record::Record,
    refusal::Refusal,
    relay::Relay,
    servers::Servers,
    state::{Link, Settings},
    upstream::{Offered, Switched, Upstream},
    wanted::Wanted,
    watch::Watch,
};

/// Opens tunnels.
#[derive(Debug)]
pub(crate) struct Tunnels {
    settings: Rc<Settings>,
    servers: Rc<Servers>,
    link: Rc<Link>,
    watch: Rc<Watch>,
}

impl Tunnels {
    pub(crate) fn new(settings: &Rc<Settings>, servers: &Rc<Servers>, link: &Rc<Link>, watch: &Rc<Watch>) -> Self {
        let (settings, servers) = (Rc::clone(settings), Rc::clone(servers));
        Self { settings, servers, link: Rc::clone(link), watch: Rc::clone(watch) }
    }

    /// Makes the connection for a tunnel. `passed`: the header of the request for it, which says what proxies that has passed.
    pub(crate) async fn open(&self, wanted: &Wanted, record: &Record, passed: &HeaderMap) -> Result<Upstream, Refusal> {
        let mut ways = self.servers.ways(wanted, None)?;
        loop {
            let (mut upstream, way) =
                self.servers.connect(&mut ways, wanted, self.link.window_of(record.class)).await?;
            self.servers.goes_out(false);
            let Some(parent) = way.parent() else { return Ok(upstream) };
            match self.servers.chain(&mut upstream, parent, wanted, passed).await {
                Ok(()) => {
                    *record.parent.borrow_mut() = Some(Arc::clone(&parent.name));
                    return Ok(upstream);
                }
                // Of no use at all: the next may be.
                Err(Refusal::Parent { .. }) if ways.len() > 1 => drop(ways.pop_front()),
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Says that the tunnel is there, and carries what comes.
    pub(crate) fn begin(
        &self,
        request: Request<Incoming>,
        upstream: Upstream,
        wanted: &Wanted,
        record: Record,
        guards: (Busy, Rc<Seat>),
    ) -> Response<Relay> {
        let (tunnel, server) = self.tunnel(record, Arc::clone(&wanted.host), upstream);
        spawn_local(async move {
            // A client that is gone before needs no tunnel.
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                tunnel.carry(TokioIo::new(upgraded), server, &[]).await;
            }
            drop(guards);
        });
        Response::new(Relay::Nothing)
    }

    /// Carries a connection that was meant for a server, under a name that it gave, if it gave one.
    pub(crate) async fn carry(&self, stream: TcpStream, wanted: &Wanted, name: Option<String>, record: Record) {
        let opened = if let Some(refusal) = record.account.refusal() {
            Err(refusal)
        } else if self.settings.config().access.connect_ports.contains(&wanted.port) {
            self.open(wanted, &record, &HeaderMap::new()).await
        } else {
            Err(Refusal::ConnectPort(wanted.port))
        };
        match opened {
            Ok(upstream) => {
                record.status.set(200);
                let label = name.map_or_else(|| Arc::clone(&wanted.host), Arc::from);
                let (tunnel, server) = self.tunnel(record, label, upstream);
                tunnel.carry(stream, server, &[]).await;
            }
            // There is no way to say why in TLS that is not opened.
            Err(refusal) => record.status.set(refusal.status().as_u16()),
        }
    }

    /// Tells the client that its server switched to another protocol, and carries what comes.
    pub(crate) fn switch(
        &self,
        (client, response): (OnUpgrade, Response<()>),
        switched: Switched,
        (record, label): (Record, Arc<str>),
        guards: (Busy, Rc<Seat>),
    ) -> Response<Relay> {
        let Switched { stream, first, server, offered } = switched;
        let tunnel = self.with(record, label, server, offered);
        spawn_local(async move {
            if let Ok(upgraded) = client.await {
                tunnel.carry(TokioIo::new(upgraded), stream, &first).await;
            }
            drop(guards);
        });
        response.map(|()| Relay::Nothing)
    }

    fn tunnel(&self, record: Record, label: Arc<str>, upstream: Upstream) -> (Tunnel, TcpStream) {
        let Upstream { stream, server, offered } = upstream;
        (self.with(record, label, server, offered), stream)
    }

    fn with(&self, record: Record, label: Arc<str>, server: Option<IpAddr>, offered: Offered) -> Tunnel {
        let sampled = self.servers.sampled(server);
        Tunnel::new((&self.link, &self.watch), record, label, (server, offered, sampled))
    }
}
