//! A connection to a server that is read only as far as the scheduler allows.
//!
//! While a response is in flight, every byte that arrives belongs to it, header and all: HTTP/1.1 without pipelining. When none
//! may be taken in, the socket is only peeked: the scheduler is told that bytes wait, and the task sleeps until its next turn. What
//! arrives meanwhile has crossed the link, and a link that slows down is found out by what it still brings: so it is counted, a
//! few times a second.

use std::{
    cell::{Cell, RefCell},
    future::Future as _,
    io,
    os::fd::AsFd,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustix::io::ioctl_fionread;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};

use super::{connect::Upstream, ending::Ending, low_water::LowWater, offered::Offered};
use crate::{
    batching::is_over,
    place::Place,
    quota::Account,
    round_trips::Sampled,
    uplink::{Learning, Metering},
    watch::{Phase, Progress},
};

/// Maximum length of a read, and so of one part of a response.
const MAX_READ_BYTES: u64 = 16 * 1024;

/// Maximum length of a header, including interim responses: one that never ends is not a response.
const MAX_HEAD_BYTES: u64 = 2 * 1024 * 1024;

/// TLS adds 22 bytes to each record. Senders start with records of a segment, which adds a sixty-fourth; and there are tickets
/// for later connections. A response ends before the announced length, never after it.
const SEALED_PART: u64 = 64;
const SEALED_MORE: u64 = 1_024;

/// More than can ever arrive: the kernel reduces it to half of the buffer.
const HELD: u64 = 1 << 30;

/// Maximum time for which a batch is waited for: then what has arrived is read, which may be all for now.
const MAX_BATCH_WAIT: Duration = Duration::from_millis(100);

/// How often what arrives without a turn is counted. Schedulers measure what a link brings in a second.
const COUNTS_EVERY: Duration = Duration::from_millis(125);

/// A connection whose reads are limited by its gate.
#[derive(Debug)]
pub(crate) struct Gated {
    stream: TcpStream,
    gate: Rc<Gate>,
    reset: Reset,
    // When to count what arrives without a turn, once a response has waited for one.
    counts: Option<Pin<Box<Sleep>>>,
    // Until when a batch may be waited for, and the timer that ends it.
    batch_until: Instant,
    batch: Option<Pin<Box<Sleep>>>,
}

/// Whether the server has reset a connection, as far as writes know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reset {
    Never,
    /// What arrived before can still be read.
    Found,
    /// All of that has been read.
    Read,
}

/// The response in flight on a connection.
#[derive(Debug)]
pub(crate) struct Gate {
    response: RefCell<Option<Response>>,
    offered: Offered,
    sampled: Option<Sampled>,
    head: Cell<Head>,
    received: Cell<u64>,
    // The response's total length, if known.
    total: Cell<Option<u64>>,
    // Whether a length was announced, if only approximately.
    has_length: Cell<bool>,
    ending: Ending,
    // Whether the connection is in TLS, which adds bytes of its own.
    is_sealed: bool,
    low_water: LowWater,
    // Bytes of the last read.
    lately: Cell<u64>,
    // Measures the request's body, if it has one.
    upload: RefCell<Metering>,
}

#[derive(Debug)]
struct Response {
    ticket: Place,
    progress: Rc<Progress>,
    account: Rc<Account>,
}

/// Tracks where a response's header ends.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    bytes: u64,
    // Bytes in the current line, and the first digit of the status.
    line: u32,
    status: u8,
    is_whole: bool,
}

impl Gated {
    /// A new connection without a response, in TLS or not. Its round-trip times are sampled if `sampled` is given.
    pub(crate) fn new(upstream: Upstream, is_sealed: bool, sampled: Option<Sampled>) -> (Self, Rc<Gate>) {
        if let Some(sampled) = &sampled {
            sampled.meet(upstream.stream.as_fd());
        }
        let gate = Rc::new(Gate {
            response: RefCell::default(),
            offered: upstream.offered,
            sampled,
            head: Cell::default(),
            received: Cell::new(0),
            total: Cell::default(),
            has_length: Cell::default(),
            ending: Ending::default(),
            is_sealed,
            low_water: LowWater::new(),
            lately: Cell::new(0),
            upload: RefCell::default(),
        });
        let gated = Self {
            stream: upstream.stream,
            gate: Rc::clone(&gate),
            reset: Reset::Never,
            counts: None,
            batch_until: Instant::now(),
            batch: None,
        };
        (gated, gate)
    }
}

