//! Serves a client's connection.

mod answer;

use std::{convert::Infallible, future::Future, net::IpAddr, rc::Rc, sync::Arc, time::Duration};

use http::Method;
use hyper::{rt::Executor, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    select,
    sync::{Notify, watch::Receiver},
    time::timeout,
};

use crate::{
    backpressure::Share,
    bad_request::{ErrorPages, Unreadable},
    client::{Activity, ClientStream, Connection, Seat},
    exchange::Exchanges,
    pages::Seen,
    per_user::PerUser,
    quota::Quotas,
    record::Record,
    state::{ClassByHost, Identities, Notes, Settings},
    tunnel::Tunnels,
    wanted::Asked,
    watch::Watch,
};

/// What an HTTP/2 stream may buffer in each direction: its default window (RFC 9113, section 6.9.2).
const STREAM_BYTES: usize = 65_535;
/// Approximate limits on what a connection, and the connections of one client together, may have sent before servers take it.
const CONNECTION_BYTES: usize = 1 << 20;
const CLIENT_BYTES: usize = 16 << 20;
/// Clients that connect just before the gateway drains are about to send a request: this is how long to wait for it.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// Spawns on this thread.
#[derive(Debug, Clone, Copy)]
struct Here;

impl<F: Future<Output: 'static> + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// What is needed to serve clients.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) settings: Rc<Settings>,
    pub(crate) identities: Rc<Identities>,
    pub(crate) notes: Rc<Notes>,
    pub(crate) watch: Rc<Watch>,
    pub(crate) quotas: Rc<Quotas>,
    pub(crate) seen: Seen,
    pub(crate) users: Rc<PerUser<Share>>,
    pub(crate) exchanges: Exchanges,
    pub(crate) tunnels: Rc<Tunnels>,
    pub(crate) towards: Rc<ClassByHost>,
    /// Signals that the gateway drains.
    pub(crate) stops: Receiver<bool>,
}

/// A connected client.
#[derive(Debug)]
struct Client {
    serving: Rc<Serving>,
    address: IpAddr,
    asked: Asked,
    activity: Arc<Activity>,
    // Tunnels keep it when they take the connection over.
    seat: Rc<Seat>,
    share: Rc<Share>,
    // Notified when it may not stay.
    leaves: Notify,
}

/// Serves a connection until it ends.
pub(crate) async fn serve(serving: Rc<Serving>, stream: Connection, address: IpAddr, asked: Asked, seat: Seat) {
    let activity = Arc::new(Activity::default());
    let (most, headers) = serving.settings.header_limits();
    let (timeouts, instead) = {
        let config = serving.settings.config();
        let instead = ErrorPages { name: config.proxy.name.to_string(), header_bytes: most, headers };
        ((config.timeouts.header, config.timeouts.idle), instead)
    };
    let io = ClientStream::new(stream, Arc::clone(&activity), timeouts, instead);
    let mut builder = auto::Builder::new(Here);
    // Some programs and devices know names of fields only as they write them.
    builder.http1().preserve_header_case(true);
    // The stream itself enforces the timeout of headers.
    builder.http1().max_buf_size(most).max_headers(headers).header_read_timeout(None).timer(TokioTimer::new());
    builder.http2().max_header_list_size(u32::try_from(most).unwrap_or(u32::MAX)).timer(TokioTimer::new());
    builder.http2().max_concurrent_streams(100).max_send_buf_size(STREAM_BYTES);
    // What clients have sent and servers have not taken yet.
    let window = (CLIENT_BYTES / seat.of_client().max(1)).clamp(STREAM_BYTES, CONNECTION_BYTES);
    builder.http2().initial_stream_window_size(STREAM_BYTES as u32).initial_connection_window_size(window as u32);
    let mut stops = serving.stops.clone();
    let client = Rc::new(Client {
        serving,
        address,
        asked,
        activity: Arc::clone(&activity),
        seat: Rc::new(seat),
        share: Rc::default(),
        leaves: Notify::default(),
    });
    let this = Rc::clone(&client);
    let service = service_fn(move |request| {
        let client = Rc::clone(&client);
        async move { Ok::<_, Infallible>(client.answer(request).await) }
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(io), service);
    let mut connection = std::pin::pin!(connection);
    let done = select! {
        biased;
        done = &mut connection => done,
        () = this.leaves.notified() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        _ = stops.wait_for(|stops| *stops) => {
            if !activity.has_begun() && timeout(FIRST_REQUEST, &mut connection).await.is_ok() {
                return;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // How a connection ends otherwise is up to its client.
    let is_unread = done.is_err_and(|error| error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse));
    if is_unread {
        this.note_unreadable();
    }
}

impl Client {
    /// Counts and logs a request that could not be parsed.
    fn note_unreadable(&self) {
        let (why, sent_bytes) = self.activity.unreadable().unwrap_or((Unreadable::Malformed, 0));
        let (who, class) = self.serving.identities.by_address(self.address);
        // Squid's word for an unknown method.
        let method = Method::from_bytes(b"NONE").unwrap_or_default();
        let account = self.serving.quotas.account(&who, class);
        let record =
            Record::new(Rc::clone(&self.serving.notes), (account, self.address), method, why.target().to_owned());
        record.status.set(why.status().as_u16());
        record.sent.set(sent_bytes as u64);
    }
}
