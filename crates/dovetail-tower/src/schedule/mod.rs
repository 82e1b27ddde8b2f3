//! A tower layer that releases requests to an HTTP service in turn and reads their responses as far as permitted.
//!
//! ```text
//! request -> classify -> Dispatcher::arrive -> wait for the release -> inner service -> response
//!                                                                                    |
//!                           meter each frame <- read no further than is allowed <- body
//! ```
//!
//! The layer schedules the *units* that bodies carry, as counted by a [`Meter`]: bytes, tokens, rows. A body is polled only
//! while units of it may be taken in, so a service whose bodies work when polled works for the request whose turn it is, and
//! one that feeds bodies from elsewhere sees backpressure. A frame longer than the allowance is passed on and charged in full:
//! the class waits for it afterwards.
//!
//! The number of units is known from the body where units are bytes, and otherwise if the service announces it: it puts
//! [`Units`] into the response's extensions, or a layer outside this one puts them into the request's. It need not be accurate.
//! A response of known length may end without a turn; for one of unknown length, the end may cost one.
//!
//! A response that ends, is aborted or never starts is finished for the dispatcher; one dropped by its client is cancelled.
//! Dropping a response after its last unit ends it.
//!
//! The service is not reserved before its call: requests have to be at the dispatcher to be ordered there, not queued in front
//! of it. So [`Schedule`] is always ready, and [`Scheduled`] makes a clone of the inner service ready once the request is
//! released. [`WaitLimits`] bound the queue.
//!
//! ```
//! use dovetail_sched::{Weight, request::{ClassId, RequestSetup, RequestSpec}};
//! use dovetail_tower::{Dispatcher, ScheduleLayer};
//! use http::{Request, Response, request::Parts};
//! use http_body_util::BodyExt;
//! use tower::{Layer, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let setup = RequestSetup::for_bytes(239_000.0);
//! let dispatcher = Dispatcher::new(&"grants".parse::<RequestSpec>()?, &setup, &[Weight::ONE; 2])?;
//! dispatcher.set_weight(ClassId(1), Weight::new(2.0).expect("in range"));
//! tokio::spawn(dispatcher.drive());
//!
//! let classify = |request: &Parts| {
//!     let user = request.headers.get("x-user").map(|name| name.as_bytes().to_vec()).unwrap_or_default();
//!     let class = ClassId(u32::from(request.headers.contains_key("x-paid")));
//!     (user, class)
//! };
//! let service = ScheduleLayer::new(dispatcher, classify).layer(service_fn(async |_: Request<()>| {
//!     Ok::<_, std::convert::Infallible>(Response::new("hello".to_owned()))
//! }));
//!
//! let response = service.oneshot(Request::new(())).await?;
//! assert_eq!(response.headers()["server-timing"], "queue;dur=0.0");
//! assert_eq!(response.into_body().collect().await?.to_bytes(), "hello");
//! # Ok(())
//! # }
//! ```

mod body;
mod future;
mod meter;
mod timing;

use std::{
    fmt,
    hash::Hash,
    sync::Arc,
    task::{Context, Poll},
};

use dovetail_sched::request::ClassId;
use http::{Request, Response, request::Parts};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

pub use self::{
    body::ScheduledBody,
    future::Scheduled,
    meter::{ByteMeter, Meter, Units},
};
use crate::dispatcher::{Dispatcher, WaitLimits};

/// A layer that puts a [`Schedule`] in front of services.
pub struct ScheduleLayer<K, C, M = ByteMeter> {
    dispatcher: Dispatcher<K>,
    classify: C,
    settings: Settings<M>,
}

/// An HTTP service that calls the inner one when it is each request's turn.
pub struct Schedule<S, K, C, M = ByteMeter> {
    inner: S,
    dispatcher: Dispatcher<K>,
    classify: C,
    settings: Settings<M>,
}

