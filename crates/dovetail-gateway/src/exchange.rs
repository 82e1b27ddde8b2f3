//! A request that a server answers.

use std::{net::IpAddr, rc::Rc, sync::Arc, time::Instant};

use dovetail_tower::Ticket;
use http::{
    HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header, request::Parts, uri::PathAndQuery,
};
use hyper::{
    body::{Body, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::select;

use crate::{
    client::Activity,
    gateway::Gateway,
    headers::{self, Framing},
    held::Flow,
    interim::{self, Go, Listening},
    record::Record,
    refusal::Refusal,
    relay::{Relay, UnderWay},
    upload::Upload,
    upstream::{Failure, Gated, Idle, Server, Upstream, Window},
    wanted::Wanted,
    watch::{Phase, Progress},
    who::Who,
};

/// The least that a server's header may have, whatever those of clients may: bytes and fields.
const SERVER_HEADER_BYTES: usize = 64 * 1024;
const SERVER_HEADERS: usize = 256;

/// Fetches what was wanted, or says why not.
pub(crate) async fn fetch(
    gateway: &Rc<Gateway>,
    request: Request<Incoming>,
    wanted: &Wanted,
    record: &Record,
    (flow, client): (&Flow, &Arc<Activity>),
) -> Result<Answer, Refusal> {
    let progress = flow.progress();
    let server: Server = (wanted.host.clone(), wanted.port);
    let (mut head, body) = request.into_parts();
    let asked_as = head.version;
    let hides_body = head.method == Method::HEAD;
    let stays = asked_as == Version::HTTP_10 && headers::keeps_alive(&head.headers);
    to_server(gateway, &mut head, &body, wanted, record.client)?;
    let go = interim::expects(&mut head.headers, asked_as, !body.is_end_stream()).then(Arc::<Go>::default);
    let listening = Listening::new(client, asked_as);

    let mut idle = gateway.pool().take(&server).filter(|idle| gateway.may_reach(idle.server));
    // Names are asked for before the request waits: one that leads nowhere takes nobody's turn.
    let mut addresses = if idle.is_none() { gateway.addresses(wanted).await? } else { Vec::new() };
    let mut ticket = gateway.arrive(&record.who, record.class, &wanted.host)?;
    ticket.released().await;
    record.queue.set(gateway.waited(&ticket));

    let mut upload = if body.is_end_stream() {
        None
    } else {
        let lane = gateway.uplink().lane(record, None);
        Some(Upload::of(body, lane, Rc::clone(progress), go.clone()))
    };
    loop {
        let is_reused = idle.is_some();
        let mut connection = match idle.take() {
            Some(idle) => idle,
            None => {
                if addresses.is_empty() {
                    addresses = gateway.addresses(wanted).await?;
                }
                connect(gateway, &addresses, wanted, ticket.window()).await?
            }
        };
        gateway.dialled(is_reused);
        record.server.set(connection.server);
        // Sent once more, it is written from what is kept.
        let again = (is_reused && upload.is_none() && is_safe_again(&head.method)).then(|| clone(&head));
        connection.gate.begin(ticket, Rc::clone(progress));
        progress.waits_for(Phase::Answer);
        let mut sent = Request::from_parts(head, upload.take().unwrap_or(Upload::none()));
        listening.to(&mut sent, go.clone());
        let answered = ask(&mut connection, sent, progress).await;
        match answered {
            Ok(mut response) => {
                progress.waits_for(Phase::Transfer);
                gateway.answered(connection.server);
                let is_unwanted = go.as_ref().is_some_and(|go| go.stay());
                let (framing, rest) = match framing(&mut response, hides_body) {
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
                to_client(gateway, &mut response, asked_as, record);
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
                let is_kept = framing != Framing::Both && !is_unwanted && rest.is_none();
                return Ok(Answer { response, connection, server, is_kept, rest, go });
            }
            Err(Unanswered::Stopped) => {
                drop(connection.gate.finish());
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
                // A connection that was kept may be closed by the other side at any time: the request was not looked at.
                let retry =
                    message.map(|message| message.into_parts()).or_else(|| again.map(|head| (head, Upload::none())));
                let Some((kept, body)) = retry.filter(|_| is_reused && came == 0) else {
                    back.end();
                    let why = reason(&error);
                    return Err(Refusal::BrokeOff { host: wanted.host.clone(), why });
                };
                gateway.retried();
                (ticket, head) = (back, kept);
                upload = Some(body).filter(|body| !body.is_end_stream());
            }
        }
    }
}

/// What a server answered, and what it came on.
pub(crate) struct Answer {
    response: Response<Incoming>,
    connection: Idle,
    server: Server,
    // Whether the connection may be used again.
    is_kept: bool,
    // Bytes of its body, where its connection does not say when it ends.
    rest: Option<u64>,
    go: Option<Arc<Go>>,
}

impl Answer {
    /// The response as it goes to the client.
    pub(crate) fn relay(self, gateway: &Rc<Gateway>, record: Record, flow: Rc<Flow>) -> Response<Relay> {
        let Self { response, connection, server, is_kept, rest, go } = self;
        record.status.set(response.status().as_u16());
        let under_way = UnderWay::new(Rc::clone(gateway), connection, server, is_kept, go);
        response.map(|body| Relay::response((body, rest), under_way, record, flow))
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

/// A connection whose window begins with so many bytes.
async fn connect(gateway: &Rc<Gateway>, addresses: &[IpAddr], wanted: &Wanted, window: u64) -> Result<Idle, Refusal> {
    let window = gateway.window().map(|known| Window { begins: window.clamp(known.first, known.longest), ..known });
    let upstream = dial(gateway, addresses, wanted, window).await?;
    let at = upstream.stream.peer_addr().ok().map(|address| address.ip());
    let sampled = gateway.sampled(&upstream);
    let (gated, gate) = Gated::new(upstream, sampled);
    let (most, headers) = gateway.header_limits();
    let mut builder = http1::Builder::new();
    builder.max_buf_size(most.max(SERVER_HEADER_BYTES)).max_headers(headers.max(SERVER_HEADERS));
    // Servers write what a proxy has to take (RFC 9112, sections 5.1 and 5.2): it goes on as it should be.
    builder.allow_spaces_after_header_name_in_responses(true).allow_obsolete_multiline_headers_in_responses(true);
    let (sender, connection) =
        builder.handshake(TokioIo::new(gated)).await.map_err(|error| Refusal::Internal(error.to_string()))?;
    // How it ends is told to whoever waits for its answer.
    tokio::task::spawn_local(async move { drop(connection.await) });
    Ok(Idle { sender, gate, server: at, since: Instant::now() })
}

/// Makes a connection.
pub(crate) async fn dial(
    gateway: &Rc<Gateway>,
    addresses: &[IpAddr],
    wanted: &Wanted,
    window: Option<Window>,
) -> Result<Upstream, Refusal> {
    let host = wanted.host.clone();
    let within = gateway.config().timeouts.connect;
    Upstream::connect(addresses, wanted.port, window, within).await.map_err(|failure| match failure {
        Failure::Timeout => Refusal::ConnectTimeout(host),
        Failure::Error(error) if error.kind() == std::io::ErrorKind::TimedOut => Refusal::ConnectTimeout(host),
        Failure::Error(error) => Refusal::Connect { host, why: error.to_string() },
    })
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

/// The request as it goes to the server (RFC 9112, section 3.2.1).
fn to_server(
    gateway: &Gateway,
    head: &mut Parts,
    body: &Incoming,
    wanted: &Wanted,
    client: IpAddr,
) -> Result<(), Refusal> {
    let bad = || Refusal::BadRequest("its target is no path");
    let came_as = head.version;
    let authority = head.uri.authority().map(|authority| authority.as_str().to_owned());
    let path = head.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    head.uri = Uri::from(if path.as_str().is_ascii() { path } else { encoded(&path).ok_or_else(bad)? });
    head.version = Version::HTTP_11;
    headers::framing(&head.headers).map_err(Refusal::BadRequest)?;
    headers::strip(&mut head.headers);
    // Framed by what is there, and not by what its header said of it.
    match body.size_hint().exact() {
        Some(length) if length > 0 || head.headers.contains_key(header::CONTENT_LENGTH) => {
            headers::reframe(&mut head.headers, Framing::Length(length));
        }
        Some(_) => {}
        None => {
            headers::reframe(&mut head.headers, Framing::Chunked);
            head.headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }
    head.headers.remove(header::PROXY_AUTHORIZATION);
    join_cookies(head);
    // What Host says gives way to the target (RFC 9112, section 3.2.2); of an intercepted request it is all there is.
    if let Some(authority) = authority {
        let host = if authority.is_empty() { wanted.bracketed() } else { authority };
        head.headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| bad())?);
    } else if !head.headers.contains_key(header::HOST) {
        // HTTP/1.0 knew none.
        let host = format!("{}:{}", wanted.bracketed(), wanted.port);
        head.headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| bad())?);
    }
    headers::add_via(&mut head.headers, came_as, &gateway.via());
    headers::add_forwarded(&mut head.headers, gateway.config().proxy.forwarded, client);
    Ok(())
}

/// A path and a query in ASCII (RFC 3986, section 2.1).
fn encoded(path: &PathAndQuery) -> Option<PathAndQuery> {
    let mut text = String::with_capacity(path.as_str().len() * 3);
    for byte in path.as_str().bytes() {
        if byte.is_ascii() {
            text.push(byte.into());
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    PathAndQuery::try_from(text).ok()
}

/// HTTP/2 may send a cookie in parts (RFC 9113, section 8.2.3).
fn join_cookies(head: &mut Parts) {
    if head.headers.get_all(header::COOKIE).iter().nth(1).is_none() {
        return;
    }
    let parts: Vec<_> = head.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(whole) = HeaderValue::from_bytes(&parts.join(&b"; "[..])) {
        head.headers.insert(header::COOKIE, whole);
    }
}

/// How a response is framed, if it is one that can be passed on; and its length, where hyper reads to the connection's end.
fn framing(response: &mut Response<Incoming>, hides_body: bool) -> Result<(Framing, Option<u64>), &'static str> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err("it changed to another protocol, and nobody asked for that");
    }
    let is_identity = headers::take_identity(response.headers_mut());
    let framing = headers::framing(response.headers())?;
    let has_body = !hides_body && !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let rest = match framing {
        Framing::Length(length) if is_identity && has_body => Some(length),
        _ => None,
    };
    Ok((framing, rest))
}

/// The response as it goes to the client.
fn to_client(gateway: &Gateway, response: &mut Response<Incoming>, asked_as: Version, record: &Record) {
    let came_as = response.version();
    let headers = response.headers_mut();
    headers::strip(headers);
    headers::add_via(headers, came_as, &gateway.via());
    let queue_ms = record.queue.get().as_secs_f64() * 1e3;
    if let Ok(value) = HeaderValue::try_from(format!("queue;dur={queue_ms:.1}")) {
        headers.append("server-timing", value);
    }
    *response.version_mut() = asked_as;
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

/// Where a request waits.
pub(crate) type Place = Ticket<Who>;
