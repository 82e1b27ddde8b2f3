//! A server's answer: a response to forward, a switch to another protocol, or something that must not reach the client.

use std::{rc::Rc, sync::Arc};

use http::{HeaderValue, Response, StatusCode, Version, header};
use hyper::body::{Body, Incoming};
use tokio::{select, sync::oneshot::Receiver};

use super::{
    connect::{Connected, Left},
    request::Exchange,
};
use crate::{
    backpressure::Flow,
    headers::{self, Framing},
    message,
    record::Record,
    refusal::Refusal,
    relay::{InFlight, Relay},
    servers::Servers,
    trailers, upgrade,
    uplink::Uplink,
    upstream::{Idle, Switched},
    watch::Phase,
    ways::Way,
};

/// The outcome of a request.
pub(crate) enum Fetched {
    Answer(Answer),
    /// The server has switched to another protocol, as requested.
    Switched(Response<()>, Switched),
}

/// A server's response, and the connection that it arrives on.
pub(crate) struct Answer {
    response: Response<Incoming>,
    in_flight: InFlight,
    // Length of its body, if the connection does not delimit it.
    rest: Option<u64>,
    uplink: Rc<Uplink>,
}

impl Answer {
    /// Converts it into the response to the client.
    pub(crate) fn relay(self, record: Record, flow: Rc<Flow>) -> Response<Relay> {
        let Self { response, in_flight, rest, uplink } = self;
        record.status.set(response.status().as_u16());
        response.map(|body| Relay::response((body, rest), in_flight, uplink, (record, flow)))
    }
}

impl Exchange<'_> {
    pub(super) async fn answered(
        &self,
        mut response: Response<Incoming>,
        Connected { mut connection, way, left }: Connected,
    ) -> Result<Fetched, Refusal> {
        self.progress.waits_for(Phase::Transfer);
        self.exchanges.last_server.answered(connection.server);
        if let Some(left) = left.filter(|_| upgrade::is_granted(&response)) {
            let switched = self.switched(connection, left).await?;
            return Ok(Fetched::Switched(self.switching(response), switched));
        }
        let is_body_unwanted = self.go.as_ref().is_some_and(|go| go.stay());
        let (framing, rest) = match self.checked(&mut response, &way) {
            Ok(checked) => checked,
            Err(refusal) => {
                drop(connection.gate.finish());
                if let Some(go) = &self.go {
                    go.end();
                }
                return Err(refusal);
            }
        };
        let known = rest.or(response.body().size_hint().exact());
        let is_empty = self.is_head || response.body().is_end_stream();
        if let Some(bytes) = if is_empty { Some(0) } else { known } {
            connection.gate.length(bytes);
        }
        let has_end = known.is_some() || response.body().is_end_stream();
        let may_be_followed = message::may_be_followed(&response, framing);
        self.to_client(&mut response, framing, is_body_unwanted, has_end);
        let asks_for_such = headers::proves_connection(response.headers(), &header::WWW_AUTHENTICATE);
        if self.proves_connection || asks_for_such {
            connection.pinned = Some(Arc::downgrade(self.client));
        }
        if asks_for_such && self.client_version < Version::HTTP_2 {
            headers::support_sessions(response.headers_mut());
        }
        let is_kept = may_be_followed && !self.is_upgrade && !is_body_unwanted && rest.is_none();
        let server = Servers::server(&way, self.wanted);
        let in_flight = InFlight::new(self.exchanges.keeps.clone(), connection, server, is_kept, self.go.clone());
        let uplink = Rc::clone(self.exchanges.link.uplink());
        Ok(Fetched::Answer(Answer { response, in_flight, rest, uplink }))
    }

    /// How a response is framed, and the length of its body if the connection does not delimit it.
    ///
    /// # Errors
    /// If it is not for the client: another proxy's demand for a password, or a message whose end is ambiguous.
    fn checked(&self, response: &mut Response<Incoming>, way: &Way) -> Result<(Framing, Option<u64>), Refusal> {
        let host = || Arc::clone(&self.wanted.host);
        if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // A proxy must say how (RFC 9110, section 15.5.8), and forwards no challenge of a server behind it.
            let says_how = response.headers().contains_key(header::PROXY_AUTHENTICATE);
            return Err(match way.parent().filter(|_| says_how) {
                Some(parent) => Refusal::ParentAsks(Arc::clone(&parent.name)),
                None => Refusal::ServerAsks(host()),
            });
        }
        message::framing(response, self.is_head).map_err(|why| Refusal::BrokeOff { host: host(), why: why.into() })
    }

    /// Rewrites a response's header for the client.
    fn to_client(&self, response: &mut Response<Incoming>, framing: Framing, is_body_unwanted: bool, has_end: bool) {
        let is_chunked = matches!(framing, Framing::Chunked | Framing::Both) && !self.is_head;
        let announced = trailers::announced(response.headers()).filter(|_| is_chunked && self.takes_trailers);
        message::to_client(&self.exchanges.settings, response, self.client_version, self.record.queue.get());
        let headers = response.headers_mut();
        headers::reframe(headers, framing);
        headers.extend(announced.map(|names| (header::TRAILER, names)));
        if is_body_unwanted && self.client_version < Version::HTTP_2 {
            // The client may send the body or its next request: the connection cannot tell.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            self.client.linger();
        }
        if self.client_version < Version::HTTP_11 && !has_end {
            self.client.delimit_response();
        }
        if self.keeps_alive && has_end {
            // HTTP/1.0 has no other way to say so.
            headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
        }
    }

    /// The answer to a client whose connection becomes a tunnel.
    fn switching(&self, mut response: Response<Incoming>) -> Response<()> {
        message::to_client(&self.exchanges.settings, &mut response, self.client_version, self.record.queue.get());
        response.headers_mut().remove(header::CONTENT_LENGTH);
        upgrade::name(response.headers_mut());
        response.map(drop)
    }

    /// The connection after its last byte of HTTP.
    async fn switched(&self, connection: Idle, left: Receiver<Left>) -> Result<Switched, Refusal> {
        let host = || Arc::clone(&self.wanted.host);
        let left = select! {
            left = left => left,
            () = self.progress.stopped() => return Err(Refusal::ResponseTimeout(host())),
        };
        // The ticket belonged to the request: each burst of the tunnel has its own.
        if let Some(ticket) = connection.gate.finish() {
            ticket.end();
        }
        let why = || "it closed the connection when it had switched to another protocol".into();
        let (line, first) = left.map_err(|_| Refusal::BrokeOff { host: host(), why: why() })?;
        Ok(Switched { ungated: line.ungated(), first, server: connection.server })
    }
}
