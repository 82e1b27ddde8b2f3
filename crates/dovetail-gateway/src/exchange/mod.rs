//! A request that a server answers: prepared, released by the policy, and sent, if need be once more.

mod answer;
mod ask;

use std::{ops::ControlFlow, rc::Rc, sync::Arc, time::Instant};

use bytes::Bytes;
use http::{Method, Request, Response, Version, header, request::Parts};
use hyper::{
    body::{Body, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot::{Receiver, channel};

pub(crate) use self::answer::Answer;
use self::ask::{Unanswered, ask, clone, reason};
use crate::{
    client::Activity,
    headers,
    held::Flow,
    interim::{self, Go, Listening},
    message,
    place::Place,
    record::Record,
    refusal::Refusal,
    relay::Keeps,
    servers::{Servers, Ways},
    state::{LastServer, Link, Settings},
    upgrade,
    upload::Upload,
    upstream::{Idle, Line, Pool, Reached, Switched, Window},
    wanted::Wanted,
    watch::{Phase, Progress},
    ways::Way,
};

/// The minimum limits on a server's header, in bytes and fields, even where clients' limits are lower.
const SERVER_HEADER_BYTES: usize = 64 * 1024;
const SERVER_HEADERS: usize = 256;

/// Has servers answer requests.
#[derive(Debug)]
pub(crate) struct Exchanges {
    settings: Rc<Settings>,
    servers: Rc<Servers>,
    link: Rc<Link>,
    last_server: Rc<LastServer>,
    keeps: Keeps,
}

/// What became of a request.
pub(crate) enum Fetched {
    Answer(Answer),
    /// The server has switched to another protocol, as requested.
    Switched(Response<()>, Switched),
}

/// One request, as far as it is the same in each attempt.
struct Exchange<'a> {
    exchanges: &'a Exchanges,
    wanted: &'a Wanted,
    record: &'a Record,
    progress: &'a Rc<Progress>,
    client: &'a Arc<Activity>,
    client_version: Version,
    is_head: bool,
    is_upgrade: bool,
    // An HTTP/1.0 client asked for its connection to stay open.
    keeps_alive: bool,
    proves_connection: bool,
    go: Option<Arc<Go>>,
    listening: Listening,
}

/// One attempt to have it answered.
struct Attempt {
    ticket: Place,
    head: Parts,
    upload: Option<Upload>,
    // An idle connection to reuse.
    kept: Option<Connected>,
}

/// A connection to a server or parent.
struct Connected {
    connection: Idle,
    way: Way,
    // Delivers the connection after its last byte of HTTP, if the request may switch protocols.
    left: Option<Receiver<Left>>,
}

/// A connection, and the bytes read from it that are not HTTP.
type Left = (Line, Bytes);

impl Exchanges {
    pub(crate) fn new(
        settings: &Rc<Settings>,
        servers: &Rc<Servers>,
        link: &Rc<Link>,
        pool: &Rc<Pool>,
        last_server: &Rc<LastServer>,
    ) -> Self {
        Self {
            settings: Rc::clone(settings),
            servers: Rc::clone(servers),
            link: Rc::clone(link),
            last_server: Rc::clone(last_server),
            keeps: Keeps { pool: Rc::clone(pool), settings: Rc::clone(settings) },
        }
    }

    /// Has a request answered.
    ///
    /// # Errors
    /// Why it was not.
    pub(crate) async fn fetch(
        &self,
        request: Request<Incoming>,
        wanted: &Wanted,
        record: &Record,
        flow: &Flow,
        client: &Arc<Activity>,
    ) -> Result<Fetched, Refusal> {
        let is_upgrade = upgrade::is_asked(&request);
        let (mut head, body) = request.into_parts();
        let (client_version, is_head) = (head.version, head.method == Method::HEAD);
        let keeps_alive = client_version == Version::HTTP_10 && headers::keeps_alive(&head.headers);
        message::to_server(&self.settings, &mut head, &body, wanted, record.client)?;
        // By now `Host` names what a parent would be asked for, whatever the client's target was.
        let mut ways = self.servers.ways(wanted, Some(&head.headers))?;
        let proves_connection = headers::proves_connection(&head.headers, &header::AUTHORIZATION);
        if is_upgrade {
            upgrade::name(&mut head.headers);
        }
        let go = interim::expects(&mut head.headers, client_version, !body.is_end_stream()).then(Arc::<Go>::default);
        let exchange = Exchange {
            exchanges: self,
            wanted,
            record,
            progress: flow.progress(),
            client,
            client_version,
            is_head,
            is_upgrade,
            keeps_alive,
            proves_connection,
            go,
            listening: Listening::new(client, client_version),
        };
        let (ticket, kept) = exchange.released(&mut ways).await?;
        let upload = exchange.upload(body);
        let mut attempt = Attempt { ticket, head, upload, kept };
        loop {
            match exchange.attempt(&mut ways, attempt).await? {
                ControlFlow::Break(fetched) => return Ok(fetched),
                ControlFlow::Continue(next) => attempt = next,
            }
        }
    }

    /// A connection by one of these ways, whose window begins with `window` bytes.
    async fn connect(
        &self,
        ways: &mut Ways,
        wanted: &Wanted,
        window: u64,
        is_upgrade: bool,
    ) -> Result<Connected, Refusal> {
        let window = self.link.window().map(|known| Window { begins: known.beginning(window), ..known });
        let (Reached { line, gate, server }, way) = self.servers.connect(ways, wanted, window).await?;
        let (most, headers) = self.settings.header_limits();
        let mut builder = http1::Builder::new();
        builder.max_buf_size(most.max(SERVER_HEADER_BYTES)).max_headers(headers.max(SERVER_HEADERS));
        // A proxy must accept these (RFC 9112, sections 5.1 and 5.2); they are not forwarded.
        builder.allow_spaces_after_header_name_in_responses(true).allow_obsolete_multiline_headers_in_responses(true);
        let (sender, driver) =
            builder.handshake(TokioIo::new(line)).await.map_err(|error| Refusal::Internal(error.to_string()))?;
        let connection = Idle { sender, gate, server, since: Instant::now(), pinned: None };
        // Errors of the connection reach the request that waits for its response.
        if !is_upgrade {
            tokio::task::spawn_local(async move { drop(driver.await) });
            return Ok(Connected { connection, way, left: None });
        }
        let (tells, left) = channel();
        tokio::task::spawn_local(async move {
            if let Ok(parts) = driver.without_shutdown().await {
                // The request may have been cancelled.
                drop(tells.send((parts.io.into_inner(), parts.read_buf)));
            }
        });
        Ok(Connected { connection, way, left: Some(left) })
    }
}

impl Exchange<'_> {
    /// Waits until the policy releases the request, and takes an idle connection for it, if there is one.
    async fn released(&self, ways: &mut Ways) -> Result<(Place, Option<Connected>), Refusal> {
        let Exchanges { servers, link, keeps, .. } = self.exchanges;
        let way = ways.front().map_or(Way::Direct, |(way, _)| way.clone());
        // A request that may become a tunnel gets a connection of its own.
        let idle =
            if self.is_upgrade { None } else { keeps.pool.take(&Servers::server(&way, self.wanted), self.client) };
        let idle = idle.filter(|idle| way.parent().is_some() || servers.may_reach(idle.server));
        // Names are resolved before the request is queued: one that does not resolve takes no turn.
        if idle.is_none() && way.parent().is_none() {
            let addresses = servers.addresses(self.wanted).await?;
            if let Some(first) = ways.front_mut() {
                first.1 = addresses;
            }
        }
        let record = self.record;
        let ticket = link.arrive((&record.who, &record.party), record.scheduled(), &self.wanted.host)?;
        ticket.tells(&record.spending);
        ticket.released().await;
        record.queue.set(Link::waited(&ticket));
        match record.account.refusal() {
            Some(refusal) => Err(refusal),
            None => Ok((ticket, idle.map(|connection| Connected { connection, way, left: None }))),
        }
    }

    fn upload(&self, body: Incoming) -> Option<Upload> {
        if body.is_end_stream() {
            return None;
        }
        let lane = self.record.lane(self.exchanges.link.uplink(), None);
        let watched = (Rc::clone(self.progress), Rc::clone(&self.record.account));
        Some(Upload::of(body, lane, watched, self.go.clone()))
    }

    /// Makes an attempt, and prepares the next one if it failed and may be repeated.
    async fn attempt(&self, ways: &mut Ways, attempt: Attempt) -> Result<ControlFlow<Fetched, Attempt>, Refusal> {
        let Self { exchanges, wanted, record, progress, .. } = *self;
        let Attempt { ticket, mut head, upload, kept } = attempt;
        let is_reused = kept.is_some();
        let mut connected = match kept {
            Some(kept) => kept,
            None => exchanges.connect(ways, wanted, ticket.window(), self.is_upgrade).await?,
        };
        let parent = connected.way.parent();
        *record.parent.borrow_mut() = parent.map(|parent| Arc::clone(&parent.name));
        message::address(&mut head, parent.map(|parent| &**parent))?;
        exchanges.servers.goes_out(is_reused);
        let connection = &mut connected.connection;
        record.server.set(connection.server);
        // hyper keeps the message only if it has not begun to write it.
        let copy = (is_reused && upload.is_none() && head.method.is_idempotent()).then(|| clone(&head));
        connection.gate.begin(ticket, Rc::clone(progress), Rc::clone(&record.account));
        progress.waits_for(Phase::Answer);
        let mut request = Request::from_parts(head, upload.unwrap_or(Upload::none()));
        self.listening.to(&mut request, self.go.clone());
        match ask(connection, request, progress).await {
            Ok(response) => self.answered(response, connected).await.map(ControlFlow::Break),
            Err(Unanswered::Stopped) => {
                drop(connection.gate.finish());
                Err(self.stopped())
            }
            Err(Unanswered::Failed { error, message }) => {
                let unsent = message.map(|message| message.into_parts()).or(copy.map(|head| (head, Upload::none())));
                self.failed(&error, connection, unsent.filter(|_| is_reused)).map(ControlFlow::Continue)
            }
        }
    }

    /// Why a request was given up before its answer.
    fn stopped(&self) -> Refusal {
        self.record.account.refusal().unwrap_or_else(|| {
            if self.progress.awaits_client() {
                Refusal::BodyTimeout
            } else {
                Refusal::ResponseTimeout(Arc::clone(&self.wanted.host))
            }
        })
    }

    /// Another attempt after one that failed. A server may close an idle connection at any time, so a request that failed on one
    /// was not processed if nothing of an answer has come, and can be sent again.
    fn failed(
        &self,
        error: &hyper::Error,
        connection: &Idle,
        unsent: Option<(Parts, Upload)>,
    ) -> Result<Attempt, Refusal> {
        let received = connection.gate.received();
        let Some(ticket) = connection.gate.finish() else {
            return Err(Refusal::Internal("a ticket was lost".into()));
        };
        if self.progress.is_upload_broken() {
            ticket.end();
            // The source is the error of the client's connection.
            return Err(Refusal::Body(std::error::Error::source(error).map_or_else(String::new, reason)));
        }
        let Some((head, body)) = unsent.filter(|_| received == 0) else {
            ticket.end();
            return Err(Refusal::BrokeOff { host: Arc::clone(&self.wanted.host), why: reason(error) });
        };
        self.exchanges.servers.retries();
        Ok(Attempt { ticket, head, upload: Some(body).filter(|body| !body.is_end_stream()), kept: None })
    }
}
