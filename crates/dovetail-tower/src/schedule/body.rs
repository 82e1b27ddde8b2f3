//! A response body that is read no further than its turns allow.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::Meter;
use crate::dispatcher::Ticket;

pin_project! {
    /// A response body that is read no further than its turns allow. Frames are passed on as they arrive.
    pub struct ScheduledBody<R, K, M> {
        // `None` if the service was not called.
        #[pin]
        inner: Option<R>,
        meter: M,
        // `None` once the response has ended.
        ticket: Option<Ticket<K>>,
        // Units to come, as long as the announced length may be true.
        left: Option<u64>,
    }

    impl<R, K, M> PinnedDrop for ScheduledBody<R, K, M> {
        fn drop(this: Pin<&mut Self>) {
            // A reader that knows the length does not poll for the end.
            let this = this.project();
            if let Some(ticket) = this.ticket.take_if(|_| *this.left == Some(0)) {
                ticket.end();
            }
        }
    }
}

impl<R: Body, K, M> ScheduledBody<R, K, M> {
    pub(super) fn new(inner: R, ticket: Ticket<K>, length: Option<u64>, meter: M) -> Self {
        let mut ticket = Some(ticket);
        // A body that has already ended is never polled.
        if inner.is_end_stream() {
            end(&mut ticket);
        }
        Self { inner: Some(inner), meter, ticket, left: length }
    }
}

impl<R, K, M> ScheduledBody<R, K, M> {
    pub(super) fn empty(meter: M) -> Self {
        Self { inner: None, meter, ticket: None, left: None }
    }
}

impl<R, K, M> Body for ScheduledBody<R, K, M>
where
    R: Body,
    M: Meter<R::Data>,
{
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let this = self.project();
        let Some(mut inner) = this.inner.as_pin_mut() else { return Poll::Ready(None) };
        // After the last unit only the end is left, which costs nothing.
        if let Some(ticket) = this.ticket.as_ref().filter(|_| *this.left != Some(0)) {
            ready!(ticket.poll_allowed(cx));
        }
        let frame = ready!(inner.as_mut().poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            if let (Some(data), Some(ticket)) = (frame.data_ref(), &this.ticket) {
                let units = this.meter.units(data);
                ticket.received(units);
                *this.left = this.left.and_then(|left| left.checked_sub(units));
            }
            if inner.is_end_stream() {
                end(this.ticket);
            }
        } else {
            end(this.ticket);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

fn end<K>(ticket: &mut Option<Ticket<K>>) {
    if let Some(ticket) = ticket.take() {
        ticket.end();
    }
}

impl<R, K, M> fmt::Debug for ScheduledBody<R, K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledBody").field("left", &self.left).finish_non_exhaustive()
    }
}
