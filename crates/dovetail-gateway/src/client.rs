//! A client's connection: how many it may have, how long each may be without a request, and how it ends.
//!
//! A socket that is closed while something in it is unread is reset, and what was sent last is lost with it. So a connection
//! that is closed in the middle of a request *lingers*: it is read a little longer, and what comes is thrown away.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    io, mem,
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

use crate::{
    held::Users,
    unreadable::{Instead, Unreadable},
};

/// How long a connection lingers, and how much of it is read.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1024 * 1024;

/// Connections by client. A connection counts for as long as its [`Seat`] is there.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Cell<usize>,
    by_client: RefCell<HashMap<IpAddr, usize>>,
    users: Rc<Users>,
}

#[derive(Debug)]
pub(crate) struct Seat {
    seats: Rc<Seats>,
    client: IpAddr,
}

impl Seats {
    /// A seat for one more connection, if there is one.
    pub(crate) fn take(self: &Rc<Self>, client: IpAddr, most: usize, most_a_client: usize) -> Option<Seat> {
        let mut by_client = self.by_client.borrow_mut();
        let mine = by_client.get(&client).copied().unwrap_or(0);
        if self.taken.get() >= most || mine >= most_a_client {
            return None;
        }
        by_client.insert(client, mine + 1);
        self.taken.set(self.taken.get() + 1);
        Some(Seat { seats: Rc::clone(self), client })
    }

    pub(crate) const fn taken(&self) -> usize {
        self.taken.get()
    }

    pub(crate) const fn users(&self) -> &Rc<Users> {
        &self.users
    }
}

impl Seat {
    /// How many connections its client has.
    pub(crate) fn of_client(&self) -> usize {
        self.seats.by_client.borrow().get(&self.client).copied().unwrap_or(0)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken.set(self.seats.taken.get() - 1);
        let mut by_client = self.seats.by_client.borrow_mut();
        if let Some(mine) = by_client.get_mut(&self.client) {
            *mine -= 1;
            if *mine == 0 {
                by_client.remove(&self.client);
            }
        }
    }
}

/// Whether requests of a connection are under way. Shared with a stream that hyper wants to be `Send`.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    under_way: AtomicU32,
    begun: AtomicU64,
    // Whether the connection is to end at once, and who is to be told.
    is_abandoned: AtomicBool,
    waker: Mutex<Option<Waker>>,
    // Whether more of a request may come that nobody reads.
    lingers: AtomicBool,
    // What was said of a request that cannot be read: its status, and bytes.
    unreadable: Mutex<Option<(Unreadable, usize)>>,
    // Interim responses that are to be written before the next response.
    interim: Mutex<Vec<u8>>,
}

/// The most of interim responses that wait to be written.
const MOST_INTERIM: usize = 64 * 1024;

/// A request under way, from its header to its answer's last byte.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Activity>);

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.under_way.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Whether there was any request.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Relaxed) > 0
    }

    /// Ends the connection, whatever is under way on it.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
        self.wake();
    }

    /// Has an interim response written, unless too much waits already.
    pub(crate) fn say(&self, interim: Vec<u8>) {
        let mut waits = self.interim.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.len() + interim.len() <= MOST_INTERIM {
            waits.extend(interim);
        }
        drop(waits);
        self.wake();
    }

    /// The response itself is there: what was not written yet is too late.
    pub(crate) fn say_no_more(&self) {
        self.interim.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// When the connection ends, what still comes of a request is read and thrown away.
    pub(crate) fn linger(&self) {
        self.lingers.store(true, Relaxed);
    }

    /// What was said of a request that cannot be read, and in how many bytes.
    pub(crate) fn unreadable(&self) -> Option<(Unreadable, usize)> {
        *self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Fails if the connection is to end. The task is woken when it is.
    fn lives_on(&self, cx: &Context<'_>) -> io::Result<()> {
        if self.is_abandoned.load(Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *waker {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Ok(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Relaxed) == 1 {
            // The connection is idle from now on, and its last read was before: that set no timer.
            self.0.wake();
        }
    }
}

/// A client's connection that ends when it says nothing, or too little, for too long.
#[derive(Debug)]
pub(crate) struct ClientStream {
    stream: TcpStream,
    activity: Arc<Activity>,
    header: Duration,
    idle: Duration,
    // Since when it has been waiting for a request, which of them, and whether some of that is there.
    since: Instant,
    waits_for: u64,
    has_begun: bool,
    timer: Option<Pin<Box<Sleep>>>,
    // What is said of requests that cannot be read, and how much of that is written.
    instead: Instead,
    page: Option<(Vec<u8>, usize)>,
    // What is written of interim responses.
    interim: Bytes,
    lingered_bytes: usize,
}

impl ClientStream {
    /// `header`: how long a header may take. `idle`: how long there may be none.
    pub(crate) fn new(
        stream: TcpStream,
        activity: Arc<Activity>,
        (header, idle): (Duration, Duration),
        instead: Instead,
    ) -> Self {
        let since = Instant::now();
        Self {
            stream,
            activity,
            header,
            idle,
            since,
            waits_for: 0,
            // The first request: a connection that was made for nothing is not kept as one that was of use.
            has_begun: true,
            timer: None,
            instead,
            page: None,
            interim: Bytes::new(),
            lingered_bytes: 0,
        }
    }

    fn waits(&mut self, came: usize) {
        let begun = self.activity.begun.load(Relaxed);
        if self.waits_for != begun || self.activity.under_way.load(Relaxed) > 0 {
            (self.waits_for, self.has_begun, self.since) = (begun, false, Instant::now());
        }
        if came > 0 && !self.has_begun {
            (self.has_begun, self.since) = (true, Instant::now());
        }
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        self.waits(0);
        if self.activity.under_way.load(Relaxed) > 0 {
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
    /// Writes a page in place of these bytes, if they are what hyper says of a request that it cannot read.
    fn poll_instead(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<bool>> {
        if self.page.is_none() {
            let is_idle = self.activity.under_way.load(Relaxed) == 0;
            let Some(unreadable) = Unreadable::said_in(bytes).filter(|_| is_idle) else {
                return Poll::Ready(Ok(false));
            };
            let page = self.instead.page(unreadable);
            let mut noted = self.activity.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
            *noted = Some((unreadable, page.len()));
            self.activity.linger();
            self.page = Some((page, 0));
        }
        while let Some((page, written)) = self.page.as_mut().filter(|(page, written)| *written < page.len()) {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &page[*written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => *written += bytes,
            }
        }
        self.page = None;
        Poll::Ready(Ok(true))
    }

    /// Writes the rest of interim responses that were begun.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.interim.is_empty() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &self.interim))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => self.interim.advance(bytes),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what still comes, for a while.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timer = match &mut self.timer {
            Some(timer) if self.lingered_bytes > 0 => timer,
            timer => {
                // Begun: from here on the bytes are at least one.
                self.lingered_bytes = 1;
                timer.insert(Box::pin(sleep_until(Instant::now() + LINGER)))
            }
        };
        while timer.as_mut().poll(cx).is_pending() && self.lingered_bytes < LINGER_BYTES {
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
        self.activity.lives_on(cx)?;
        ready!(self.poll_interim(cx))?;
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
        self.activity.lives_on(cx)?;
        ready!(self.poll_interim(cx))?;
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
        // Whoever flushes has written all of the last response, and nothing of the next.
        ready!(self.poll_interim(cx))?;
        let said = mem::take(&mut *self.activity.interim.lock().unwrap_or_else(PoisonError::into_inner));
        self.interim = said.into();
        ready!(self.poll_interim(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        if self.activity.lingers.load(Relaxed) {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}
