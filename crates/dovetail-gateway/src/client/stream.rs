//! A client's connection as given to hyper: with timeouts for requests, and an orderly end.
//!
//! Closing a socket with unread data resets it, which discards what was sent last. So a connection that is closed in the middle
//! of a request *lingers*: it is read for a little longer, and what arrives is discarded.
//!
//! To a client of HTTP/1.0 a response without a length ends with its connection. So if that is dropped before hyper has shut it
//! down, after the last byte, it is reset, and the client notices that its response is incomplete. In TLS it notices anyway: the
//! closure alert is missing.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};
use tokio_util::either::Either;

use super::{activity::Activity, connection::Connection};
use crate::bad_request::{ErrorPages, Unreadable};

/// How long a connection lingers, and how many bytes are read meanwhile.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1024 * 1024;

/// A client's connection that is closed when it sends nothing, or too little, for too long.
#[derive(Debug)]
pub(crate) struct ClientStream {
    stream: Connection,
    activity: Arc<Activity>,
    header: Duration,
    idle: Duration,
    // Since when it has been waiting for a request, the number of that request, and whether a part of it has arrived.
    since: Instant,
    waits_for: u64,
    has_begun: bool,
    timer: Option<Pin<Box<Sleep>>>,
    // Pages to send for requests that cannot be parsed, and the rest of one to be written.
    instead: ErrorPages,
    page: Option<Bytes>,
    // The rest of interim responses to be written.
    interim: Bytes,
    // Whether hyper has written all that it had, and nothing since.
    is_flushed: bool,
    lingered_bytes: usize,
    is_shut_down: bool,
}

impl ClientStream {
    /// `header` is how long a header may take, `idle` how long the connection may be without one.
    pub(crate) fn new(
        stream: Connection,
        activity: Arc<Activity>,
        (header, idle): (Duration, Duration),
        instead: ErrorPages,
    ) -> Self {
        let since = Instant::now();
        Self {
            stream,
            activity,
            header,
            idle,
            since,
            waits_for: 0,
            // The first request: a connection without any is not kept as long as one that has been used.
            has_begun: true,
            timer: None,
            instead,
            page: None,
            interim: Bytes::new(),
            is_flushed: true,
            lingered_bytes: 0,
            is_shut_down: false,
        }
    }

    fn waits(&mut self, came: usize) {
        let begun = self.activity.begun();
        if self.waits_for != begun || self.activity.is_busy() {
            (self.waits_for, self.has_begun, self.since) = (begun, false, Instant::now());
        }
        if came > 0 && !self.has_begun {
            (self.has_begun, self.since) = (true, Instant::now());
        }
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        self.waits(0);
        if self.activity.is_busy() {
            return false;
        }
        let deadline = self.since + if self.has_begun { self.header } else { self.idle };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx).is_ready()
    }
}

impl ClientStream {
    /// If these bytes are hyper's answer to a request that it cannot parse, writes a page instead.
    fn poll_instead(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<bool>> {
        if self.page.is_none() {
            let is_idle = !self.activity.is_busy();
            let Some(unreadable) = Unreadable::said_in(bytes).filter(|_| is_idle) else {
                return Poll::Ready(Ok(false));
            };
            let page = self.instead.page(unreadable);
            self.activity.note_unreadable(unreadable, page.len());
            self.activity.linger();
            self.page = Some(page.into());
        }
        if let Some(page) = &mut self.page {
            ready!(poll_write_all(&mut self.stream, cx, page))?;
        }
        self.page = None;
        Poll::Ready(Ok(true))
    }

    /// Writes the rest of interim responses that were started, and those that may be written now.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(poll_write_all(&mut self.stream, cx, &mut self.interim))?;
        self.interim = self.activity.take_said(self.is_flushed).into();
        poll_write_all(&mut self.stream, cx, &mut self.interim)
    }

    /// Does what comes before a write.
    fn poll_before(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.activity.lives_on(cx)?;
        ready!(self.poll_interim(cx))?;
        self.is_flushed = false;
        Poll::Ready(Ok(()))
    }

    /// Reads and discards what still arrives, for a while.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timer = match &mut self.timer {
            Some(timer) if self.lingered_bytes > 0 => timer,
            timer => {
                // Lingering has started: from here on it is at least 1.
                self.lingered_bytes = 1;
                timer.insert(Box::pin(sleep_until(Instant::now() + LINGER)))
            }
        };
        while timer.as_mut().poll(cx).is_pending() {
            if self.lingered_bytes >= LINGER_BYTES {
                // A client that is held up notices the response; a closed connection would be reset before it has read it.
                return Poll::Pending;
            }
            let mut bytes = [0; 4096];
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.lingered_bytes += buffer.filled().len(),
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

/// Writes bytes until there are none.
fn poll_write_all(stream: &mut Connection, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
    while !bytes.is_empty() {
        match ready!(Pin::new(&mut *stream).poll_write(cx, bytes))? {
            0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            written => bytes.advance(written),
        }
    }
    Poll::Ready(Ok(()))
}

impl AsyncRead for ClientStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        this.activity.lives_on(cx)?;
        match Pin::new(&mut this.stream).poll_read(cx, buffer) {
            Poll::Ready(done) => {
                this.waits(buffer.filled().len() - before);
                Poll::Ready(done)
            }
            Poll::Pending if this.is_late(cx) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_before(cx))?;
        if ready!(self.poll_instead(cx, bytes))? {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_before(cx))?;
        if let [only] = parts
            && ready!(self.poll_instead(cx, only))?
        {
            return Poll::Ready(Ok(only.len()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // At a flush, all of the last response has been written, and nothing of the next.
        self.is_flushed = true;
        ready!(self.poll_interim(cx))?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.activity.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        self.is_shut_down = true;
        if self.activity.lingers() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for ClientStream {
    fn drop(&mut self) {
        if self.activity.delimits_response()
            && !self.is_shut_down
            && let Either::Left(stream) = &self.stream
        {
            // If that cannot be set, the connection is closed as usual.
            drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
        }
    }
}
