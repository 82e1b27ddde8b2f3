//! Tunnels: bytes both ways, of which only the amounts are known.
//!
//! What comes down a tunnel is granted like any response. A response begins with a *burst* of the client: bytes after bytes
//! that came down. It ends with the next burst, never with silence, which may be a lost packet's. The burst waits for its
//! response's release, as a request does.
//!
//! Not every burst is a request. One of fewer than 64 bytes is none: acknowledgements and window updates of HTTP/2 in TLS
//! have 35 to 48, a keystroke in SSH 36 or more, a request of HTTP/2 in TLS some more than 64. It passes at once, and so
//! does one that comes while more of a response is there, or may be on its way from far off. And a tunnel whose responses
//! are short, a segment on average, is *interactive*: its bursts pass at once, and a segment of each answer comes without a
//! turn, charged all the same. All interactive tunnels together may have an eighth of the link in this way; beyond that they
//! wait like others. So what this gateway adds to an interactive tunnel's delay is nothing while the interactive ones need
//! less than an eighth of the link.
//!
//! What has come over the link is passed on at once, turn or not: it is peeked at, and stays in the kernel's buffer, so the
//! window stays closed and nothing more is let come. It is taken out as turns allow. A response's last bytes so never wait
//! for turns, which where lengths are not known would be for bytes that do not come. (Kernels before Linux 6.9 cannot peek
//! ahead; there they wait.) Turns are asked for when a quarter of the window lies unread. And whatever the window was thought to
//! be: also when the kernel says that it is closing, and when the server has been silent for a while that may be the window's
//! doing. So no byte is left where it keeps others from coming.
//!
//! Policies that hold no responses back have windows of requests instead. A tunnel that is silent for a second gives its
//! place there back; what comes after belongs to its class and to no request.

use std::{
    cell::{Cell, LazyCell, RefCell},
    future::poll_fn,
    io::{self, Read},
    net::IpAddr,
    os::fd::AsFd,
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split},
    net::{TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    select,
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    place::Place,
    record::Record,
    round_trips::Sampled,
    segment::SEGMENT,
    state::Link,
    sys,
    uplink::Lane,
    upstream::{FAR, Offered},
    watch::{Phase, Watch, Watched},
};

/// A burst of fewer bytes is no request.
const LEAST_REQUEST: usize = 64;
/// What TLS adds to a piece of a few bytes.
const RECORD: usize = 22;
/// What a tunnel's answers are thought to be before any came.
const FIRST_TYPICAL: f64 = 8_192.0;
/// After so long a silent tunnel gives its place back, where places are what is scheduled.
const SILENT: Duration = Duration::from_secs(1);
/// After so long a silence the window is examined.
const QUIET: Duration = Duration::from_millis(200);
/// What is read at once.
const BUFFER: usize = 16 * 1024;

/// A tunnel that is open.
pub(super) struct Tunnel {
    link: Rc<Link>,
    // Over before the record is, which notes what it was spent on.
    place: RefCell<Option<Place>>,
    record: Record,
    label: Arc<str>,
    watched: Watched,
    offered: Offered,
    // The place is another.
    replaced: Notify,
    // Bytes that came down since the last burst, and what that is on average.
    came: Cell<u64>,
    typical: Cell<f64>,
    // When something came last.
    came_at: Cell<Option<Instant>>,
    // Bytes that may come down without a turn.
    free: Cell<u64>,
    // Whether a burst waits for its turn.
    is_queued: Cell<bool>,
    // Whether bytes wait that may not be taken in.
    is_held: Cell<bool>,
    // Bytes that were passed on and are still in the kernel's buffer.
    ahead: Cell<u64>,
    // Of these, bytes of responses that are over.
    stale: Cell<u64>,
    // Nothing has come for a while, and that may be the window's doing.
    is_quiet: Cell<bool>,
    sampled: Option<Sampled>,
    // A burst of fewer bytes is no request.
    least_request: usize,
}

impl Tunnel {
    /// `sampled`: where its round-trip times go. `is_sealed`: whether its bytes are in TLS towards the server.
    pub(super) fn new(
        (link, watch): (&Rc<Link>, &Watch),
        (record, label): (Record, Arc<str>),
        (server, offered, sampled): (Option<IpAddr>, Offered, Option<Sampled>),
        is_sealed: bool,
    ) -> Self {
        record.server.set(server);
        Self {
            watched: watch.begin(Phase::Tunnel, None),
            link: Rc::clone(link),
            record,
            label,
            offered,
            place: RefCell::default(),
            replaced: Notify::new(),
            came: Cell::new(0),
            typical: Cell::new(FIRST_TYPICAL),
            came_at: Cell::default(),
            free: Cell::new(0),
            is_queued: Cell::new(false),
            is_held: Cell::new(false),
            ahead: Cell::new(0),
            stale: Cell::new(0),
            is_quiet: Cell::new(false),
            sampled,
            least_request: LEAST_REQUEST + if is_sealed { RECORD } else { 0 },
        }
    }

