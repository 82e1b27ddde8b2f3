//! What a client's connection brings.

use std::{convert::Infallible, future::Future, net::IpAddr, rc::Rc, sync::Arc, time::Duration};

use http::{Method, Request, Response, StatusCode, header};
use hyper::{
    body::{Body, Incoming},
    rt::Executor,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{select, sync::watch::Receiver, time::timeout};
use tracing::debug;

use crate::{
    addressed::{Addressed, addressed},
    client::{Activity, Busy, ClientStream, Connection, Seat},
    exchange::{Exchanges, Fetched},
    held::{Flow, Share},
    pages::{self, Seen, Visit},
    per_user::{Of, PerUser},
    permitted::{in_hours, is_new, permitted},
    quota::Quotas,
    record::Record,
    refusal::Refusal,
    relay::Relay,
    state::{Identities, Notes, Settings, Towards},
    tunnel::Tunnels,
    unreadable::{Instead, Unreadable},
    upgrade,
    wanted::{Asked, Met, is_sound},
    watch::{Phase, Watch},
};

/// What a stream of HTTP/2 may hold in each direction: the window that it has without being told (RFC 9113, section 6.9.2).
const STREAM_BYTES: usize = 65_535;
/// What a connection may have sent that no server took, and what the connections of one client together may, about.
const CONNECTION_BYTES: usize = 1 << 20;
const CLIENT_BYTES: usize = 16 << 20;
/// Who connected just before the gateway begins nothing new is about to ask: there is so long for it.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// Spawns on this thread.
#[derive(Debug, Clone, Copy)]
struct Here;

impl<F: Future<Output: 'static> + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// What it takes to serve clients.
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
    pub(crate) towards: Rc<Towards>,
    /// Whether the gateway begins nothing new.
    pub(crate) stops: Receiver<bool>,
}

/// A client that is connected.
#[derive(Debug)]
struct Client {
    serving: Rc<Serving>,
    address: IpAddr,
    asked: Asked,
    activity: Arc<Activity>,
    // Tunnels keep it when the connection is theirs.
    seat: Rc<Seat>,
    share: Rc<Share>,
}

