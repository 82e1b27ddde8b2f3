//! A response's body on its way to a client.

use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::{
    client::Busy,
    gateway::Gateway,
    record::Record,
    upstream::{Idle, Server},
    watch::Watched,
};

/// A response's body: a server's, or a page of the gateway's own.
#[derive(Debug)]
pub(crate) struct Relay {
    body: Kind,
    record: Option<Record>,
    // The client's connection is busy for as long as this is there.
    _busy: Option<Busy>,
}

#[derive(Debug)]
enum Kind {
    Page(Full<Bytes>),
    Response { body: Incoming, under_way: Option<UnderWay> },
}

/// What goes with a response until its end. Dropped before, the response is given up.
#[derive(Debug)]
pub(crate) struct UnderWay {
    gateway: Rc<Gateway>,
    idle: Option<Idle>,
    server: Server,
    watched: Watched,
    is_kept: bool,
}

/// Why a response did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the server broke off: {0}")]
    Server(#[from] hyper::Error),
    #[error("nothing moved for too long")]
    Stalled,
}

impl Relay {
    pub(crate) const fn page(page: Full<Bytes>, record: Option<Record>, busy: Option<Busy>) -> Self {
        Self { body: Kind::Page(page), record, _busy: busy }
    }

    pub(crate) fn response(body: Incoming, under_way: UnderWay, record: Record, busy: Busy) -> Self {
        let mut under_way = Some(under_way);
        if body.is_end_stream() {
            over(&mut under_way, &record, true);
        }
        Self { body: Kind::Response { body, under_way }, record: Some(record), _busy: Some(busy) }
    }
}

/// A response is over: whole, or broken off by its server.
fn over(under_way: &mut Option<UnderWay>, record: &Record, is_whole: bool) {
    let Some(mut under_way) = under_way.take() else { return };
    record.is_whole.set(is_whole);
    let Some(mut idle) = under_way.idle.take() else { return };
    if let Some(ticket) = idle.gate.finish() {
        ticket.end();
    }
    if is_whole && under_way.is_kept && !idle.gate.is_grown() {
        idle.since = Instant::now();
        let most = under_way.gateway.config().limits.idle_per_server;
        under_way.gateway.pool().keep(under_way.server.clone(), idle, most);
    }
}

impl UnderWay {
    /// `is_kept`: whether the connection may be used again.
    pub(crate) const fn new(gateway: Rc<Gateway>, idle: Idle, server: Server, watched: Watched, is_kept: bool) -> Self {
        Self { gateway, idle: Some(idle), server, watched, is_kept }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // Still under way: its ticket gives up.
        if let Some(idle) = &self.idle {
            drop(idle.gate.finish());
        }
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        let (body, under_way) = match &mut this.body {
            Kind::Page(page) => {
                let frame = Pin::new(page).poll_frame(cx);
                if let (Poll::Ready(Some(Ok(frame))), Some(record)) = (&frame, &this.record) {
                    record.sent.set(frame.data_ref().map_or(0, Bytes::len) as u64);
                }
                return frame.map(|frame| frame.map(|frame| frame.map_err(|never| match never {})));
            }
            Kind::Response { body, under_way } => (body, under_way),
        };
        if let Some(UnderWay { watched, .. }) = under_way
            && watched.progress().poll_stopped(cx.waker())
        {
            return Poll::Ready(Some(Err(Broken::Stalled)));
        }
        let frame = std::task::ready!(Pin::new(&mut *body).poll_frame(cx));
        let Some(record) = &this.record else { return Poll::Ready(None) };
        match frame {
            None => {
                over(under_way, record, true);
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                over(under_way, record, false);
                Poll::Ready(Some(Err(error.into())))
            }
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    record.sent.set(record.sent.get() + bytes.len() as u64);
                }
                if let Some(under_way) = under_way {
                    under_way.watched.progress().moves();
                }
                if body.is_end_stream() {
                    over(under_way, record, true);
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Kind::Page(page) => page.is_end_stream(),
            Kind::Response { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Kind::Page(page) => page.size_hint(),
            Kind::Response { body, .. } => body.size_hint(),
        }
    }
}
