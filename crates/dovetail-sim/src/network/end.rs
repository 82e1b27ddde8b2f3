//! One end of a TCP connection, with the application at it.

use dovetail_sched::Nanos;
use dovetail_tcp::{Connection, Segment, State, Timers};

use super::transport::Transport;

/// Between the starts of two hosts whose initial numbers follow each other: RFC 9293's clock of these numbers (section
/// 3.4.1), so that hosts started within the five hours in which the numbers come round.
const PHASE_STEP: Nanos = Nanos(4_000);

/// What the application at an end is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Application {
    /// Bytes that are still to be handed to the connection.
    pub(super) to_send: u64,
    /// Bytes that may still be read.
    pub(super) to_read: u64,
    /// Whether it closes when all is handed over.
    pub(super) closes: bool,
}

/// What an end has and does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    /// Room for what is received and what is to be sent.
    pub(super) receive_bytes: u32,
    pub(super) send_bytes: u64,
    pub(super) application: Application,
}

/// One end of a connection.
pub(super) struct End {
    connection: Connection,
    pub(super) application: Application,
    // The first time for which a wake-up is on the agenda.
    woken_at: Nanos,
}

impl End {
    /// An end; `initial` is its first sequence number, and says for how long its host has run. One that `opens` opens the connection in its first turn, the other
    /// waits for it.
    pub(super) fn new(opens: bool, party: &Party, initial: u32, transport: &Transport) -> Self {
        let mut tcp = transport.tcp();
        (tcp.receive_bytes, tcp.send_bytes) = (party.receive_bytes, party.send_bytes);
        if let Timers::Wheel { phase } = &mut tcp.timers {
            *phase = Nanos(PHASE_STEP.0 * u64::from(initial));
        }
        let connection = if opens { Connection::open(&tcp, initial) } else { Connection::listen(&tcp, initial) };
        Self { connection, application: party.application, woken_at: Nanos::MAX }
    }

    /// Lets the other end send up to this byte of its stream and no further; never less than before.
    pub(super) fn reach(&mut self, edge: u64) {
        self.connection.allow(edge);
    }

    /// The furthest byte of its stream that the other end was ever let send by [`reach`](Self::reach).
    pub(super) fn edge(&self) -> u64 {
        self.connection.allowed()
    }

    /// A segment arrived; its turn follows.
    pub(super) fn receive(&mut self, segment: &Segment, now: Nanos) {
        self.connection.receive(segment, now);
    }

    /// Lets the application read and write; the bytes that it read. What is to be sent then is [`next`](Self::next)'s.
    pub(super) fn apply(&mut self) -> u64 {
        let Application { to_send, to_read, closes } = &mut self.application;
        *to_send -= self.connection.write(*to_send);
        let read = self.connection.read(*to_read);
        *to_read -= if *to_read == u64::MAX { 0 } else { read };
        if (*closes && *to_send == 0) || self.connection.state() == State::CloseWait {
            self.connection.close();
        }
        read
    }

    /// The next segment that leaves.
    pub(super) fn next(&mut self, now: Nanos) -> Option<Segment> {
        self.connection.poll_transmit(now)
    }

    /// Sends every segment at once, however small: no Nagle's algorithm.
    pub(super) fn sends_at_once(&mut self) {
        self.connection.sends_at_once();
    }

    /// What its application wrote and the other end has not acknowledged.
    pub(super) fn held_bytes(&self) -> u64 {
        self.application.to_send + self.connection.unacknowledged_bytes()
    }

    /// Whether something waits to be read.
    pub(super) fn is_readable(&self) -> bool {
        self.connection.readable_bytes() > 0
    }

    /// The application has no more to write; the connection ends when what was handed over is acknowledged.
    pub(super) fn writes_no_more(&mut self) {
        self.application.to_send = 0;
        self.application.closes = true;
    }

    /// Breaks the connection off; the other end learns it in the next turn.
    pub(super) fn abort(&mut self) {
        self.connection.abort();
    }

    /// When it wants its next turn, if that is to be put on the agenda: `None` where an earlier one is on it.
    pub(super) fn wake_at(&mut self, now: Nanos) -> Option<Nanos> {
        let at = self.connection.poll_at(now)?.max(now + Nanos(1));
        (at < self.woken_at).then(|| {
            self.woken_at = at;
            at
        })
    }

    /// The wake-up for `now` has come; false if it was for a time that is no longer the first.
    pub(super) fn woken(&mut self, now: Nanos) -> bool {
        let due = self.woken_at == now;
        if due {
            self.woken_at = Nanos::MAX;
        }
        due
    }

    /// Whether the connection is over on this end.
    pub(super) fn is_closed(&self) -> bool {
        self.connection.state() == State::Closed
    }

    /// Whether this end needs the other no more: it is over, or only waits for stragglers.
    pub(super) fn is_content(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }
}