#[derive(Debug, Clone, Copy)]
struct Settings<M> {
    meter: M,
    limits: WaitLimits,
    retry_after_s: u32,
    tells_timing: bool,
}

impl<K, C> ScheduleLayer<K, C> {
    /// Queues requests at this dispatcher, whose [driver](Dispatcher::drive) has to run. `classify` returns the user and their
    /// class; since any client can write any header, it should use authenticated data. Units are bytes.
    #[must_use]
    pub fn new(dispatcher: Dispatcher<K>, classify: C) -> Self
    where
        C: Fn(&Parts) -> (K, ClassId),
    {
        let settings =
            Settings { meter: ByteMeter, limits: WaitLimits::UNLIMITED, retry_after_s: 1, tells_timing: true };
        Self { dispatcher, classify, settings }
    }
}

impl<K, C, M> ScheduleLayer<K, C, M> {
    /// Counts units other than bytes: the dispatcher's rate and its policy's sizes are then in these units.
    #[must_use]
    pub fn meter<N>(self, meter: N) -> ScheduleLayer<K, C, N> {
        let Settings { limits, retry_after_s, tells_timing, .. } = self.settings;
        let settings = Settings { meter, limits, retry_after_s, tells_timing };
        ScheduleLayer { dispatcher: self.dispatcher, classify: self.classify, settings }
    }

    /// Responds with 503 when too many requests are queued, with a `Retry-After` of this many seconds. Without this, the
    /// queue has no limit.
    #[must_use]
    pub fn limits(mut self, limits: WaitLimits, retry_after_s: u32) -> Self {
        self.settings.limits = limits;
        self.settings.retry_after_s = retry_after_s;
        self
    }

    /// Whether responses state in `Server-Timing` how long their requests were queued. By default they do.
    #[must_use]
    pub fn server_timing(mut self, tells: bool) -> Self {
        self.settings.tells_timing = tells;
        self
    }
}

impl<S, K, C: Clone, M: Clone> Layer<S> for ScheduleLayer<K, C, M> {
    type Service = Schedule<S, K, C, M>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { dispatcher, classify, settings } = self.clone();
        Schedule { inner, dispatcher, classify, settings }
    }
}

impl<S, B, R, K, C, M> Service<Request<B>> for Schedule<S, K, C, M>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: Body,
    K: Clone + Eq + Hash,
    C: Fn(&Parts) -> (K, ClassId),
    M: Meter<R::Data> + Clone,
{
    type Response = Response<ScheduledBody<R, K, M>>;
    type Error = S::Error;
    type Future = Scheduled<S, B, K, M>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let (who, class) = (self.classify)(&parts);
        let length = parts.extensions.get().map(|&Units(units)| units);
        let label = Arc::from(parts.uri.path());
        let place = self.dispatcher.arrive_within(&self.settings.limits, &who, class, length, label);
        let request = Request::from_parts(parts, body);
        Scheduled::new(self.inner.clone(), request, place, length, self.settings.clone())
    }
}

impl<K, C: Clone, M: Clone> Clone for ScheduleLayer<K, C, M> {
    fn clone(&self) -> Self {
        let Self { dispatcher, classify, settings } = self;
        Self { dispatcher: dispatcher.clone(), classify: classify.clone(), settings: settings.clone() }
    }
}

impl<S: Clone, K, C: Clone, M: Clone> Clone for Schedule<S, K, C, M> {
    fn clone(&self) -> Self {
        let Self { inner, dispatcher, classify, settings } = self;
        Self {
            inner: inner.clone(),
            dispatcher: dispatcher.clone(),
            classify: classify.clone(),
            settings: settings.clone(),
        }
    }
}

impl<K, C, M> fmt::Debug for ScheduleLayer<K, C, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleLayer").field("limits", &self.settings.limits).finish_non_exhaustive()
    }
}

impl<S: fmt::Debug, K, C, M> fmt::Debug for Schedule<S, K, C, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule").field("inner", &self.inner).finish_non_exhaustive()
    }
}
