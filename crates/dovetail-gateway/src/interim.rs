//! Interim responses, which precede the final one (RFC 9110, section 15.2).
//!
//! A request with `Expect: 100-continue` is forwarded as it is, and its body once the server sends `100 Continue`, or after a
//! second of silence: some servers never send it. A final response is passed on instead, and the body is not sent. Other
//! interim responses, such as `103 Early Hints`, are passed on to HTTP/1.1 clients; hyper cannot send them over HTTP/2.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use http::{HeaderMap, StatusCode, Version, header};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{client::Activity, headers};

/// How long to wait for a server to request the body.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Whether a request's body is sent to the server. Shared with hyper, which requires it to be `Send`.
#[derive(Debug, Default)]
pub(crate) struct BodyGate {
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

const WAITS: u8 = 0;
const GOES: u8 = 1;
const STAYS: u8 = 2;
const OVER: u8 = 3;

impl BodyGate {
    /// Lets the body be sent.
    pub(crate) fn go(&self) {
        self.change(WAITS, GOES);
    }

    /// Withholds the body, since the server has answered without it. False if it is already being sent.
    pub(crate) fn stay(&self) -> bool {
        self.change(WAITS, STAYS)
    }

    /// Releases a withheld body: the server's answer has ended, or is not needed any more.
    pub(crate) fn end(&self) {
        self.change(STAYS, OVER);
    }

    fn change(&self, from: u8, to: u8) -> bool {
        let is_so = self.state.compare_exchange(from, to, Relaxed, Relaxed).is_ok();
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker.filter(|_| is_so) {
            waker.wake();
        }
        is_so
    }
}

/// The body's handle.
#[derive(Debug)]
pub(crate) struct BodyWait {
    go: Arc<BodyGate>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What happens to the body.
pub(crate) enum Turn {
    Goes,
    /// It is not needed, but its connection is still in use.
    Stays,
    Over,
}

impl BodyWait {
    pub(crate) const fn new(go: Arc<BodyGate>) -> Self {
        Self { go, timer: None }
    }

    /// The task is woken when the state changes.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        *self.go.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        match self.go.state.load(Relaxed) {
            GOES => Poll::Ready(Turn::Goes),
            STAYS => Poll::Ready(Turn::Stays),
            OVER => Poll::Ready(Turn::Over),
            _ => {
                // Starts when the body could first be sent.
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + MAX_WAIT)));
                timer.as_mut().poll(cx).map(|()| {
                    self.go.go();
                    Turn::Goes
                })
            }
        }
    }
}

/// Whether a request waits for `100 Continue`. Other expectations are removed.
pub(crate) fn expects(headers: &mut HeaderMap, version: Version, has_body: bool) -> bool {
    let is_known = headers::is_only(headers, &header::EXPECT, "100-continue");
    let is_so = is_known && has_body && version >= Version::HTTP_11;
    if !is_so {
        headers.remove(header::EXPECT);
    }
    is_so
}

/// Passes interim responses on to a client until dropped, when the final response has arrived or there is none.
#[derive(Debug)]
pub(crate) struct Listening(Arc<InterimSink>);

#[derive(Debug)]
struct InterimSink {
    client: Arc<Activity>,
    is_open: AtomicBool,
}

impl Listening {
    pub(crate) fn new(client: &Arc<Activity>, version: Version) -> Self {
        let is_open = AtomicBool::new(version == Version::HTTP_11);
        Self(Arc::new(InterimSink { client: Arc::clone(client), is_open }))
    }

    /// Subscribes to the interim responses to a request, for the waiting body and for the client.
    pub(crate) fn to<B>(&self, request: &mut http::Request<B>, go: Option<Arc<BodyGate>>) {
        let ear = Arc::clone(&self.0);
        hyper::ext::on_informational(request, move |response| match response.status() {
            StatusCode::CONTINUE => {
                if let Some(go) = &go {
                    go.go();
                }
            }
            status if ear.is_open.load(Relaxed) => ear.client.say(written(status, response.headers())),
            _ => {}
        });
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if self.0.is_open.swap(false, Relaxed) {
            self.0.client.say_no_more();
        }
    }
}

/// An interim response in HTTP/1.1 syntax.
fn written(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let mut headers = headers.clone();
    headers::strip(&mut headers);
    headers.remove(header::CONTENT_LENGTH);
    let mut bytes =
        format!("HTTP/1.1 {} {}\r\n", status.as_str(), status.canonical_reason().unwrap_or("")).into_bytes();
    for (name, value) in &headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}