impl Gated {
    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The bare connection without its gate, and the window that it offers.
    pub(crate) fn ungated(self) -> (TcpStream, Offered) {
        self.gate.wake_at(&self.stream, LowWater::LEAST);
        (self.stream, self.gate.offered.clone())
    }
}

impl Gate {
    /// Begins a response, which is in flight from now on.
    pub(crate) fn begin(&self, ticket: Place, progress: Rc<Progress>, account: Rc<Account>) {
        self.head.take();
        self.received.set(0);
        self.total.take();
        self.has_length.set(false);
        self.ending.forget();
        self.lately.set(0);
        self.upload.take();
        if self.offered.bytes() != u64::MAX {
            ticket.offers(self.offered.bytes());
            if let Some(trip) = self.offered.farthest() {
                ticket.round_trip(trip);
            }
        }
        *self.response.borrow_mut() = Some(Response { ticket, progress, account });
    }

    /// The request has a body, from which the uplink's capacity is learnt.
    pub(crate) fn uploads(&self, learning: &Rc<Learning>) {
        *self.upload.borrow_mut() = Metering::new(Some(learning));
    }

    /// Reports whether received bytes are waiting for the client to take them.
    pub(crate) fn client_blocked(&self, is_blocked: bool) {
        if let Some(response) = &*self.response.borrow() {
            response.ticket.client_blocked(is_blocked);
        }
    }

    /// Detaches the response: what arrives later does not belong to it.
    pub(crate) fn finish(&self) -> Option<Place> {
        self.upload.take();
        self.response.take().map(|response| response.ticket)
    }

    /// Reports the length of the response's body.
    pub(crate) fn length(&self, body_bytes: u64) {
        self.has_length.set(true);
        if let Some(response) = &*self.response.borrow() {
            let total = self.head.get().bytes.saturating_add(body_bytes);
            if self.is_sealed {
                // What TLS adds is known only on arrival.
                response.ticket.length(total.saturating_add(total / SEALED_PART).saturating_add(SEALED_MORE));
                return;
            }
            self.total.set(Some(total));
            response.ticket.length(total);
        }
    }

    /// Reports the length of a response of unknown length, once all that is left of it has arrived.
    fn finds_end(&self, stream: &TcpStream, response: &Response) {
        if !self.has_length.get()
            && let Some(rest) = self.ending.rest(stream)
        {
            response.ticket.length(self.received.get() + rest);
        }
    }

    /// Bytes received of the response, header and all.
    pub(crate) const fn received(&self) -> u64 {
        self.received.get()
    }

    pub(crate) fn is_grown(&self) -> bool {
        self.offered.is_grown()
    }

    fn took(&self, response: &Response, bytes: u64) {
        self.received.set(self.received.get() + bytes);
        self.lately.set(bytes);
        response.progress.moves();
        response.ticket.received(bytes);
        response.account.came(bytes);
    }

    /// Reports message bytes that were read: the response's, if there is one.
    pub(super) fn reads(&self, bytes: &[u8]) -> io::Result<()> {
        let mut head = self.head.get();
        if head.is_whole || self.response.borrow().is_none() {
            return Ok(());
        }
        head.read(bytes);
        self.head.set(head);
        if !head.is_whole && head.bytes > MAX_HEAD_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its header does not end"));
        }
        Ok(())
    }

    /// How many bytes to wait for at once: a batch if one is likely to arrive soon, for a response of known length that arrives
    /// in pieces of that order, and as far as it may be taken in. Waking up costs more than reading.
    fn batch(&self, allowed: u64) -> u64 {
        let rest = self.total.get().map_or(0, |total| total.saturating_sub(self.received.get()));
        rest.min(allowed).min(self.offered.batch()).min(2 * self.lately.get()).max(LowWater::LEAST)
    }

    fn wake_at(&self, stream: &TcpStream, bytes: u64) {
        self.low_water.set(stream, if self.offered.is_free() { LowWater::LEAST } else { bytes });
    }
}

