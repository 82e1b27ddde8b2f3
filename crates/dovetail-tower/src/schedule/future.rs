//! A response that starts once its request is released.

use std::{
    fmt,
    future::Future,
    hash::Hash,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, header::RETRY_AFTER};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::{Meter, ScheduledBody, Settings, Units, timing};
use crate::dispatcher::{Overloaded, Ticket};

pin_project! {
    /// The response to a request, once that is released. Dropping this earlier cancels the request.
    pub struct Scheduled<S, B, K, M>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        stage: Stage<S, B, K, S::Future>,
        // Expected units of the response, as announced before the service is called.
        expected: Option<u64>,
        settings: Settings<M>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S, B, K, F> {
        Refused,
        Waits { inner: S, request: Option<(Ticket<K>, Request<B>)> },
        Asked { ticket: Option<Ticket<K>>, #[pin] response: F },
    }
}

const AFTER_THE_END: &str = "a completed future is not polled again";

impl<S: Service<Request<B>>, B, K, M> Scheduled<S, B, K, M> {
    pub(super) fn new(
        inner: S,
        request: Request<B>,
        place: Result<Ticket<K>, Overloaded>,
        expected: Option<u64>,
        settings: Settings<M>,
    ) -> Self {
        let stage = match place {
            Ok(ticket) => Stage::Waits { inner, request: Some((ticket, request)) },
            Err(_) => Stage::Refused,
        };
        Self { stage, expected, settings }
    }
}

impl<S, B, R, K, M> Future for Scheduled<S, B, K, M>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
    K: Clone + Eq + Hash,
    M: Meter<R::Data> + Clone,
{
    type Output = Result<Response<ScheduledBody<R, K, M>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                StageProjection::Refused => return Poll::Ready(Ok(refusal(this.settings))),
                StageProjection::Waits { inner, request } => {
                    let (ticket, _) = request.as_ref().expect(AFTER_THE_END);
                    ready!(ticket.poll_released(cx));
                    let is_ready = ready!(inner.poll_ready(cx));
                    let (ticket, request) = request.take().expect(AFTER_THE_END);
                    if let Err(error) = is_ready {
                        ticket.end();
                        return Poll::Ready(Err(error));
                    }
                    let response = inner.call(request);
                    this.stage.set(Stage::Asked { ticket: Some(ticket), response });
                }
                StageProjection::Asked { ticket, response } => {
                    let response = ready!(response.poll(cx));
                    let ticket = ticket.take().expect(AFTER_THE_END);
                    return Poll::Ready(match response {
                        Ok(response) => Ok(scheduled(response, ticket, *this.expected, this.settings)),
                        Err(error) => {
                            ticket.end();
                            Err(error)
                        }
                    });
                }
            }
        }
    }
}

fn scheduled<R: Body, K: Clone + Eq + Hash, M: Meter<R::Data> + Clone>(
    mut response: Response<R>,
    ticket: Ticket<K>,
    expected: Option<u64>,
    settings: &Settings<M>,
) -> Response<ScheduledBody<R, K, M>> {
    let said = response.extensions().get().map(|&Units(units)| units);
    let length = said.or_else(|| settings.meter.length(&response.body().size_hint()));
    if let Some(units) = length {
        ticket.length(units);
    }
    if settings.tells_timing
        && let (arrived, Some(released)) = ticket.times()
    {
        timing::tell(response.headers_mut(), released - arrived);
    }
    response.map(|body| ScheduledBody::new(body, ticket, length.or(expected), settings.meter.clone()))
}

fn refusal<R, K, M: Clone>(settings: &Settings<M>) -> Response<ScheduledBody<R, K, M>> {
    let mut response = Response::new(ScheduledBody::empty(settings.meter.clone()));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(settings.retry_after_s));
    response
}

impl<S: Service<Request<B>>, B, K, M> fmt::Debug for Scheduled<S, B, K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduled").field("expected", &self.expected).finish_non_exhaustive()
    }
}