/// Serves a connection until it ends.
pub(crate) async fn serve(serving: Rc<Serving>, stream: Connection, address: IpAddr, asked: Asked, seat: Seat) {
    let activity = Arc::new(Activity::default());
    let (most, headers) = serving.settings.header_limits();
    let (timeouts, instead) = {
        let config = serving.settings.config();
        let instead = Instead { name: config.proxy.name.to_string(), header_bytes: most, headers };
        ((config.timeouts.header, config.timeouts.idle), instead)
    };
    let io = ClientStream::new(stream, Arc::clone(&activity), timeouts, instead);
    let mut builder = auto::Builder::new(Here);
    // The stream itself sees to it that headers come in time.
    builder.http1().max_buf_size(most).max_headers(headers).header_read_timeout(None).timer(TokioTimer::new());
    builder.http2().max_header_list_size(u32::try_from(most).unwrap_or(u32::MAX)).timer(TokioTimer::new());
    builder.http2().max_concurrent_streams(100).max_send_buf_size(STREAM_BYTES);
    // What clients send and servers do not take yet.
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
        _ = stops.wait_for(|stops| *stops) => {
            if !activity.has_begun() && timeout(FIRST_REQUEST, &mut connection).await.is_ok() {
                return;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // How else a client's connection ends is the client's affair.
    let is_unread = done.is_err_and(|error| error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse));
    if is_unread {
        this.note_unreadable();
    }
}

impl Client {
    /// Counts and logs a request that could not be read.
    fn note_unreadable(&self) {
        let (why, sent_bytes) = self.activity.unreadable().unwrap_or((Unreadable::Malformed, 0));
        let (who, class) = self.serving.identities.by_address(self.address);
        // Squid's word for a method that is not known.
        let method = Method::from_bytes(b"NONE").unwrap_or_default();
        let account = self.serving.quotas.account(&who, class);
        let record =
            Record::new(Rc::clone(&self.serving.notes), (account, self.address), method, why.target().to_owned());
        record.status.set(why.status().as_u16());
        record.sent.set(sent_bytes as u64);
    }

    async fn answer(&self, mut request: Request<Incoming>) -> Response<Relay> {
        let busy = self.activity.begin();
        if let Asked::Proxy(met) = self.asked
            && let Some(how) = addressed(&self.serving.settings.config(), &request, met)
        {
            return self.page(request, (how, met), busy).await;
        }
        let (who, class, denied) = match self.serving.identities.who(self.address, request.headers()).await {
            Ok((who, class)) => (who, class, None),
            Err(refusal) => {
                let (who, class) = self.serving.identities.by_address(self.address);
                (who, class, Some(refusal))
            }
        };
        let target = target(&request);
        let who = (self.serving.quotas.account(&who, class), self.address);
        let mut record = Record::new(Rc::clone(&self.serving.notes), who, request.method().clone(), target);
        if let Some(refusal) = denied {
            return self.refuse(&refusal, record, self.flow(None, busy));
        }
        let wanted = match permitted(&self.serving.settings.config(), &request, self.asked) {
            Ok(wanted) => wanted,
            Err(refusal) => return self.refuse(&refusal, record, self.flow(None, busy)),
        };
        if let Some(refusal) = record.account.refusal() {
            if !wanted.is_tunnel && !request.body().is_end_stream() {
                self.activity.linger();
            }
            return self.refuse(&refusal, record, self.flow(None, busy));
        }
        let said = host_said(&request).filter(|_| matches!(self.asked, Asked::Intercepted(_)));
        if let Some(class) = self.serving.towards.class(&wanted, said.as_deref()).await {
            record.goes_to(class);
        }
        let config = self.serving.settings.config();
        let closed = config.classes.get(record.class.0 as usize);
        let closed = closed.and_then(|class| in_hours(class, || self.serving.settings.now()).err());
        if let Some(refusal) = closed {
            return self.refuse(&refusal, record, self.flow(None, busy));
        }
        let user = self.serving.users.of(&record.who, Share::default);
        // This one included.
        let count = Rc::strong_count(&user);
        let most = config.limits.requests_per_user;
        if count > most {
            return self.refuse(&Refusal::TooManyRequests(most), record, self.flow(None, busy));
        }
        if wanted.is_tunnel {
            let tunnels = &self.serving.tunnels;
            let opened = tunnels.open(&wanted, &record, request.headers()).await;
            // One that is there is a connection, and no request any more.
            drop(user);
            return match opened {
                Ok(upstream) => {
                    record.status.set(StatusCode::OK.as_u16());
                    tunnels.begin(request, upstream, &wanted, record, (busy, Rc::clone(&self.seat)))
                }
                Err(refusal) => self.refuse(&refusal, record, self.flow(None, busy)),
            };
        }
        let flow = self.flow(Some(user), busy);
        let has_body = !request.body().is_end_stream();
        let upgrade = upgrade::is_asked(&request).then(|| hyper::upgrade::on(&mut request));
        match self.serving.exchanges.fetch(request, &wanted, &record, &flow, &self.activity).await {
            Ok(Fetched::Answer(answer)) => answer.relay(record, flow),
            Ok(Fetched::Switched(response, switched)) => {
                let Some(client) = upgrade else {
                    return self.refuse(&Refusal::Internal("nothing was to be switched".into()), record, flow);
                };
                record.status.set(StatusCode::SWITCHING_PROTOCOLS.as_u16());
                record.is_tunnel.set(true);
                let guards = (self.activity.begin(), Rc::clone(&self.seat));
                self.serving.tunnels.switch((client, response), switched, (record, wanted.host), guards)
            }
            Err(refusal) => {
                if has_body {
                    self.activity.linger();
                }
                self.refuse(&refusal, record, flow)
            }
        }
    }

    /// Answers with a page of the gateway's own.
    async fn page(&self, request: Request<Incoming>, (how, met): (Addressed, Met), busy: Busy) -> Response<Relay> {
        let Serving { identities, notes, settings, quotas, .. } = &*self.serving;
        let by_address = || identities.by_address(self.address);
        let known = if pages::is_for_all(&request) {
            Ok(by_address())
        } else {
            identities.who_says(self.address, request.headers().get(how.credentials())).await
        };
        let (known, denied) = match known {
            Ok(known) => (known, None),
            Err(refusal) => (by_address(), Some(refusal)),
        };
        let (who, class) = known.clone();
        let record = Record::new(
            Rc::clone(notes),
            (quotas.account(&who, class), self.address),
            request.method().clone(),
            target(&request),
        );
        let checked = is_sound(&request).and_then(|()| is_new(&settings.config(), &request));
        if let Some(refusal) = checked.err().or(denied) {
            let mut response = self.refuse(&refusal, record, self.flow(None, busy));
            how.challenge(&mut response);
            return response;
        }
        if !request.body().is_end_stream() {
            // Nobody reads it.
            self.activity.linger();
        }
        let accept_language = request.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let visit = Visit {
            config: &settings.config(),
            who: &known.0,
            class: known.1,
            how,
            met,
            accept_language,
            account: &record.account,
            seen: &self.serving.seen,
        };
        let page = pages::answer(&request, &visit);
        record.status.set(page.status().as_u16());
        record.is_whole.set(true);
        let flow = self.flow(None, busy);
        flow.progress().waits_for(Phase::Transfer);
        page.map(|page| Relay::page(page, record, flow))
    }

    /// What becomes of a request, until the last byte of that is written.
    fn flow(&self, user: Option<Rc<Of<Share>>>, busy: Busy) -> Rc<Flow> {
        let watched = self.serving.watch.begin(Phase::Turn, Some(Arc::clone(&self.activity)));
        Flow::new(Rc::clone(&self.share), user, watched, busy)
    }

    fn refuse(&self, refusal: &Refusal, record: Record, flow: Rc<Flow>) -> Response<Relay> {
        debug!(client = %self.address, "refused: {refusal}");
        if refusal.closes() {
            self.activity.linger();
        }
        let page = refusal.page(&self.serving.settings.config().proxy.name);
        record.status.set(page.status().as_u16());
        flow.progress().waits_for(Phase::Transfer);
        page.map(|page| Relay::page(page, record, flow))
    }
}

/// The name in `Host`, which an intercepted client may have written as it likes.
fn host_said(request: &Request<Incoming>) -> Option<String> {
    let said = request.headers().get(http::header::HOST)?.to_str().ok()?;
    let host = said.parse::<http::uri::Authority>().ok()?.host().trim_end_matches('.').to_ascii_lowercase();
    Some(host)
}

/// The target as the log has it.
fn target(request: &Request<Incoming>) -> String {
    let uri = request.uri();
    match (request.method(), uri.authority()) {
        (&Method::CONNECT, Some(authority)) => authority.to_string(),
        (_, Some(_)) => uri.to_string(),
        (_, None) => {
            let host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("-");
            format!("http://{host}{uri}")
        }
    }
}
