//! Opens tunnels: at a client's `CONNECT`, when both sides of a request switch to another protocol, or for an intercepted
//! connection.

use std::{
    net::IpAddr,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::spawn_local,
};
use tokio_rustls::rustls::ClientConnection;

use super::{
    carry::Tunnel,
    dialling::{Dialling, Dials},
    resettable::Resettable,
    sealed::Sealed,
};
use crate::{
    client::{Busy, Seat},
    record::Record,
    refusal::Refusal,
    relay::Relay,
    segment::SEGMENT,
    servers::Servers,
    state::{Link, Settings},
    upstream::{Reached, Switched, Ungated},
    wanted::Wanted,
    watch::Watch,
};

/// An open tunnel before any transfer.
struct Opened {
    tunnel: Tunnel,
    stream: TcpStream,
    seal: Option<Box<ClientConnection>>,
    // Bytes that the server has already sent.
    first: Bytes,
}

impl Opened {
    /// Carries bytes both ways until the tunnel ends.
    async fn carry(self, client: impl AsyncRead + AsyncWrite + Unpin) {
        let Self { tunnel, stream, seal, first } = self;
        let Some(session) = seal else { return tunnel.carry(client, stream, &first).await };
        // A failed session carries nothing, and the client learns that when its connection is closed.
        let Ok(mut client) = Sealed::new(client, session, &first) else { return };
        tunnel.passed_on(client.waiting());
        if client.flush().await.is_ok() {
            tunnel.carry(client, stream, &[]).await;
        }
    }
}

/// Opens tunnels.
#[derive(Debug)]
pub(crate) struct Tunnels {
    settings: Rc<Settings>,
    servers: Rc<Servers>,
    link: Rc<Link>,
    watch: Rc<Watch>,
    dialling: Dialling,
}

impl Tunnels {
    pub(crate) fn new(settings: &Rc<Settings>, servers: &Rc<Servers>, link: &Rc<Link>, watch: &Rc<Watch>) -> Self {
        let (settings, servers) = (Rc::clone(settings), Rc::clone(servers));
        Self { settings, servers, link: Rc::clone(link), watch: Rc::clone(watch), dialling: Dialling::default() }
    }

    /// Connects for a tunnel. `passed` is the header of its request, which lists the proxies that it has passed, and
    /// its version.
    pub(crate) async fn open(
        &self,
        wanted: &Wanted,
        record: &Record,
        passed: (&HeaderMap, Version),
    ) -> Result<Reached, Refusal> {
        let mut ways = self.servers.ways(wanted, None)?;
        loop {
            let dials = self.turn(record).await;
            let _place = self.servers.place()?;
            let (mut reached, way) = self.servers.connect(&mut ways, wanted, self.link.window_of(record.class)).await?;
            drop(dials);
            self.servers.goes_out(false);
            let Some(parent) = way.parent() else { return Ok(reached) };
            match self.servers.chain(&mut reached.line, parent, wanted, passed).await {
                Ok(()) => {
                    *record.parent.borrow_mut() = Some(Arc::clone(&parent.name));
                    return Ok(reached);
                }
                // This parent is unusable, but the next may not be.
                Err(Refusal::Parent { .. }) if ways.len() > 1 => drop(ways.pop_front()),
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Waits until this tunnel's user may dial again.
    async fn turn(&self, record: &Record) -> Dials {
        let asked = Instant::now();
        let rate = self.settings.config().downlink.goodput_bytes_per_s();
        let dials = self.dialling.turn(&record.who, Duration::from_secs_f64(SEGMENT as f64 / rate)).await;
        record.queue.set(record.queue.get() + asked.elapsed());
        dials
    }

    /// Confirms the tunnel to the client, and carries it.
    pub(crate) fn begin(
        &self,
        request: Request<Incoming>,
        reached: Reached,
        wanted: &Wanted,
        record: Record,
        guards: (Busy, Rc<Seat>),
    ) -> Response<Relay> {
        let Reached { line, server, .. } = reached;
        let tunnel = self.with((record, Arc::clone(&wanted.host)), server, line.ungated(), Bytes::new());
        spawn_local(async move {
            // A client that has disconnected needs no tunnel.
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                tunnel.carry(Resettable::new(TokioIo::new(upgraded))).await;
            }
            drop(guards);
        });
        Response::new(Relay::Nothing)
    }

    /// Carries an intercepted connection, under the server name in its ClientHello, if any.
    pub(crate) async fn carry(&self, stream: TcpStream, wanted: &Wanted, name: Option<String>, record: Record) {
        let opened = if let Some(refusal) = record.account.refusal() {
            Err(refusal)
        } else if self.settings.config().access.connect_ports.contains(&wanted.port) {
            self.open(wanted, &record, (&HeaderMap::new(), Version::HTTP_11)).await
        } else {
            Err(Refusal::ConnectPort(wanted.port))
        };
        match opened {
            Ok(Reached { line, server, .. }) => {
                record.status.set(200);
                let label = name.map_or_else(|| Arc::clone(&wanted.host), Arc::from);
                self.with((record, label), server, line.ungated(), Bytes::new()).carry(stream).await;
            }
            // Without decrypting TLS there is no way to send the reason.
            Err(refusal) => record.status.set(refusal.status().as_u16()),
        }
    }

    /// Tells the client that its server has switched to another protocol, and carries the tunnel.
    pub(crate) fn switch(
        &self,
        (client, response): (OnUpgrade, Response<()>),
        switched: Switched,
        named: (Record, Arc<str>),
        guards: (Busy, Rc<Seat>),
    ) -> Response<Relay> {
        let Switched { ungated, first, server } = switched;
        let tunnel = self.with(named, server, ungated, first);
        spawn_local(async move {
            if let Ok(upgraded) = client.await {
                tunnel.carry(TokioIo::new(upgraded)).await;
            }
            drop(guards);
        });
        response.map(|()| Relay::Nothing)
    }

    /// A tunnel whose server has already sent `first`.
    fn with(&self, named: (Record, Arc<str>), server: Option<IpAddr>, ungated: Ungated, first: Bytes) -> Opened {
        let Ungated { stream, offered, seal } = ungated;
        let of = (server, offered, self.servers.sampled(server));
        let tunnel = Tunnel::new((&self.link, &self.watch), named, of, seal.is_some());
        Opened { tunnel, stream, seal, first }
    }
}
