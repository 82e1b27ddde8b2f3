//! A response's body on its way to a client.

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
    gateway::Gateway,
    held::{Flow, Held},
    interim::Go,
    record::Record,
    upstream::{Idle, Server},
};

/// A response's body: a server's, or a page of the gateway's own.
#[derive(Debug)]
pub(crate) struct Relay {
    body: Kind,
    record: Option<Record>,
    flow: Option<Rc<Flow>>,
}

#[derive(Debug)]
enum Kind {
    Page(Full<Bytes>),
    Response { body: Incoming, rest: Option<u64>, under_way: Option<UnderWay> },
}

/// What goes with a response until its end. Dropped before, the response is given up.
#[derive(Debug)]
pub(crate) struct UnderWay {
    gateway: Rc<Gateway>,
    idle: Option<Idle>,
    server: Server,
    is_kept: bool,
    // A body that the server did not want ends with this.
    go: Option<Arc<Go>>,
}

/// Why a response did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the server broke off: {0}")]
    Server(#[from] hyper::Error),
    #[error("the server's connection ended {0} bytes before its response")]
    Short(u64),
    #[error("nothing moved for too long")]
    Stalled,
}

impl Relay {
    pub(crate) const fn page(page: Full<Bytes>, record: Option<Record>, flow: Option<Rc<Flow>>) -> Self {
        Self { body: Kind::Page(page), record, flow }
    }

    /// `rest`: how many bytes of it there are, where its connection does not say.
    pub(crate) fn response(
        (body, rest): (Incoming, Option<u64>),
        under_way: UnderWay,
        record: Record,
        flow: Rc<Flow>,
    ) -> Self {
        let mut under_way = Some(under_way);
        if is_over(&body, rest) {
            over(&mut under_way, &record, true);
        }
        Self { body: Kind::Response { body, rest, under_way }, record: Some(record), flow: Some(flow) }
    }
}

fn is_over(body: &Incoming, rest: Option<u64>) -> bool {
    rest == Some(0) || body.is_end_stream()
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
    pub(crate) const fn new(
        gateway: Rc<Gateway>,
        idle: Idle,
        server: Server,
        is_kept: bool,
        go: Option<Arc<Go>>,
    ) -> Self {
        Self { gateway, idle: Some(idle), server, is_kept, go }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(go) = &self.go {
            go.end();
        }
        // Still under way: its ticket gives up.
        if let Some(idle) = &self.idle {
            drop(idle.gate.finish());
        }
    }
}

impl Body for Relay {
    type Data = Held;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Held>, Broken>>> {
        let this = self.get_mut();
        let flow = &this.flow;
        let held = |frame: Frame<Bytes>| {
            frame.map_data(|bytes| match flow {
                Some(flow) => flow.hold(bytes),
                None => Held::free(bytes),
            })
        };
        let (body, rest, under_way) = match &mut this.body {
            Kind::Page(page) => {
                let frame = Pin::new(page).poll_frame(cx);
                if let (Poll::Ready(Some(Ok(frame))), Some(record)) = (&frame, &this.record) {
                    record.sent.set(frame.data_ref().map_or(0, Bytes::len) as u64);
                }
                return frame.map(|frame| frame.map(|frame| frame.map(held).map_err(|never| match never {})));
            }
            Kind::Response { body, rest, under_way } => (body, rest, under_way),
        };
        if let Some(flow) = flow {
            if under_way.is_some() && flow.progress().poll_stopped(cx.waker()) {
                return Poll::Ready(Some(Err(Broken::Stalled)));
            }
            ready!(flow.poll_room(cx));
        }
        if *rest == Some(0) {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let Some(record) = &this.record else { return Poll::Ready(None) };
        match frame {
            None => {
                over(under_way, record, rest.is_none());
                Poll::Ready(rest.map(|rest| Err(Broken::Short(rest))))
            }
            Some(Err(error)) => {
                over(under_way, record, false);
                Poll::Ready(Some(Err(error.into())))
            }
            Some(Ok(frame)) => {
                let frame = frame.map_data(|bytes| match rest {
                    Some(rest) => {
                        let part = bytes.slice(..bytes.len().min(usize::try_from(*rest).unwrap_or(usize::MAX)));
                        *rest -= part.len() as u64;
                        part
                    }
                    None => bytes,
                });
                if let Some(bytes) = frame.data_ref() {
                    record.sent.set(record.sent.get() + bytes.len() as u64);
                    record.gateway().uplink().acknowledges(bytes.len());
                }
                if is_over(body, *rest) {
                    over(under_way, record, true);
                }
                Poll::Ready(Some(Ok(held(frame))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Kind::Page(page) => page.is_end_stream(),
            Kind::Response { body, rest, .. } => is_over(body, *rest),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Kind::Page(page) => page.size_hint(),
            Kind::Response { body, rest, .. } => rest.map_or_else(|| body.size_hint(), SizeHint::with_exact),
        }
    }
}