    /// The client was given bytes that came before.
    pub(super) fn passed_on(&self, bytes: usize) {
        self.record.sent.set(self.record.sent.get() + bytes as u64);
    }

    /// Carries bytes both ways until the tunnel ends. `first` came from the server already, with what made it a tunnel.
    pub(super) async fn carry(self, client: impl AsyncRead + AsyncWrite, upstream: TcpStream, first: &[u8]) {
        let (mut from_client, mut to_client) = split(client);
        // An urgent byte out of line is skipped by a read and not by a peek.
        let is_inline = SockRef::from(&upstream).set_out_of_band_inline(true).is_ok();
        let peeks_ahead = is_inline && self.link.window().is_some() && sys::peek_ahead(upstream.as_fd()).is_ok();
        let (mut from_server, mut to_server) = upstream.into_split();
        let both = async {
            tokio::try_join!(
                self.up(&mut from_client, &mut to_server),
                self.down(&mut from_server, &mut to_client, (first, peeks_ahead))
            )
        };
        let done = select! {
            done = both => done.is_ok(),
            () = self.watched.progress().stopped() => false,
        };
        self.record.is_whole.set(done);
        self.gives_back();
    }

    /// The response is over.
    fn gives_back(&self) {
        if let Some(place) = self.place.take() {
            // What was passed on is had, wherever it is.
            place.received(self.ahead.get());
            place.end();
        }
        self.stale.set(self.stale.get() + self.ahead.take());
    }

