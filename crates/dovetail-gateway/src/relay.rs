//! Sends a response's body to a client.

use std::{
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::{
    backpressure::{Flow, Held},
    batching::{self, Batch},
    interim::BodyGate,
    record::Record,
    state::Settings,
    trailers,
    uplink::Uplink,
    upstream::{Idle, Pool, Server},
};

/// A response's body: a server's, a page of the gateway's own, or nothing.
#[derive(Debug)]
pub(crate) enum Relay {
    /// A tunnel follows.
    Nothing,
    /// A page of the gateway's own.
    Page(Box<Page>),
    /// A server's response.
    Response(Box<Sending>),
}

/// A page being sent.
#[derive(Debug)]
pub(crate) struct Page {
    page: Full<Bytes>,
    record: Record,
    flow: Rc<Flow>,
}

/// A server's response being sent.
#[derive(Debug)]
pub(crate) struct Sending {
    body: Incoming,
    // How many bytes are left, if the connection does not delimit the body.
    rest: Option<u64>,
    gathered: Batch<Held>,
    // Why it ends early, to be reported once the client has the pieces that arrived.
    broken: Option<Broken>,
    in_flight: Option<InFlight>,
    uplink: Rc<Uplink>,
    record: Record,
    flow: Rc<Flow>,
}

/// The resources of a response, until its end. Dropping this earlier cancels the response.
#[derive(Debug)]
pub(crate) struct InFlight {
    keeps: PoolHandle,
    idle: Option<Idle>,
    server: Server,
    is_kept: bool,
    // Releases a request body that the server did not need.
    go: Option<Arc<BodyGate>>,
}

/// Where to pool connections, and how many.
#[derive(Debug, Clone)]
pub(crate) struct PoolHandle {
    pub(crate) pool: Rc<Pool>,
    pub(crate) settings: Rc<Settings>,
}

impl PoolHandle {
    /// Keeps a connection for another request.
    pub(crate) fn keep(&self, server: Server, idle: Idle) {
        self.pool.keep(server, idle, self.settings.config().limits.idle_per_server);
    }
}

/// Why a response was not completed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the server closed the connection: {0}")]
    Server(#[from] hyper::Error),
    #[error("the server's connection ended {0} bytes before its response")]
    Short(u64),
    #[error("nothing moved for too long")]
    Stalled,
}

impl Relay {
    pub(crate) fn page(page: Full<Bytes>, record: Record, flow: Rc<Flow>) -> Self {
        Self::Page(Box::new(Page { page, record, flow }))
    }

    /// `rest` is the length of the body, if the connection does not delimit it.
    pub(crate) fn response(
        (body, rest): (Incoming, Option<u64>),
        in_flight: InFlight,
        uplink: Rc<Uplink>,
        (record, flow): (Record, Rc<Flow>),
    ) -> Self {
        let mut sending = Sending {
            body,
            rest,
            gathered: Batch::new(),
            broken: None,
            in_flight: Some(in_flight),
            uplink,
            record,
            flow,
        };
        if sending.is_over() {
            sending.over(true);
        }
        Self::Response(Box::new(sending))
    }
}

impl InFlight {
    /// `is_kept` tells whether the connection may be reused.
    pub(crate) const fn new(
        keeps: PoolHandle,
        idle: Idle,
        server: Server,
        is_kept: bool,
        go: Option<Arc<BodyGate>>,
    ) -> Self {
        Self { keeps, idle: Some(idle), server, is_kept, go }
    }

    /// Ends the response: complete, or aborted by its server.
    fn over(mut self, is_whole: bool) {
        let Some(mut idle) = self.idle.take() else { return };
        if let Some(ticket) = idle.gate.finish() {
            ticket.end();
        }
        if is_whole && self.is_kept && !idle.gate.is_grown() {
            idle.since = Instant::now();
            self.keeps.keep(self.server.clone(), idle);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(go) = &self.go {
            go.end();
        }
        // Still in flight: dropping its ticket cancels it.
        if let Some(idle) = &self.idle {
            drop(idle.gate.finish());
        }
    }
}

impl Page {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Held>, Broken>>> {
        let frame = Pin::new(&mut self.page).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.record.sent.set(frame.data_ref().map_or(0, Bytes::len) as u64);
        }
        let held = |frame: Frame<Bytes>| frame.map_data(|bytes| self.flow.hold(bytes));
        frame.map(|frame| frame.map(|frame| frame.map(held).map_err(|never| match never {})))
    }
}

impl Sending {
    fn is_over(&self) -> bool {
        self.rest == Some(0) || self.body.is_end_stream()
    }

    /// Ends the response: complete, or aborted by its server.
    fn over(&mut self, is_whole: bool) {
        if let Some(in_flight) = self.in_flight.take() {
            self.record.is_whole.set(is_whole);
            in_flight.over(is_whole);
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Held>, Broken>>> {
        loop {
            if let Some(piece) = self.gathered.next() {
                // Until the next piece is requested.
                self.client_blocked(true);
                return Poll::Ready(Some(Ok(piece)));
            }
            if self.broken.is_some() {
                ready!(self.poll_written(cx));
                return Poll::Ready(self.broken.take().map(Err));
            }
            match self.poll_piece(cx) {
                Poll::Ready(Some(Ok(piece))) => self.gathered.add(piece, self.may_wait()),
                Poll::Ready(None) if self.gathered.is_empty() => return Poll::Ready(None),
                Poll::Ready(end) => {
                    self.broken = end.and_then(Result::err);
                    self.gathered.go_on();
                }
                Poll::Pending => {
                    // If no more may be held, waiting for more is futile.
                    if self.gathered.is_empty() || !self.flow.is_full() {
                        ready!(self.gathered.poll_due(cx));
                    }
                    self.gathered.go_on();
                }
            }
        }
    }

    /// Waits until the client has all that arrived, header included, unless it takes nothing: an error makes hyper discard the rest.
    fn poll_written(&self, cx: &Context<'_>) -> Poll<()> {
        if self.flow.progress().poll_stopped(cx.waker()) { Poll::Ready(()) } else { self.flow.poll_written(cx) }
    }

    /// Whether the newest piece may be batched: the response is long, and more is to come.
    fn may_wait(&self) -> bool {
        self.to_come().is_some() && self.record.sent.get() >= batching::FROM_BYTES && !self.is_over()
    }

    /// How many bytes its server has yet to send, if known.
    fn to_come(&self) -> Option<u64> {
        self.rest.or(self.body.size_hint().exact())
    }

    /// The next piece from its server.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Held>, Broken>>> {
        if self.in_flight.is_some() && self.flow.progress().poll_stopped(cx.waker()) {
            return Poll::Ready(Some(Err(Broken::Stalled)));
        }
        ready!(self.flow.poll_room(cx));
        self.client_blocked(false);
        if self.rest == Some(0) {
            return Poll::Ready(None);
        }
        match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            None => {
                self.over(self.rest.is_none());
                Poll::Ready(self.rest.map(|rest| Err(Broken::Short(rest))))
            }
            Some(Err(error)) => {
                self.over(false);
                Poll::Ready(Some(Err(error.into())))
            }
            Some(Ok(frame)) => {
                let frame = match frame.into_trailers() {
                    Ok(last) => {
                        // Nothing follows, and hyper does not ask.
                        self.over(true);
                        return Poll::Ready(trailers::passed_on(last).map(|passed| Ok(Frame::trailers(passed))));
                    }
                    Err(frame) => frame,
                };
                let frame = frame.map_data(|bytes| self.wanted(bytes));
                if let Some(bytes) = frame.data_ref() {
                    self.record.sent.set(self.record.sent.get() + bytes.len() as u64);
                    self.uplink.acknowledges(bytes.len());
                }
                if self.is_over() {
                    self.over(true);
                }
                Poll::Ready(Some(Ok(frame.map_data(|bytes| self.flow.hold(bytes)))))
            }
        }
    }

    /// Reports whether received bytes are waiting for the client to take them.
    fn client_blocked(&self, is_blocked: bool) {
        if let Some(idle) = self.in_flight.as_ref().and_then(|in_flight| in_flight.idle.as_ref()) {
            idle.gate.client_blocked(is_blocked);
        }
    }

    /// The part of these bytes that belongs to the response.
    fn wanted(&mut self, bytes: Bytes) -> Bytes {
        let Some(rest) = &mut self.rest else { return bytes };
        let part = bytes.slice(..bytes.len().min(usize::try_from(*rest).unwrap_or(usize::MAX)));
        *rest -= part.len() as u64;
        part
    }
}

impl Body for Relay {
    type Data = Held;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Held>, Broken>>> {
        match self.get_mut() {
            Self::Nothing => Poll::Ready(None),
            Self::Page(page) => page.poll_frame(cx),
            Self::Response(sending) => sending.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Page(page) => page.page.is_end_stream(),
            Self::Response(sending) => sending.is_over() && sending.gathered.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Nothing => SizeHint::with_exact(0),
            Self::Page(page) => page.page.size_hint(),
            Self::Response(sending) => sending.to_come().map_or_else(
                || sending.body.size_hint(),
                |bytes| SizeHint::with_exact(bytes + sending.gathered.bytes() as u64),
            ),
        }
    }
}
