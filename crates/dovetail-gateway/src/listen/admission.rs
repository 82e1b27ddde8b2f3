//! Admits new connections: serves them or sends a refusal.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    rc::Rc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch::Receiver,
    task::spawn_local,
    time::timeout,
};
use tracing::debug;

use super::sockets::How;
use crate::{
    client::{Connection, Seat, Seats},
    counters::{Counters, add},
    intercept::intercepted,
    proxy_protocol::{Announced, announced},
    refusal::Refusal,
    serve::{Serving, serve},
    state::Room,
    tls::Tls,
    wanted::{Asked, Met},
    who::Who,
};

/// Maximum number of refusals being sent at once. Further connections are closed without one.
const MAX_TURNED_AWAY: usize = 64;

/// Maximum time to send a refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Admits clients.
#[derive(Debug)]
pub(crate) struct Door {
    serving: Rc<Serving>,
    tls: Rc<Tls>,
    seats: Rc<Seats>,
    room: Rc<Room>,
    counters: Rc<Counters>,
    // Its reference count is the number of refusals being sent, plus one.
    turned_away: Rc<()>,
}

impl Door {
    pub(crate) fn new(
        serving: Rc<Serving>,
        tls: &Rc<Tls>,
        seats: &Rc<Seats>,
        (room, counters): (&Rc<Room>, &Rc<Counters>),
    ) -> Self {
        let (tls, seats, room, counters) = (Rc::clone(tls), Rc::clone(seats), Rc::clone(room), Rc::clone(counters));
        Self { serving, tls, seats, room, counters, turned_away: Rc::default() }
    }

    /// Signals that the gateway drains.
    pub(super) fn stops(&self) -> Receiver<bool> {
        self.serving.stops.clone()
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// Serves a connection or refuses it. One from a trusted source first names its client.
    pub(super) fn welcome(self: &Rc<Self>, stream: TcpStream, peer: IpAddr, how: How) {
        add(&self.counters.accepted, 1);
        // A connection that has already been closed has no address.
        let Ok(met) = stream.local_addr() else { return };
        let config = self.serving.settings.config();
        if !matches!(how, How::Proxy | How::Tls) || !config.proxy.trusted.contains(peer) {
            return self.admit(stream, peer, met, how);
        }
        // The client that the seat will belong to is not known yet.
        let most = config.limits.connections.min(self.room.clients());
        let Some(seat) = self.seats.take(&Who::at(&config, peer), most, usize::MAX).filter(|_| self.room.is_there())
        else {
            add(&self.counters.refused_full, 1);
            return;
        };
        let this = Rc::clone(self);
        spawn_local(async move {
            let mut stream = stream;
            let said = timeout(config.timeouts.header, announced(&mut stream)).await;
            drop(seat);
            match said.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(Announced::Client { from, met }) => this.admit(stream, from.ip().to_canonical(), met, how),
                Ok(Announced::Itself) => this.admit(stream, peer, met, how),
                Err(error) => {
                    add(&this.counters.refused_headers, 1);
                    debug!(%peer, "refused: no PROXY header: {error}");
                }
            }
        });
    }

    /// Serves a client's connection, or refuses it.
    fn admit(&self, stream: TcpStream, client: IpAddr, met: SocketAddr, how: How) {
        let config = self.serving.settings.config();
        if !config.access.clients.contains(client) {
            add(&self.counters.refused_clients, 1);
            return self.turn_away(stream, how, &Refusal::NotAClient(client));
        }
        let limits = &config.limits;
        let most = limits.connections.min(self.room.clients());
        let seat = self
            .seats
            .take(&Who::at(&config, client), most, limits.connections_per_user)
            .filter(|_| self.room.is_there());
        let Some(seat) = seat else {
            add(&self.counters.refused_full, 1);
            return self.turn_away(stream, how, &Refusal::Full);
        };
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let serving = Rc::clone(&self.serving);
        match how {
            How::Proxy => {
                let asked = Asked::Proxy(Met::in_clear(met));
                drop(spawn_local(serve(serving, Connection::Left(stream), client, asked, seat)));
            }
            How::Tls => self.secure(stream, client, Met { at: met, is_tls: true }, seat),
            How::Redirect | How::Tproxy => {
                drop(spawn_local(intercepted(serving, stream, client, how == How::Tproxy, seat)));
            }
        }
    }

    /// Serves a client's connection after the TLS handshake.
    fn secure(&self, stream: TcpStream, client: IpAddr, met: Met, seat: Seat) {
        let (serving, tls, counters) = (Rc::clone(&self.serving), Rc::clone(&self.tls), Rc::clone(&self.counters));
        let within = serving.settings.config().timeouts.header;
        spawn_local(async move {
            let secured = timeout(within, tls.accept(stream)).await;
            match secured.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(connection) => serve(serving, connection, client, Asked::Proxy(met), seat).await,
                Err(error) => {
                    add(&counters.refused_tls, 1);
                    debug!(%client, "refused: no TLS: {error}");
                }
            }
        });
    }

    /// Sends a refusal.
    fn turn_away(&self, mut stream: TcpStream, how: How, refusal: &Refusal) {
        if how == How::Tls {
            // A refusal over TLS would cost the gateway a handshake.
            return;
        }
        let guard = Rc::clone(&self.turned_away);
        if Rc::strong_count(&guard) >= MAX_TURNED_AWAY {
            return;
        }
        debug!("refused: {refusal}");
        let page = refusal.raw_page(&self.serving.settings.config().proxy.name);
        spawn_local(async move {
            let told = async {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await?;
                stream.write_all(page.as_bytes()).await?;
                stream.shutdown().await?;
                // Closing a connection with unread data resets it, which discards the page too (RFC 9112, 9.6).
                while stream.read(&mut request).await? > 0 {}
                io::Result::Ok(())
            };
            // A client that does not read it cannot be helped.
            drop(timeout(REFUSAL_TIMEOUT, told).await);
            drop(guard);
        });
    }
}
