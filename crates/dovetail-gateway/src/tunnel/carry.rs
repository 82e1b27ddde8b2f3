//! Tunnels: bytes both ways, of which only the amounts are known.
//!
//! Downstream bytes of a tunnel are scheduled like any response. A response begins with a *burst* of the client: bytes sent
//! after bytes have been received. It ends with the next burst, never with silence, which may be due to a lost packet. The
//! burst waits for its response's release, like a request.
//!
//! Policies that do not hold responses back have windows of requests instead. A tunnel that is silent for a second returns its
//! slot there; later bytes count for its class but belong to no request.

mod ahead;
mod bursts;
mod records;
mod turns;

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    io,
    net::IpAddr,
    os::fd::AsFd,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split},
    net::{TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    select,
    sync::Notify,
};

use self::records::Records;
use crate::{
    place::Place,
    record::Record,
    round_trips::Sampled,
    state::Link,
    sys,
    uplink::{Lane, Metering},
    upstream::{LowWater, Offered},
    watch::{Phase, Watch, Watched},
};

/// Smaller bursts are not requests.
const MIN_REQUEST_BYTES: usize = 64;
/// What TLS adds to a small piece.
const RECORD: usize = 22;
/// Assumed typical length of a tunnel's answers before any arrived.
const FIRST_TYPICAL: f64 = 8_192.0;
/// Bytes read at a time.
const BUFFER: usize = 16 * 1024;

/// An open tunnel.
pub(super) struct Tunnel {
    link: Rc<Link>,
    // Dropped before the record, which collects what its time was spent on.
    place: RefCell<Option<Place>>,
    record: Record,
    label: Arc<str>,
    watched: Watched,
    offered: Offered,
    // Notified when `place` has been replaced.
    replaced: Notify,
    // Bytes received since the last burst, and their moving average.
    came: Cell<u64>,
    typical: Cell<f64>,
    // When bytes last arrived.
    came_at: Cell<Option<Instant>>,
    // Bytes that may be let in without a turn.
    free: Cell<u64>,
    // Whether a burst waits for its turn.
    is_queued: Cell<bool>,
    // Whether one side has ended.
    has_ended: Cell<bool>,
    // Whether bytes wait that may not be taken in yet.
    is_held: Cell<bool>,
    // Bytes that were passed on and are still in the kernel's buffer.
    ahead: Cell<u64>,
    // Those of them that belong to responses that have ended.
    stale: Cell<u64>,
    // Whether nothing has arrived for a while, possibly because of the window.
    is_quiet: Cell<bool>,
    // The last TLS record of which bytes were passed on.
    records: Cell<Records>,
    low_water: LowWater,
    sampled: Option<Sampled>,
    // Smaller bursts are not requests.
    least_request: usize,
}

impl Tunnel {
    /// `sampled` is where its round-trip times are recorded. `is_sealed` tells whether its bytes are in TLS towards the server.
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
            has_ended: Cell::new(false),
            is_held: Cell::new(false),
            ahead: Cell::new(0),
            stale: Cell::new(0),
            is_quiet: Cell::new(false),
            // TLS that ends here may have read part of a record.
            records: Cell::new(if is_sealed { Records::None } else { Records::START }),
            low_water: LowWater::new(),
            sampled,
            least_request: MIN_REQUEST_BYTES + if is_sealed { RECORD } else { 0 },
        }
    }

    /// Counts bytes passed on to the client before.
    pub(super) fn passed_on(&self, bytes: usize) {
        self.record.sent.set(self.record.sent.get() + bytes as u64);
    }

    /// Carries bytes both ways until the tunnel ends. `first` was received from the server along with the response that opened
    /// it.
    pub(super) async fn carry(self, client: impl AsyncRead + AsyncWrite, upstream: TcpStream, first: &[u8]) {
        let (mut from_client, mut to_client) = split(client);
        // A read skips an out-of-band byte while a peek does not.
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

    async fn up(&self, client: &mut (impl AsyncRead + Unpin), server: &mut OwnedWriteHalf) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut lane = None;
        let mut metering = Metering::new(self.link.uplink().learning());
        loop {
            buffer.clear();
            buffer.reserve(BUFFER.min(buffer.capacity().max(1_024) * 4));
            if client.read_buf(&mut buffer).await? == 0 {
                self.ends();
                return server.shutdown().await;
            }
            self.watched.progress().moves();
            self.may_go_on()?;
            if self.burst(buffer.len(), server.as_ref())? {
                self.released(client, &mut buffer).await?;
                self.take_stale(server.as_ref())?;
            }
            self.send(&buffer, server, (&mut lane, &mut metering)).await?;
            if buffer.len() < buffer.capacity() {
                // An idle tunnel needs no buffer, and its upload has ended.
                buffer = Vec::new();
                lane = None;
                metering.ends();
            }
        }
    }

    /// Checks whether the user may transfer more. If not, the tunnel ends.
    fn may_go_on(&self) -> io::Result<()> {
        if self.record.account.is_refused() { Err(io::ErrorKind::QuotaExceeded.into()) } else { Ok(()) }
    }

    /// Sends the client's bytes, as fast as its share of the uplink permits.
    async fn send(
        &self,
        bytes: &[u8],
        server: &mut OwnedWriteHalf,
        (lane, metering): (&mut Option<Lane>, &mut Metering),
    ) -> io::Result<()> {
        let lane = lane.get_or_insert_with(|| self.record.lane(self.link.uplink(), Some(bytes.len())));
        let mut left = bytes;
        while !left.is_empty() {
            let most = poll_fn(|cx| lane.poll_room(cx, left.len())).await;
            server.write_all(&left[..most]).await?;
            lane.sent(most);
            metering.wrote(most, server.as_ref().as_fd());
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
                self.ends();
                return client.shutdown().await;
            }
            self.may_go_on()?;
            self.record.account.came(came as u64);
            self.pass_on(&buffer[..came], client).await?;
            if came < buffer.len() {
                // An idle tunnel needs no buffer.
                buffer = Vec::new();
            }
        }
    }

    async fn pass_on(&self, bytes: &[u8], client: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        self.records.set(self.records.get().read(bytes));
        client.write_all(bytes).await?;
        client.flush().await?;
        self.record.sent.set(self.record.sent.get() + bytes.len() as u64);
        self.link.uplink().acknowledges(bytes.len());
        self.watched.progress().moves();
        Ok(())
    }

    /// Publishes what the tunnel waits for: a turn, if either direction does.
    fn says(&self, wants_turn: bool) {
        let phase = if wants_turn || self.is_queued.get() {
            Phase::Turn
        } else if self.has_ended.get() {
            Phase::HalfTunnel
        } else {
            Phase::Tunnel
        };
        self.watched.progress().waits_for(phase);
    }

    /// One side has ended.
    fn ends(&self) {
        self.has_ended.set(true);
        self.says(self.watched.progress().phase() == Phase::Turn);
    }

    fn poll_turn(&self, cx: &mut Context<'_>) -> Poll<(u64, u64)> {
        self.place.borrow().as_ref().map_or(Poll::Pending, |place| place.poll_allowed(cx))
    }
}
