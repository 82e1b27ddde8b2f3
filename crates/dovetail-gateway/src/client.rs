//! A client's connection: how many it may have, and how long each may be without a request.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    io,
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

/// Connections by client. A connection counts for as long as its [`Seat`] is there.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Cell<usize>,
    by_client: RefCell<HashMap<IpAddr, usize>>,
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
}

/// A request under way, from its header to its answer's last byte.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Activity>);

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.under_way.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Ends the connection, whatever is under way on it.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
        self.wake();
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
}

impl ClientStream {
    /// `header`: how long a header may take. `idle`: how long there may be none.
    pub(crate) fn new(stream: TcpStream, activity: Arc<Activity>, header: Duration, idle: Duration) -> Self {
        let since = Instant::now();
        // The first request: a connection that was made for nothing is not kept as one that was of use.
        Self { stream, activity, header, idle, since, waits_for: 0, has_begun: true, timer: None }
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
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.activity.lives_on(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