    async fn up(&self, client: &mut (impl AsyncRead + Unpin), server: &mut OwnedWriteHalf) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut lane = None;
        loop {
            buffer.clear();
            buffer.reserve(BUFFER.min(buffer.capacity().max(1_024) * 4));
            if client.read_buf(&mut buffer).await? == 0 {
                return server.shutdown().await;
            }
            self.watched.progress().moves();
            self.may_go_on()?;
            if self.burst(buffer.len(), server.as_ref())? {
                self.released(client, &mut buffer).await?;
                self.take_stale(server.as_ref())?;
            }
            self.send(&buffer, server, &mut lane).await?;
            if buffer.len() < buffer.capacity() {
                // What is idle needs no room, and its upload is over.
                buffer = Vec::new();
                lane = None;
            }
        }
    }

    /// Whether the user may have more. A tunnel of a user who may not ends.
    fn may_go_on(&self) -> io::Result<()> {
        if self.record.account.is_refused() { Err(io::ErrorKind::QuotaExceeded.into()) } else { Ok(()) }
    }

    /// Sends what the client sent, as fast as the uplink is this client's.
    async fn send(&self, bytes: &[u8], server: &mut OwnedWriteHalf, lane: &mut Option<Lane>) -> io::Result<()> {
        let lane = lane.get_or_insert_with(|| self.record.lane(self.link.uplink(), Some(bytes.len())));
        let mut left = bytes;
        while !left.is_empty() {
            let most = poll_fn(|cx| lane.poll_room(cx, left.len())).await;
            server.write_all(&left[..most]).await?;
            lane.sent(most);
            self.record.account.went(most as u64);
            self.may_go_on()?;
            left = &left[most..];
            self.watched.progress().moves();
        }
        Ok(())
    }

    async fn down(
        &self,
        server: &mut OwnedReadHalf,
        client: &mut (impl AsyncWrite + Unpin),
        (first, peeks_ahead): (&[u8], bool),
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        if !first.is_empty() {
            self.pass_on(first, client).await?;
        }
        loop {
            let came = if peeks_ahead {
                self.look_ahead(server, &mut buffer).await?
            } else {
                self.read(server, &mut buffer).await?
            };
            if came == 0 {
                return client.shutdown().await;
            }
            self.may_go_on()?;
            self.record.account.came(came as u64);
            self.pass_on(&buffer[..came], client).await?;
            if came < buffer.len() {
                // What is idle needs no room.
                buffer = Vec::new();
            }
        }
    }

    async fn pass_on(&self, bytes: &[u8], client: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        client.write_all(bytes).await?;
        client.flush().await?;
        self.record.sent.set(self.record.sent.get() + bytes.len() as u64);
        self.link.uplink().acknowledges(bytes.len());
        self.watched.progress().moves();
        Ok(())
    }

    /// Bytes that came, which stay where they are; takes out what may be meanwhile.
    async fn look_ahead(&self, server: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.resize(BUFFER, 0);
        loop {
            // Asked at most once for each look.
            let left = LazyCell::new(|| Offered::left(server.as_ref()));
            let wants_turn = self.wants_turn(server.as_ref(), || *left);
            let may_be_held = self.may_be_held(|| *left);
            self.says(wants_turn);
            let turn = select! {
                came = server.peek(buffer) => {
                    let came = came?;
                    self.is_quiet.set(false);
                    if let Some(sampled) = &self.sampled {
                        sampled.sample(server.as_ref().as_fd());
                    }
                    if came > 0 && self.place.borrow().is_none() {
                        // The server speaks first.
                        self.renew(server.as_ref())?;
                    }
                    if self.is_unheld() {
                        self.link.free().take(came as u64);
                    }
                    self.came.set(self.came.get() + came as u64);
                    self.ahead.set(self.ahead.get() + came as u64);
                    self.came_at.set(Some(Instant::now()));
                    // Passing it on waits for the client.
                    self.says(false);
                    return Ok(came);
                }
                turn = poll_fn(|cx| self.poll_turn(cx)), if wants_turn => Some(turn),
                () = self.replaced.notified() => None,
                () = sleep(QUIET), if may_be_held => {
                    self.is_quiet.set(true);
                    None
                }
            };
            if let Some((bytes, window)) = turn {
                self.offered.widen(server.as_ref(), window);
                self.take_stale(server.as_ref())?;
                let bytes = bytes.min(self.ahead.get());
                take_out(server.as_ref(), bytes)?;
                self.ahead.set(self.ahead.get() - bytes);
                if let Some(place) = &*self.place.borrow() {
                    place.received(bytes);
                }
            }
        }
    }

    /// Whether bytes are to be taken out: as many as may be, and more only where the window would soon hold the server back. A
    /// response that is over would else have turns for what does not come.
    fn wants_turn(&self, server: &TcpStream, left: impl Fn() -> Option<u64>) -> bool {
        let unread = self.ahead.get() + self.stale.get();
        let is_allowed = || self.place.borrow().as_ref().is_some_and(|place| place.allowed() > 0);
        self.ahead.get() > 0
            && (self.is_quiet.get()
                || unread >= self.offered.enough(self.came.get(), server)
                || is_allowed()
                || Offered::is_closing(left()))
    }

    /// Whether something is unread, and not known yet to be what the server waits for.
    fn may_be_held(&self, left: impl Fn() -> Option<u64>) -> bool {
        let is_unread = self.ahead.get() + self.stale.get() > 0;
        is_unread && !self.is_quiet.get() && self.offered.may_be_closed(left())
    }

    /// Whether this is an interactive tunnel's response that came before its turn.
    fn is_unheld(&self) -> bool {
        self.free.get() > 0 && self.place.borrow().as_ref().is_some_and(|place| !place.is_released())
    }

    /// What the tunnel waits for: a turn, where either way does.
    fn says(&self, wants_turn: bool) {
        let phase = if wants_turn || self.is_queued.get() { Phase::Turn } else { Phase::Tunnel };
        self.watched.progress().waits_for(phase);
    }

    /// Takes out what is left of responses that are over.
    fn take_stale(&self, server: &TcpStream) -> io::Result<()> {
        take_out(server, self.stale.take())
    }

    /// Bytes that came, as many as may be taken in; 0 at the end.
    async fn read(&self, server: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            if self.peek(server).await? == 0 {
                return Ok(0);
            }
            let most = self.allowed(server).await?.min(BUFFER as u64) as usize;
            buffer.resize(most, 0);
            match server.try_read(buffer) {
                Ok(came) => {
                    self.takes(came as u64);
                    return Ok(came);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until bytes are there, or the end. Where places are scheduled and responses are not, a silent one is given back.
    async fn peek(&self, server: &mut OwnedReadHalf) -> io::Result<usize> {
        let mut first = [0];
        while self.link.window().is_none() && self.place.borrow().is_some() {
            if let Ok(there) = timeout(SILENT, server.peek(&mut first)).await {
                return there;
            }
            if self.place.borrow().as_ref().is_some_and(Place::is_released) {
                self.gives_back();
            }
        }
        server.peek(&mut first).await
    }

    /// Waits until this many bytes may be taken in.
    async fn allowed(&self, server: &OwnedReadHalf) -> io::Result<u64> {
        if self.place.borrow().is_none() {
            // What goes without a place is not held, and a class with a rate is.
            if self.link.window().is_none() && !self.link.is_capped(self.record.class) {
                return Ok(u64::MAX);
            }
            // The server speaks first.
            self.renew(server.as_ref())?;
        }
        loop {
            let turn = self.place.borrow().as_ref().map_or(0, Place::allowed);
            if turn == 0 && self.free.get() > 0 && self.link.free().is_open() {
                return Ok(self.free.get());
            }
            self.is_held.set(true);
            let turn = select! {
                turn = poll_fn(|cx| self.poll_turn(cx)) => Some(turn),
                () = self.replaced.notified() => None,
            };
            self.is_held.set(false);
            if let Some((bytes, window)) = turn {
                self.offered.widen(server.as_ref(), window);
                return Ok(bytes);
            }
        }
    }

    fn poll_turn(&self, cx: &mut Context<'_>) -> Poll<(u64, u64)> {
        self.place.borrow().as_ref().map_or(Poll::Pending, |place| place.poll_allowed(cx))
    }

    fn takes(&self, bytes: u64) {
        self.came_at.set(Some(Instant::now()));
        self.came.set(self.came.get() + bytes);
        match &*self.place.borrow() {
            Some(place) => {
                if place.allowed() == 0 {
                    self.link.free().take(bytes);
                    self.free.set(self.free.get().saturating_sub(bytes));
                }
                place.received(bytes);
            }
            None => self.link.dispatcher().stray(Some(self.record.class), bytes),
        }
    }

    /// The client sends this many bytes. Whether they have to wait for their turn.
    fn burst(&self, bytes: usize, server: &TcpStream) -> io::Result<bool> {
        let is_first = self.place.borrow().is_none();
        let came = self.came.get();
        // A window that is full may hold more back.
        let is_held = || self.is_held.get() || self.ahead.get() > 0 && Offered::is_closing(Offered::left(server));
        if !is_first && (came == 0 || is_held()) {
            return Ok(false);
        }
        if came > 0 {
            self.typical.set(self.typical.get() + (came as f64 - self.typical.get()) / 4.0);
            self.came.set(0);
        }
        let is_interactive = self.typical.get() <= SEGMENT as f64 && self.link.free().is_open();
        if (bytes < self.least_request || self.is_in_flight(server)) && !is_interactive && !is_first {
            return Ok(false);
        }
        self.renew(server)?;
        if is_interactive {
            self.free.set(SEGMENT);
        }
        if is_interactive || bytes < self.least_request {
            self.take_stale(server)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether more of the response may be on its way from far off: something came less than a round trip ago. As another
    /// response it would have back what it was charged for that.
    fn is_in_flight(&self, server: &TcpStream) -> bool {
        let Some(at) = self.came_at.get() else { return false };
        sys::least_round_trip(server.as_fd()).is_some_and(|least| least >= FAR && at.elapsed() < least)
    }

    /// Waits until the burst may leave. What the client sends meanwhile goes with it; a client that ends or is gone meanwhile
    /// wants no answer.
    async fn released(&self, client: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> io::Result<()> {
        self.is_queued.set(true);
        self.says(true);
        let began = Instant::now();
        let mut turn = pin!(poll_fn(|cx| {
            self.place.borrow().as_ref().map_or(Poll::Ready(()), |place| place.poll_released(cx))
        }));
        loop {
            // Room is asked for piece by piece: nobody has to be given much of it for a short request.
            if buffer.len() == buffer.capacity() && buffer.len() < BUFFER {
                buffer.reserve(buffer.len().min(BUFFER - buffer.len()));
            }
            select! {
                () = &mut turn => break,
                came = client.read_buf(buffer), if buffer.len() < buffer.capacity() => {
                    if came? == 0 {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
            }
        }
        self.record.queue.set(self.record.queue.get() + began.elapsed());
        self.is_queued.set(false);
        self.says(false);
        Ok(())
    }

    /// Another response begins.
    fn renew(&self, server: &TcpStream) -> io::Result<()> {
        self.gives_back();
        let Record { who, party, .. } = &self.record;
        let place = self.link.arrive((who, party), self.record.scheduled(), &self.label);
        let place = place.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        place.tells(&self.record.spending);
        if self.offered.bytes() != u64::MAX {
            place.offers(self.offered.bytes());
            // What comes next may be of the response before: the scheduler would take it for a round trip.
            if let Some(least) = sys::least_round_trip(server.as_fd()) {
                place.round_trip(least.into());
            }
        }
        self.place.replace(Some(place));
        self.free.set(0);
        self.is_quiet.set(false);
        self.replaced.notify_one();
        Ok(())
    }
}

/// Takes bytes that were passed on out of the kernel's buffer.
fn take_out(server: &TcpStream, bytes: u64) -> io::Result<()> {
    let socket = SockRef::from(server);
    let mut scratch = [0; 4096];
    let mut left = bytes;
    while left > 0 {
        let most = left.min(scratch.len() as u64) as usize;
        // They are there: tokio, which knows only of what was not peeked at, need not be asked.
        let taken = (&*socket).read(&mut scratch[..most])?;
        if taken == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= taken as u64;
    }
    Ok(())
}
