//! Connections that arrive: they are served, or told why not.

use std::{net::IpAddr, rc::Rc, time::Duration};

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
    client::Seats,
    counters::{Counters, add},
    intercept::intercepted,
    refusal::Refusal,
    serve::{Serving, serve},
    state::Room,
    wanted::Asked,
};

/// The most that are told why they are turned away at once. Of more the connection is closed.
const MOST_TURNED_AWAY: usize = 64;

/// What is said takes no longer.
const LONGEST: Duration = Duration::from_secs(2);

/// Lets clients in.
#[derive(Debug)]
pub(crate) struct Door {
    serving: Rc<Serving>,
    seats: Rc<Seats>,
    room: Rc<Room>,
    counters: Rc<Counters>,
    // As many as are being turned away, and one.
    turned_away: Rc<()>,
}

impl Door {
    pub(crate) fn new(serving: Rc<Serving>, seats: &Rc<Seats>, room: &Rc<Room>, counters: &Rc<Counters>) -> Self {
        let (seats, room, counters) = (Rc::clone(seats), Rc::clone(room), Rc::clone(counters));
        Self { serving, seats, room, counters, turned_away: Rc::default() }
    }

    /// Whether the gateway begins nothing new.
    pub(super) fn stops(&self) -> Receiver<bool> {
        self.serving.stops.clone()
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// Serves a connection, or says why not.
    pub(super) fn welcome(&self, stream: TcpStream, client: IpAddr, how: How) {
        add(&self.counters.accepted, 1);
        let config = self.serving.settings.config();
        if !config.access.clients.contains(client) {
            add(&self.counters.refused_clients, 1);
            return self.turn_away(stream, &Refusal::NotAClient(client));
        }
        let limits = &config.limits;
        let most = limits.connections.min(self.room.clients());
        let seat = self.seats.take(client, most, limits.connections_per_user).filter(|_| self.room.is_there());
        let Some(seat) = seat else {
            add(&self.counters.refused_full, 1);
            return self.turn_away(stream, &Refusal::Full);
        };
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let serving = Rc::clone(&self.serving);
        match how {
            How::Proxy => {
                // A connection that is gone already has no address.
                let Ok(met) = stream.local_addr() else { return };
                drop(spawn_local(serve(serving, stream, client, Asked::Proxy(met), seat)));
            }
            How::Redirect | How::Tproxy => {
                drop(spawn_local(intercepted(serving, stream, client, how == How::Tproxy, seat)));
            }
        }
    }

    /// Says why not.
    fn turn_away(&self, mut stream: TcpStream, refusal: &Refusal) {
        let guard = Rc::clone(&self.turned_away);
        if Rc::strong_count(&guard) >= MOST_TURNED_AWAY {
            return;
        }
        debug!("refused: {refusal}");
        let page = refusal.raw_page(&self.serving.settings.config().proxy.name);
        spawn_local(async move {
            let told = async {
                // A connection that is closed with something unread is reset, and the page with it.
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await?;
                stream.write_all(page.as_bytes()).await?;
                stream.shutdown().await
            };
            // A client that takes nothing of it has what it asked for.
            drop(timeout(LONGEST, told).await);
            drop(guard);
        });
    }
}
