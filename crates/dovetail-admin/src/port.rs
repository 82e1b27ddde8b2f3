//! An HTTP/1.1 port with limits of its own.

use std::{convert::Infallible, rc::Rc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    select,
    task::spawn_local,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use crate::{Asked, Fault, Site, guard};

/// Maximum number of open connections. Further ones are closed.
const MAX_CONNECTIONS: usize = 64;
/// Maximum time for a request's header to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum lifetime of a connection: one whose client reads nothing would otherwise keep its slot.
const MAX_LIFETIME: Duration = Duration::from_secs(600);
/// Time for the last answer after that.
const LAST_ANSWER: Duration = Duration::from_secs(10);

/// Serves a site on the current thread, as local tokio tasks.
#[derive(Debug)]
pub struct Port<S> {
    site: Rc<S>,
    seats: Rc<()>,
}

impl<S: Site> Port<S> {
    /// A port for this site.
    #[must_use]
    pub fn new(site: Rc<S>) -> Self {
        Self { site, seats: Rc::new(()) }
    }

    /// Serves a connection, unless there are too many.
    pub fn welcome(&self, stream: TcpStream) {
        let seat = Rc::clone(&self.seats);
        // The count includes the port's own reference.
        if Rc::strong_count(&seat) <= MAX_CONNECTIONS + 1 {
            let site = Rc::clone(&self.site);
            spawn_local(async move {
                serve(site, stream).await;
                drop(seat);
            });
        }
    }
}

/// Calls the site every second, for as long as it is polled.
pub async fn each_second<S: Site>(site: Rc<S>) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        site.second();
    }
}

async fn serve<S: Site>(site: Rc<S>, stream: TcpStream) {
    let service = service_fn(move |request| {
        let site = Rc::clone(&site);
        async move { Ok::<_, Infallible>(answer(&*site, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT).max_buf_size(16 * 1024);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How a connection ends is up to its client.
    select! {
        done = &mut connection => drop(done),
        () = sleep(MAX_LIFETIME) => {
            connection.as_mut().graceful_shutdown();
            drop(timeout(LAST_ANSWER, connection).await);
        }
    }
}

async fn answer<S: Site>(site: &S, request: Asked) -> Response<Full<Bytes>> {
    let answered = match guard::host(request.uri(), request.headers()) {
        Ok(()) => site.answer(request).await,
        Err(fault) => Err(fault),
    };
    let mut response = answered.unwrap_or_else(Fault::response);
    let headers = response.headers_mut();
    let always = [
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    headers.extend(always.map(|(name, value)| (name, HeaderValue::from_static(value))));
    // A page sets a policy of its own, which allows it more.
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    response
}
