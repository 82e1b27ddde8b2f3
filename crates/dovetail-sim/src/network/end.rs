//! One end of a connection, with the application at it.
//!
//! An end runs TCP or QUIC. The network's interface is the same for both: an end accepts packets that arrived, lets the
//! application read and write, returns packets to send, and tells when it is to be polled next.

use std::net::SocketAddrV4;

use dovetail_sched::Nanos;
use dovetail_tcp::{Connection as Tcp, State, Timers};

use super::{
    headers::{IPV4_HEADER_BYTES, TCP, UDP},
    packets::Body,
    party::{Application, Party},
    quic,
    transport::{Protocol, Transport, UDP_HEADERS_BYTES},
};

/// Offset between the starts of two hosts with consecutive initial numbers, from RFC 9293's clock of these numbers (section
/// 3.4.1): hosts start within the five hours in which the numbers wrap.
const PHASE_STEP: Nanos = Nanos(4_000);
/// Timeouts of a QUIC connection that makes progress are shorter than this.
const STALLED: Nanos = Nanos::from_secs(600);
/// The port that hosts listen on.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;

/// Creates the ends of a network's hosts.
pub(super) enum Maker {
    Tcp(Transport),
    Quic(quic::Settings),
}

/// The place of an end, and its random seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Whether it opens the connection, in its first turn; the other end listens.
    pub(super) opens: bool,
    /// Its own socket and the peer's.
    pub(super) sockets: [SocketAddrV4; 2],
    /// The lower half is TCP's first sequence number, and determines the host's uptime; all of it seeds QUIC's random
    /// choices.
    pub(super) seed: u64,
}

/// One end of a connection.
pub(super) struct End {
    connection: Connection,
    pub(super) application: Application,
    // The earliest time for which a wake-up is scheduled.
    woken_at: Nanos,
}

#[expect(clippy::large_enum_variant, reason = "TCP is what most networks have thousands of")]
enum Connection {
    Tcp(Tcp),
    Quic(Box<quic::End>),
}

/// A packet sent by an end.
pub(super) struct Leaving {
    pub(super) body: Body,
    /// Length, including the IP header.
    pub(super) bytes: u32,
    /// TCP payload.
    pub(super) payload_bytes: u32,
}

impl Maker {
    /// `None` if this build does not support such hosts.
    pub(super) fn new(transport: &Transport) -> Option<Self> {
        match transport.protocol {
            Protocol::Tcp => Some(Self::Tcp(*transport)),
            Protocol::Quic => quic::Settings::new(transport).map(Self::Quic),
        }
    }

    /// The protocol's number in IP, and the port that hosts listen on.
    pub(super) fn names(&self) -> (u8, u16) {
        match self {
            Self::Tcp(_) => (TCP, HTTP),
            Self::Quic(_) => (UDP, HTTPS),
        }
    }

    /// Creates an end at `now`.
    pub(super) fn end(&self, party: &Party, place: Place, now: Nanos) -> End {
        let Place { opens, sockets, seed } = place;
        let connection = match self {
            Self::Tcp(transport) => Connection::Tcp(tcp(opens, party, seed as u32, transport)),
            Self::Quic(settings) => Connection::Quic(quic::End::new(opens, settings, sockets, seed, now)),
        };
        End { connection, application: party.application, woken_at: Nanos::MAX }
    }
}

/// Creates a TCP end.
fn tcp(opens: bool, party: &Party, initial: u32, transport: &Transport) -> Tcp {
    let mut tcp = transport.tcp();
    (tcp.receive_bytes, tcp.send_bytes) = (party.receive_bytes, party.send_bytes);
    if let Timers::Wheel { phase } = &mut tcp.timers {
        *phase = Nanos(PHASE_STEP.0 * u64::from(initial));
    }
    if opens { Tcp::open(&tcp, initial) } else { Tcp::listen(&tcp, initial) }
}

impl End {
    /// A packet arrived; the end's turn follows.
    pub(super) fn receive(&mut self, body: Body, now: Nanos) {
        match (&mut self.connection, body) {
            (Connection::Tcp(tcp), Body::Tcp(segment)) => tcp.receive(&segment, now),
            (Connection::Quic(quic), Body::Quic(payload)) => quic.receive(payload, now),
            // Both ends of a connection run the same protocol, and packets without a connection are for no end.
            (Connection::Tcp(_), Body::Quic(_) | Body::Udp) | (Connection::Quic(_), Body::Tcp(_) | Body::Udp) => {}
        }
    }

    /// Lets the application read and write; returns the number of bytes read. Then call [`next`](Self::next) for packets to
    /// send.
    pub(super) fn apply(&mut self, now: Nanos) -> u64 {
        let application = &mut self.application;
        match &mut self.connection {
            Connection::Tcp(tcp) => {
                application.to_send -= tcp.write(application.to_send);
                let read = tcp.read(application.to_read, now);
                application.has_read(read);
                if (application.closes && application.to_send == 0) || tcp.state() == State::CloseWait {
                    tcp.close();
                }
                read
            }
            Connection::Quic(quic) => quic.apply(application, now),
        }
    }

