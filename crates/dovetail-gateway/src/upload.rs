//! Sends a request's body to a server.

use std::{
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::{
    interim::{BodyGate, BodyWait, Turn},
    quota::Account,
    trailers,
    uplink::Lane,
    watch::{Phase, Progress},
};

/// A request's body, or none.
#[derive(Debug)]
pub(crate) struct Upload(Option<Sending>);

#[derive(Debug)]
struct Sending {
    // `None` once the body is not needed any more.
    body: Option<Incoming>,
    waits: Option<BodyWait>,
    lane: Lane,
    // What was read of the body and may not be sent yet.
    read: Bytes,
    progress: Rc<Progress>,
    account: Rc<Account>,
}

/// Why a request's body was not completed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Client(#[from] hyper::Error),
    #[error("the server answered without it")]
    Unwanted,
}

impl Upload {
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// `go` is what it waits for, if anything.
    pub(crate) fn of(
        body: Incoming,
        lane: Lane,
        (progress, account): (Rc<Progress>, Rc<Account>),
        go: Option<Arc<BodyGate>>,
    ) -> Self {
        let (waits, read) = (go.map(BodyWait::new), Bytes::new());
        Self(Some(Sending { body: Some(body), waits, lane, read, progress, account }))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(Sending { body, waits, lane, read, progress, account }) = &mut self.get_mut().0 else {
            return Poll::Ready(None);
        };
        if let Some(waiting) = waits {
            match ready!(waiting.poll(cx)) {
                Turn::Goes => *waits = None,
                Turn::Stays => {
                    // Dropping the body tells the client's connection that it will not be read.
                    *body = None;
                    return Poll::Pending;
                }
                Turn::Over => return Poll::Ready(Some(Err(Broken::Unwanted))),
            }
        }
        let Some(body) = body else { return Poll::Ready(None) };
        while read.is_empty() {
            let frame = Pin::new(&mut *body).poll_frame(cx);
            progress.waits_for_client(frame.is_pending());
            let Some(frame) = ready!(frame) else {
                lane.close();
                return Poll::Ready(None);
            };
            progress.moves();
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => *read = data,
                Ok(Err(last)) => {
                    lane.close();
                    let passed = last.into_trailers().ok().and_then(trailers::passed_on);
                    return Poll::Ready(passed.map(|passed| Ok(Frame::trailers(passed))));
                }
                Err(error) => {
                    progress.breaks_upload();
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
        }
        let Poll::Ready(room) = lane.poll_room(cx, read.len()) else {
            progress.waits_for(Phase::Turn);
            return Poll::Pending;
        };
        if progress.phase() == Phase::Turn {
            progress.waits_for(Phase::Answer);
        }
        if account.is_refused() {
            progress.stop();
            return Poll::Pending;
        }
        lane.sent(room);
        account.went(room as u64);
        Poll::Ready(Some(Ok(Frame::data(read.split_to(room)))))
    }

    fn is_end_stream(&self) -> bool {
        let is_over = |sending: &Sending| sending.body.as_ref().is_none_or(Body::is_end_stream);
        self.0.as_ref().is_none_or(|sending| sending.read.is_empty() && is_over(sending))
    }

    fn size_hint(&self) -> SizeHint {
        let Some(Sending { body: Some(body), read, .. }) = &self.0 else { return SizeHint::with_exact(0) };
        let (rest, read) = (body.size_hint(), read.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(read));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(read)) {
            hint.set_upper(upper);
        }
        hint
    }
}