impl Head {
    /// Counts bytes up to the empty line; interim responses (RFC 9110, section 15.2) count too.
    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.bytes += 1;
            match byte {
                // hyper skips empty lines before a status line.
                b'\n' if self.line == 0 && self.status == 0 => {}
                b'\n' if self.line == 0 => {
                    if self.status != b'1' {
                        self.is_whole = true;
                        return;
                    }
                    self.status = 0;
                }
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => {
                    self.line += 1;
                    // "HTTP/1.1 200"
                    if self.line == 10 && self.status == 0 {
                        self.status = byte;
                    }
                }
            }
        }
    }
}

impl AsyncRead for Gated {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let response = this.gate.response.borrow();
        let Some(response) = &*response else {
            this.gate.wake_at(&this.stream, LowWater::LEAST);
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        };
        if response.account.is_refused() {
            // The exchange is notified and drops the response.
            response.progress.stop();
            return Poll::Pending;
        }
        ready!(response.progress.poll_room(cx));
        let (mut allowed, mut window) = (response.ticket.allowed(), response.ticket.window());
        if allowed == 0 {
            let mut first = [0];
            match this.stream.poll_peek(cx, &mut ReadBuf::new(&mut first)) {
                Poll::Pending => {
                    this.gate.wake_at(&this.stream, LowWater::LEAST);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Self::ended(&mut this.reset)),
                Poll::Ready(waits) => drop(waits?),
            }
            this.gate.finds_end(&this.stream, response);
            match response.ticket.poll_allowed(cx) {
                Poll::Ready(turn) => (allowed, window) = turn,
                Poll::Pending => {
                    response.progress.waits_for(Phase::Turn);
                    // What arrives meanwhile cannot be used.
                    this.gate.wake_at(&this.stream, HELD);
                    count(&mut this.counts, &this.stream, response, cx);
                    return Poll::Pending;
                }
            }
        }
        this.gate.offered.widen(&this.stream, window);
        let most = allowed.min(MAX_READ_BYTES).min(buffer.remaining() as u64) as usize;
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        match Pin::new(&mut this.stream).poll_read(cx, &mut part) {
            Poll::Pending => {
                let mut batch = this.gate.batch(allowed);
                if batch > LowWater::LEAST && is_over(&mut this.batch, this.batch_until, cx) {
                    // A slow server, or one that pauses: its client gets what there is.
                    batch = LowWater::LEAST;
                }
                this.gate.wake_at(&this.stream, batch);
                return Poll::Pending;
            }
            Poll::Ready(done) => done?,
        }
        let came = part.filled().len();
        if came == 0 && most > 0 {
            return Poll::Ready(Self::ended(&mut this.reset));
        }
        if came > 0 {
            if response.progress.phase() == Phase::Turn {
                response.progress.waits_for(Phase::Transfer);
            }
            this.gate.took(response, came as u64);
            this.batch_until = Instant::now() + MAX_BATCH_WAIT;
            if this.gate.received() == came as u64 {
                this.gate.offered.draws_near(&this.stream);
            }
            if let Some(sampled) = &this.gate.sampled {
                sampled.sample(this.stream.as_fd());
            }
        }
        buffer.advance(came);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Gated {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.moves();
        let wrote = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.wrote(wrote, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.moves();
        let wrote = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts));
        self.wrote(wrote, cx)
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

impl Gated {
    /// A server may answer a request without reading its body, and close the connection: that resets it, and the answer is still
    /// to be read. So a write to such a connection waits, and the read after the answer fails.
    fn wrote(&mut self, wrote: io::Result<usize>, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        match wrote {
            Ok(bytes) => self.gate.upload.borrow_mut().wrote(bytes, self.stream.as_fd()),
            Err(error) if is_reset(&error) && self.reset != Reset::Read && self.gate.response.borrow().is_some() => {
                if self.reset == Reset::Never {
                    self.reset = Reset::Found;
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
            Err(_) => {}
        }
        Poll::Ready(wrote)
    }

    /// The end of what the server sent. A write that finds a reset leaves reads none to report.
    fn ended(reset: &mut Reset) -> io::Result<()> {
        if *reset == Reset::Never {
            return Ok(());
        }
        *reset = Reset::Read;
        Err(io::ErrorKind::ConnectionReset.into())
    }

    fn moves(&self) {
        if let Some(response) = &*self.gate.response.borrow() {
            response.progress.moves();
        }
    }
}

/// Reports what lies unread of a response that waits for its turn, and has the task woken to do so again.
fn count(counts: &mut Option<Pin<Box<Sleep>>>, stream: &TcpStream, response: &Response, cx: &mut Context<'_>) {
    let counts = counts.get_or_insert_with(|| Box::pin(sleep(Duration::ZERO)));
    while counts.as_mut().poll(cx).is_ready() {
        if let Ok(unread) = ioctl_fionread(stream) {
            response.ticket.unread(unread);
        }
        counts.as_mut().reset(Instant::now() + COUNTS_EVERY);
    }
}

fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use dovetail_sched::request::ClassId;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        select,
    };

