//! A request's body on its way to a server.

use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::watch::Progress;

/// A request's body, or none.
#[derive(Debug)]
pub(crate) struct Upload {
    body: Option<Incoming>,
    progress: Option<Rc<Progress>>,
}

impl Upload {
    pub(crate) const fn none() -> Self {
        Self { body: None, progress: None }
    }

    pub(crate) const fn of(body: Incoming, progress: Rc<Progress>) -> Self {
        Self { body: Some(body), progress: Some(progress) }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        if let (Poll::Ready(Some(_)), Some(progress)) = (&frame, &this.progress) {
            progress.moves();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