    /// The next packet to send.
    pub(super) fn next(&mut self, now: Nanos) -> Option<Leaving> {
        Some(match &mut self.connection {
            Connection::Tcp(tcp) => {
                let segment = tcp.poll_transmit(now)?;
                let payload_bytes = segment.payload_bytes;
                let bytes = IPV4_HEADER_BYTES + segment.header_bytes() + payload_bytes;
                Leaving { body: Body::Tcp(segment), bytes, payload_bytes }
            }
            Connection::Quic(quic) => {
                let payload = quic.next(now)?;
                let bytes = UDP_HEADERS_BYTES + payload.len() as u32;
                Leaving { body: Body::Quic(payload), bytes, payload_bytes: 0 }
            }
        })
    }

    /// The application has no more to write; the connection ends once everything handed over is acknowledged.
    pub(super) fn writes_no_more(&mut self) {
        self.application.to_send = 0;
        self.application.closes = true;
    }

    /// When the end is to be polled next, if that must be scheduled: `None` if an earlier wake-up is scheduled.
    pub(super) fn wake_at(&mut self, now: Nanos) -> Option<Nanos> {
        let due = match &mut self.connection {
            Connection::Tcp(tcp) => tcp.poll_at(now)?,
            Connection::Quic(quic) => quic.poll_at()?,
        };
        let at = due.max(now + Nanos(1));
        (at < self.woken_at).then(|| {
            self.woken_at = at;
            at
        })
    }

    /// Whether its next turn is so late that QUIC is stalled for good: after a dozen timeouts, each twice the last.
    pub(super) fn is_stalled(&self, at: Nanos, now: Nanos) -> bool {
        matches!(self.connection, Connection::Quic(_)) && at > now + STALLED
    }

    /// The wake-up scheduled for `now` has occurred; false if an earlier one has replaced it.
    pub(super) fn woken(&mut self, now: Nanos) -> bool {
        let due = self.woken_at == now;
        if due {
            self.woken_at = Nanos::MAX;
        }
        due
    }

    /// Whether the connection is closed at this end.
    pub(super) fn is_closed(&self) -> bool {
        match &self.connection {
            Connection::Tcp(tcp) => tcp.state() == State::Closed,
            Connection::Quic(quic) => quic.is_closed(),
        }
    }

    /// Whether this end no longer needs the other: it is closed, or only waits for stray segments.
    pub(super) fn is_content(&self) -> bool {
        match &self.connection {
            Connection::Tcp(tcp) => matches!(tcp.state(), State::Closed | State::TimeWait),
            Connection::Quic(quic) => quic.is_content(),
        }
    }
}

/// Used by gateways and sessions, whose connections are TCP's: `Network::check` rejects others.
impl End {
    fn tcp(&self) -> Option<&Tcp> {
        if let Connection::Tcp(tcp) = &self.connection { Some(tcp) } else { None }
    }

    fn tcp_mut(&mut self) -> Option<&mut Tcp> {
        if let Connection::Tcp(tcp) = &mut self.connection { Some(tcp) } else { None }
    }

    /// Permits the peer to send its stream up to this byte but no further; the limit never falls.
    pub(super) fn reach(&mut self, edge: u64) {
        self.tcp_mut().into_iter().for_each(|tcp| tcp.allow(edge));
    }

    /// The smoothed round trip, once measured: a handshake whose SYN was sent again measures none.
    pub(super) fn round_trip(&self) -> Option<Nanos> {
        self.tcp().and_then(Tcp::round_trip)
    }

    /// The minimum round trip, once measured.
    pub(super) fn least_round_trip(&self) -> Option<Nanos> {
        self.tcp().and_then(Tcp::least_round_trip)
    }

    /// Whether its handshake is over.
    pub(super) fn is_established(&self) -> bool {
        self.tcp().is_some_and(|tcp| tcp.state() == State::Established)
    }

    /// Disables Nagle's algorithm: segments are sent at once, however small.
    pub(super) fn sends_at_once(&mut self) {
        self.tcp_mut().into_iter().for_each(Tcp::sends_at_once);
    }

    /// Bytes written by its application and not acknowledged by the peer.
    pub(super) fn held_bytes(&self) -> u64 {
        self.application.to_send + self.tcp().map_or(0, Tcp::unacknowledged_bytes)
    }

    /// Whether any bytes are available to read.
    pub(super) fn is_readable(&self) -> bool {
        self.readable_bytes() > 0
    }

    /// Bytes available to read.
    pub(super) fn readable_bytes(&self) -> u64 {
        self.tcp().map_or(0, Tcp::readable_bytes)
    }

    /// Aborts the connection; the peer learns of it in the next turn.
    pub(super) fn abort(&mut self) {
        self.tcp_mut().into_iter().for_each(Tcp::abort);
    }
}