    use super::*;
    use crate::{
        config::Config,
        quota::Quotas,
        state::{Link, Settings},
        watch::Watch,
        who::Who,
    };

    #[tokio::test]
    async fn what_arrives_while_a_response_waits_for_its_turn_is_charged() {
        let text = "[downlink]\nrate = \"64kbps\"\n[access]\nclients = \"127.0.0.0/8\"\n";
        let settings = Rc::new(Settings::new(Config::parse(text).expect("a configuration")));
        let link = Rc::new(Link::new(Rc::clone(&settings)).expect("a link"));
        let who = Who::Address(IpAddr::from([127, 0, 0, 1]));
        let account = Quotas::new(&settings, &link, None).account(&who, ClassId(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let stream = TcpStream::connect(listener.local_addr().expect("its address")).await.expect("a connection");
        let (mut server, _) = listener.accept().await.expect("it");
        let offered = Offered::new(&stream, None, true);
        let (mut gated, gate) = Gated::new(Upstream { stream, server: None, offered }, false, None);
        let ticket = link.dispatcher().arrive(&who, ClassId(0), None, "x".into());
        assert!(ticket.is_released());
        let watch = Watch::default();
        let watched = watch.begin(Phase::Transfer, None);
        gate.begin(ticket, Rc::clone(watched.progress()), account);
        // Half a minute without turns.
        link.dispatcher().stray(None, 250_000);
        let tokens = || {
            let figures = link.dispatcher().totals().figures;
            figures
                .into_iter()
                .find_map(|(name, value)| (name == "tokens").then_some(value))
                .expect("grants has tokens")
        };
        let reads = async {
            let mut buffer = [0; 10_000];
            while gated.read(&mut buffer).await.expect("it is open") > 0 {}
        };
        let arrives = async {
            for _ in 0..3 {
                let before = tokens();
                server.write_all(&[b'x'; 40_000]).await.expect("it is open");
                while tokens() > before - 15_000.0 {
                    sleep(Duration::from_millis(1)).await;
                }
            }
        };
        select! {
            () = reads => panic!("the server closes nothing"),
            () = arrives => {}
            () = sleep(Duration::from_secs(60)) => panic!("it is not charged"),
        }
        assert!(gate.received() < 20_000, "{}", gate.received());
    }

    #[test]
    fn a_header_ends_at_the_empty_line() {
        let count = |text: &str, step: usize| {
            let mut head = Head::default();
            text.as_bytes().chunks(step).for_each(|part| {
                if !head.is_whole {
                    head.read(part);
                }
            });
            (head.bytes, head.is_whole)
        };
        let head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
        for step in [1, 3, 1000] {
            assert_eq!(count(&format!("{head}\r\n\r\nbody"), step), (head.len() as u64, true));
            let interim = "HTTP/1.1 100 Continue\r\n\r\n";
            assert_eq!(count(&format!("{interim}{head}xx"), step), ((interim.len() + head.len()) as u64, true));
            assert_eq!(count(&format!("\r\n\n{head}xx"), step), (3 + head.len() as u64, true));
            assert_eq!(count("HTTP/1.1 200 OK\r\nA: b\r\n", step), (23, false));
        }
    }
}
