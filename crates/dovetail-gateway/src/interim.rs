//! What a server says before its answer: interim responses (RFC 9110, section 15.2).
//!
//! A request that expects `100 Continue` goes to the server as it is, and its body when the server says so, or after a second
//! in which it says nothing: some servers never do. An answer in its place is the answer, and the body stays where it is.
//! Others, such as `103 Early Hints`, go on to clients of HTTP/1.1; hyper has no way to say them over HTTP/2.

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

/// How long a server may take to say that it wants a request's body.
const LONGEST: Duration = Duration::from_secs(1);

/// Whether a request's body goes to the server. Shared with hyper, which wants it to be `Send`.
#[derive(Debug, Default)]
pub(crate) struct Go {
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

const WAITS: u8 = 0;
const GOES: u8 = 1;
const STAYS: u8 = 2;
const OVER: u8 = 3;

impl Go {
    /// The server wants the body.
    pub(crate) fn go(&self) {
        self.change(WAITS, GOES);
    }

    /// The server answered without it. False if the body is on its way.
    pub(crate) fn stay(&self) -> bool {
        self.change(WAITS, STAYS)
    }

    /// The server's answer is over, or is not wanted any more.
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

/// A body's side of it.
#[derive(Debug)]
pub(crate) struct Waits {
    go: Arc<Go>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What becomes of the body.
pub(crate) enum Turn {
    Goes,
    /// It is not wanted, but its connection is in use.
    Stays,
    Over,
}

impl Waits {
    pub(crate) const fn new(go: Arc<Go>) -> Self {
        Self { go, timer: None }
    }

    /// The task is woken when it changes.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        *self.go.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        match self.go.state.load(Relaxed) {
            GOES => Poll::Ready(Turn::Goes),
            STAYS => Poll::Ready(Turn::Stays),
            OVER => Poll::Ready(Turn::Over),
            _ => {
                // From the first time that it could go.
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + LONGEST)));
                timer.as_mut().poll(cx).map(|()| {
                    self.go.go();
                    Turn::Goes
                })
            }
        }
    }
}

/// Whether a request waits for `100 Continue`. Other expectations are taken off.
pub(crate) fn expects(headers: &mut HeaderMap, version: Version, has_body: bool) -> bool {
    let is_known = headers::is_only(headers, &header::EXPECT, "100-continue");
    let is_so = is_known && has_body && version >= Version::HTTP_11;
    if !is_so {
        headers.remove(header::EXPECT);
    }
    is_so
}

/// Hands interim responses on to a client until it is dropped: then the answer is there, or there is none.
#[derive(Debug)]
pub(crate) struct Listening(Arc<Ear>);

#[derive(Debug)]
struct Ear {
    client: Arc<Activity>,
    is_open: AtomicBool,
}

impl Listening {
    pub(crate) fn new(client: &Arc<Activity>, version: Version) -> Self {
        let is_open = AtomicBool::new(version == Version::HTTP_11);
        Self(Arc::new(Ear { client: Arc::clone(client), is_open }))
    }

    /// Takes up interim responses to a request: for the body that waits, and for the client.
    pub(crate) fn to<B>(&self, request: &mut http::Request<B>, go: Option<Arc<Go>>) {
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

/// An interim response as HTTP/1.1 writes it.
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
