//! A request that a server answers.

use std::{rc::Rc, sync::Arc, time::Instant};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header, request::Parts};
use hyper::{
    body::{Body, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::{
    select,
    sync::oneshot::{Receiver, channel},
};

use crate::{
    client::Activity,
    headers::{self, Framing},
    held::Flow,
    interim::{self, Go, Listening},
    message,
    record::Record,
    refusal::Refusal,
    relay::{InFlight, Keeps, Relay},
    servers::{Servers, Ways},
    state::{LastServer, Link, Settings},
    upgrade,
    uplink::Uplink,
    upload::Upload,
    upstream::{Idle, Line, Pool, Reached, Switched, Window},
    wanted::Wanted,
    watch::{Phase, Progress},
    ways::Way,
};

/// The least that a server's header may have, whatever those of clients may: bytes and fields.
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

impl Exchanges {
    pub(crate) fn new(
        settings: &Rc<Settings>,
        servers: &Rc<Servers>,
        link: &Rc<Link>,
        (pool, last_server): (&Rc<Pool>, &Rc<LastServer>),
    ) -> Self {
        Self {
            settings: Rc::clone(settings),
            servers: Rc::clone(servers),
            link: Rc::clone(link),
            last_server: Rc::clone(last_server),
            keeps: Keeps { pool: Rc::clone(pool), settings: Rc::clone(settings) },
        }
    }

    /// Fetches what was wanted, or says why not.
    pub(crate) async fn fetch(
        &self,
        request: Request<Incoming>,
        wanted: &Wanted,
        record: &Record,
        (flow, client): (&Flow, &Arc<Activity>),
    ) -> Result<Fetched, Refusal> {
        let is_upgrade = upgrade::is_asked(&request);
        let progress = flow.progress();
        let (mut head, body) = request.into_parts();
        let asked_as = head.version;
        let hides_body = head.method == Method::HEAD;
        let stays = asked_as == Version::HTTP_10 && headers::keeps_alive(&head.headers);
        message::to_server(&self.settings, &mut head, &body, wanted, record.client)?;
        // Host says by now what a parent would be asked for, whatever the client's target was.
        let mut ways = self.servers.ways(wanted, Some(&head.headers))?;
        let proves = headers::proves_connection(&head.headers, &header::AUTHORIZATION);
        if is_upgrade {
            upgrade::name(&mut head.headers);
        }
        let go = interim::expects(&mut head.headers, asked_as, !body.is_end_stream()).then(Arc::<Go>::default);
        let listening = Listening::new(client, asked_as);

        let mut way = ways.front().map_or(Way::Direct, |(way, _)| way.clone());
        // What may become a tunnel has a connection of its own.
        let kept = if is_upgrade { None } else { self.keeps.pool.take(&Servers::server(&way, wanted), client) };
        let mut idle = kept.filter(|idle| way.parent().is_some() || self.servers.may_reach(idle.server));
        // Names are asked for before the request waits: one that leads nowhere takes nobody's turn.
        if idle.is_none() && way.parent().is_none() {
            let addresses = self.servers.addresses(wanted).await?;
            if let Some(first) = ways.front_mut() {
                first.1 = addresses;
            }
        }
        let mut ticket = self.link.arrive((&record.who, &record.party), record.scheduled(), &wanted.host)?;
        ticket.tells(&record.spending);
        ticket.released().await;
        record.queue.set(Link::waited(&ticket));
        if let Some(refusal) = record.account.refusal() {
            return Err(refusal);
        }

        let mut upload = if body.is_end_stream() {
            None
        } else {
            let lane = record.lane(self.link.uplink(), None);
            Some(Upload::of(body, lane, (Rc::clone(progress), Rc::clone(&record.account)), go.clone()))
        };
        let mut switched = None;
        loop {
            let is_reused = idle.is_some();
            let mut connection = match idle.take() {
                Some(idle) => idle,
                None => {
                    let (connection, by, left) = self.connect(&mut ways, wanted, ticket.window(), is_upgrade).await?;
                    (way, switched) = (by, left);
                    connection
                }
            };
            *record.parent.borrow_mut() = way.parent().map(|parent| Arc::clone(&parent.name));
            message::address(&mut head, way.parent().map(|parent| &**parent))?;
            self.servers.goes_out(is_reused);
            record.server.set(connection.server);
            // Sent once more, it is written from what is kept.
            let again = (is_reused && upload.is_none() && is_safe_again(&head.method)).then(|| clone(&head));
            connection.gate.begin(ticket, Rc::clone(progress), Rc::clone(&record.account));
            progress.waits_for(Phase::Answer);
            let mut sent = Request::from_parts(head, upload.take().unwrap_or(Upload::none()));
            listening.to(&mut sent, go.clone());
            let answered = ask(&mut connection, sent, progress).await;
            match answered {
                Ok(mut response) => {
                    progress.waits_for(Phase::Transfer);
                    self.last_server.answered(connection.server);
                    if let Some(switched) = switched.take().filter(|_| upgrade::is_granted(&response)) {
                        let switched = self.switched(connection, switched, (wanted, progress)).await?;
                        message::to_client(&self.settings, &mut response, asked_as, record.queue.get());
                        response.headers_mut().remove(header::CONTENT_LENGTH);
                        upgrade::name(response.headers_mut());
                        return Ok(Fetched::Switched(response.map(drop), switched));
                    }
                    if let Some(parent) =
                        way.parent().filter(|_| response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED)
                    {
                        drop(connection.gate.finish());
                        if let Some(go) = &go {
                            go.end();
                        }
                        return Err(Refusal::ParentAsks(Arc::clone(&parent.name)));
                    }
                    let is_unwanted = go.as_ref().is_some_and(|go| go.stay());
                    let (framing, rest) = match message::framing(&mut response, hides_body) {
                        Ok(framing) => framing,
                        Err(why) => {
                            drop(connection.gate.finish());
                            if let Some(go) = &go {
                                go.end();
                            }
                            return Err(Refusal::BrokeOff { host: wanted.host.clone(), why: why.into() });
                        }
                    };
                    let body = response.body();
                    let known = rest.or(body.size_hint().exact());
                    let has_end = known.is_some() || body.is_end_stream();
                    if let Some(bytes) = known.filter(|_| !hides_body) {
                        connection.gate.length(bytes);
                    } else if hides_body || body.is_end_stream() {
                        connection.gate.length(0);
                    }
                    message::to_client(&self.settings, &mut response, asked_as, record.queue.get());
                    headers::reframe(response.headers_mut(), framing);
                    if is_unwanted && asked_as < Version::HTTP_2 {
                        // What comes next may be the body or not.
                        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                        client.linger();
                    }
                    if stays && has_end {
                        // A client of HTTP/1.0 takes no other sign for it.
                        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
                    }
                    if proves || headers::proves_connection(response.headers(), &header::WWW_AUTHENTICATE) {
                        connection.pinned = Some(Arc::downgrade(client));
                    }
                    let is_kept = !is_upgrade && framing != Framing::Both && !is_unwanted && rest.is_none();
                    let in_flight =
                        InFlight::new(self.keeps.clone(), connection, Servers::server(&way, wanted), is_kept, go);
                    let uplink = Rc::clone(self.link.uplink());
                    return Ok(Fetched::Answer(Answer { response, in_flight, rest, uplink }));
                }
                Err(Unanswered::Stopped) => {
                    drop(connection.gate.finish());
                    if let Some(refusal) = record.account.refusal() {
                        return Err(refusal);
                    }
                    if progress.awaits_client() {
                        return Err(Refusal::BodyTimeout);
                    }
                    return Err(Refusal::ResponseTimeout(wanted.host.clone()));
                }
                Err(Unanswered::Failed { error, message }) => {
                    let came = connection.gate.received();
                    let Some(back) = connection.gate.finish() else {
                        return Err(Refusal::Internal("a ticket was lost".into()));
                    };
                    if progress.is_upload_broken() {
                        back.end();
                        // What lies behind is what the client's connection said.
                        return Err(Refusal::Body(std::error::Error::source(&error).map_or_else(String::new, reason)));
                    }
                    // A connection that was kept may be closed by the other side at any time: the request was not
                    // examined.
                    let retry = message
                        .map(|message| message.into_parts())
                        .or_else(|| again.map(|head| (head, Upload::none())));
                    let Some((kept, body)) = retry.filter(|_| is_reused && came == 0) else {
                        back.end();
                        let why = reason(&error);
                        return Err(Refusal::BrokeOff { host: wanted.host.clone(), why });
                    };
                    self.servers.retries();
                    (ticket, head) = (back, kept);
                    upload = Some(body).filter(|body| !body.is_end_stream());
                }
            }
        }
    }

    /// The connection as it is after its last byte of HTTP.
    async fn switched(
        &self,
        connection: Idle,
        left: Receiver<Left>,
        (wanted, progress): (&Wanted, &Progress),
    ) -> Result<Switched, Refusal> {
        let left = select! {
            left = left => left,
            () = progress.stopped() => return Err(Refusal::ResponseTimeout(wanted.host.clone())),
        };
        // Its place was the request's: what follows has others.
        if let Some(place) = connection.gate.finish() {
            place.end();
        }
        let why = || "it closed the connection when it had switched to another protocol".into();
        let (line, first) = left.map_err(|_| Refusal::BrokeOff { host: wanted.host.clone(), why: why() })?;
        Ok(Switched { ungated: line.ungated(), first, server: connection.server })
    }

    /// A connection whose window begins with this many bytes, and the way that it took; and what is left of it when it is
    /// switched to another protocol, if it may be.
    async fn connect(
        &self,
        ways: &mut Ways,
        wanted: &Wanted,
        window: u64,
        is_upgrade: bool,
    ) -> Result<(Idle, Way, Option<Receiver<Left>>), Refusal> {
        let window = self.link.window().map(|known| Window { begins: known.beginning(window), ..known });
        let (Reached { line, gate, server }, way) = self.servers.connect(ways, wanted, window).await?;
        let (most, headers) = self.settings.header_limits();
        let mut builder = http1::Builder::new();
        builder.max_buf_size(most.max(SERVER_HEADER_BYTES)).max_headers(headers.max(SERVER_HEADERS));
        // Servers write what a proxy has to take (RFC 9112, sections 5.1 and 5.2): it goes on as it should be.
        builder.allow_spaces_after_header_name_in_responses(true).allow_obsolete_multiline_headers_in_responses(true);
        let (sender, connection) =
            builder.handshake(TokioIo::new(line)).await.map_err(|error| Refusal::Internal(error.to_string()))?;
        let idle = Idle { sender, gate, server, since: Instant::now(), pinned: None };
        // How it ends is told to whoever waits for its answer.
        if !is_upgrade {
            tokio::task::spawn_local(async move { drop(connection.await) });
            return Ok((idle, way, None));
        }
        let (tells, left) = channel();
        tokio::task::spawn_local(async move {
            if let Ok(parts) = connection.without_shutdown().await {
                // The request may have been given up.
                drop(tells.send((parts.io.into_inner(), parts.read_buf)));
            }
        });
        Ok((idle, way, Some(left)))
    }
}

/// A connection and what was read of it that is no HTTP.
type Left = (Line, Bytes);

/// What became of a request.
pub(crate) enum Fetched {
    Answer(Answer),
    /// The server speaks another protocol from now on, as it was asked to.
    Switched(Response<()>, Switched),
}

/// What a server answered, and what it came on.
pub(crate) struct Answer {
    response: Response<Incoming>,
    in_flight: InFlight,
    // Bytes of its body, where its connection does not say when it ends.
    rest: Option<u64>,
    uplink: Rc<Uplink>,
}

impl Answer {
    /// The response as it goes to the client.
    pub(crate) fn relay(self, record: Record, flow: Rc<Flow>) -> Response<Relay> {
        let Self { response, in_flight, rest, uplink } = self;
        record.status.set(response.status().as_u16());
        response.map(|body| Relay::response((body, rest), in_flight, uplink, (record, flow)))
    }
}

enum Unanswered {
    Stopped,
    Failed { error: hyper::Error, message: Option<Box<Request<Upload>>> },
}

async fn ask(
    connection: &mut Idle,
    request: Request<Upload>,
    progress: &Progress,
) -> Result<Response<Incoming>, Unanswered> {
    if let Err(error) = connection.sender.ready().await {
        return Err(Unanswered::Failed { error, message: Some(Box::new(request)) });
    }
    select! {
        answered = connection.sender.try_send_request(request) => answered.map_err(|mut error| {
            let message = error.take_message().map(Box::new);
            Unanswered::Failed { error: error.into_error(), message }
        }),
        () = progress.stopped() => Err(Unanswered::Stopped),
    }
}

/// Whether a request may be sent twice (RFC 9110, section 9.2.2).
fn is_safe_again(method: &Method) -> bool {
    method.is_idempotent()
}

fn clone(head: &Parts) -> Parts {
    let mut copy = Request::new(()).into_parts().0;
    (copy.method, copy.uri, copy.version) = (head.method.clone(), head.uri.clone(), head.version);
    copy.headers = head.headers.clone();
    copy
}

/// What went wrong, with what lies behind it.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        text.push_str(": ");
        text.push_str(&behind.to_string());
        source = behind.source();
    }
    text
}
