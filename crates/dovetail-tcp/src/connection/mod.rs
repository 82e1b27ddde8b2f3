//! An end of a connection: its life, and the two halves that send and receive.
//!
//! States and their changes are those of RFC 9293, section 3.3.2, with section 3.10.7 for segments that arrive. A segment
//! that is not what it should be is answered by an acknowledgement and changes nothing (RFC 5961): a reset counts only where
//! it has exactly the number that is expected, and a SYN never.

mod receive;
mod transmit;

use dovetail_sched::Nanos;

use crate::{
    config::Config,
    handshake::Handshake,
    receiver::Receiver,
    segment::Segment,
    sender::{Counts, Sender},
    sequence::Sequence,
};

/// Where an end is in its life (RFC 9293, section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has sent and received a SYN.
    SynReceived,
    /// Both may send.
    Established,
    /// Has sent a FIN.
    FinWait1,
    /// Its FIN is acknowledged.
    FinWait2,
    /// The other end has closed.
    CloseWait,
    /// Both have closed, and this end's FIN is not acknowledged.
    Closing,
    /// The other end has closed first, and this end's FIN is not acknowledged.
    LastAck,
    /// Both have closed; waits for stragglers.
    TimeWait,
    /// Over.
    Closed,
}

/// Why a connection broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// The other end broke it off.
    Reset,
    /// This end did.
    Aborted,
    /// The other end did not answer.
    TimedOut,
}

/// One end of a TCP connection.
///
/// Time is an argument of whatever depends on it, and never goes back. What arrives is handed to [`receive`](Self::receive);
/// after that, after the application did something, and at [`poll_at`](Self::poll_at), call
/// [`poll_transmit`](Self::poll_transmit) until it has nothing more to send.
///
/// Each call costs constant time, but for segments that it newly marks as delivered or lost. An idle end takes less than a
/// kilobyte, and 0.4 more with BBR; beyond that it holds a record for each segment in flight and a range for each hole.
///
/// ```
/// use dovetail_sched::Nanos;
/// use dovetail_tcp::{Config, Connection};
///
/// let config = Config::linux();
/// let (mut here, mut there) = (Connection::open(&config, 1), Connection::listen(&config, 2));
/// here.write(100_000);
/// here.close();
/// // A path without delay: what one sends, the other has.
/// let (mut now, mut read) = (Nanos::ZERO, 0);
/// while read < 100_000 {
///     while let Some(segment) = here.poll_transmit(now) {
///         there.receive(&segment, now);
///     }
///     read += there.read(u64::MAX, now);
///     while let Some(segment) = there.poll_transmit(now) {
///         here.receive(&segment, now);
///     }
///     now += Nanos::from_millis(1);
/// }
/// assert!(there.is_finished(), "the other end has closed, and all is read");
/// ```
#[derive(Debug, Clone)]
pub struct Connection {
    config: Kept,
    state: State,
    broken: Option<Broken>,
    ours: Sequence,
    theirs: Sequence,
    handshake: Handshake,
    sender: Sender,
    receiver: Receiver,
    // What the application wrote before there was a sender to write it to, and whether it closed.
    closes: bool,
    their_shift: u8,
    our_shift: u8,
    has_ecn: bool,
    // The echo of timestamps: the latest value.
    their_stamp: Option<u32>,
    sends_reset: bool,
    // An acknowledgement that data may not take the place of.
    sends_bare: bool,
    // When what is out of place may be answered again.
    answers_at: Nanos,
    gone_at: Nanos,
}

/// Settings that count after the beginning and that neither half keeps.
#[derive(Debug, Clone, Copy)]
struct Kept {
    send_bytes: u64,
    time_wait: Nanos,
    segment_bytes: u32,
    syn_retries: u32,
    retries: u32,
    sack: bool,
    timestamps: bool,
    ecn: bool,
}

impl Kept {
    const fn of(config: &Config) -> Self {
        let Config { send_bytes, time_wait, segment_bytes, syn_retries, retries, sack, timestamps, ecn, .. } = *config;
        Self { send_bytes, time_wait, segment_bytes, syn_retries, retries, sack, timestamps, ecn }
    }
}

impl Connection {
    /// An end that opens a connection as soon as it is polled. `initial` is the number of its SYN.
    #[must_use]
    pub fn open(config: &Config, initial: u32) -> Self {
        Self::new(config, initial, State::SynSent)
    }

    /// An end that waits for the other to open.
    #[must_use]
    pub fn listen(config: &Config, initial: u32) -> Self {
        Self::new(config, initial, State::Listen)
    }

    fn new(config: &Config, initial: u32, state: State) -> Self {
        // The least shift that lets the window's field tell all the room (RFC 7323, section 2.3: at most 14).
        let needed = (u32::BITS - config.receive_bytes.leading_zeros()).saturating_sub(16);
        let our_shift = needed.min(14) as u8;
        Self {
            config: Kept::of(config),
            state,
            broken: None,
            ours: Sequence::new(initial),
            theirs: Sequence::new(0),
            handshake: Handshake::new(state == State::SynSent),
            sender: Sender::new(config, initial),
            receiver: Receiver::new(config, our_shift),
            closes: false,
            their_shift: 0,
            our_shift,
            has_ecn: false,
            their_stamp: None,
            sends_reset: false,
            sends_bare: false,
            answers_at: Nanos::ZERO,
            gone_at: Nanos::MAX,
        }
    }

    /// Where it is in its life.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Why it broke off, if it did.
    #[must_use]
    pub const fn broken(&self) -> Option<Broken> {
        self.broken
    }

    /// Writes up to `bytes` bytes; how many there was room for. None after [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.closes || self.state == State::Closed {
            return 0;
        }
        let room = self.config.send_bytes.saturating_sub(self.sender.queued_bytes());
        let taken = bytes.min(room);
        self.sender.write(taken);
        taken
    }

    /// Reads up to `bytes` bytes; how many there were.
    pub fn read(&mut self, bytes: u64, now: Nanos) -> u64 {
        let read = self.receiver.readable().min(bytes);
        self.receiver.read(read, now);
        read
    }

    /// Bytes that may be read.
    #[must_use]
    pub const fn readable_bytes(&self) -> u64 {
        self.receiver.readable()
    }

    /// Bytes that were written and are not acknowledged.
    #[must_use]
    pub const fn unacknowledged_bytes(&self) -> u64 {
        self.sender.queued_bytes()
    }

    /// Whether the other end has closed and all of its stream is read.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished() && self.receiver.readable() == 0
    }

    /// Writes no more; the connection ends when the other end closes too.
    pub fn close(&mut self) {
        if !core::mem::replace(&mut self.closes, true) {
            self.sender.close();
            match self.state {
                State::Listen => self.state = State::Closed,
                State::Established | State::SynReceived => self.state = State::FinWait1,
                State::CloseWait => self.state = State::LastAck,
                _ => {}
            }
        }
    }

    /// Breaks the connection off: the other end is told at the next poll.
    pub fn abort(&mut self) {
        self.sends_reset = !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait);
        self.breaks(Broken::Aborted);
    }

    /// Sends every segment at once, however small (no Nagle's algorithm).
    pub const fn sends_at_once(&mut self) {
        self.sender.sends_at_once();
    }

    /// Lets the other end send its stream up to this byte and no further, whatever room there is; never less than before.
    pub fn allow(&mut self, up_to_byte: u64) {
        self.receiver.allow(1 + up_to_byte);
    }

    /// The byte of the other end's stream that it was ever [allowed](Self::allow) to send up to.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.receiver.allowed().map_or(0, |edge| edge - 1)
    }

    /// The congestion window, in segments.
    #[must_use]
    pub const fn window_segments(&self) -> u32 {
        self.sender.window_segments()
    }

    /// The smoothed round-trip time, once one was measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Nanos> {
        self.sender.rtt.smoothed()
    }

    /// What it sent.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.sender.counts
    }

    /// Bytes that came out of order and wait for what is missing.
    #[must_use]
    pub fn bytes_out_of_order(&self) -> u64 {
        self.receiver.bytes_apart()
    }

    /// The offset in the other end's stream of what a segment carries, for who keeps the bytes; `None` before its SYN came.
    #[must_use]
    pub fn stream_offset(&self, segment: &Segment) -> Option<u64> {
        let place = self.theirs.place(segment.sequence, self.receiver.nxt())?;
        place.checked_sub(1).filter(|_| self.receiver.nxt() > 0)
    }

    /// The offset in this end's stream of what a segment of its own carries.
    #[must_use]
    pub fn own_offset(&self, segment: &Segment) -> Option<u64> {
        self.ours.place(segment.sequence, self.sender.una())?.checked_sub(1)
    }

    fn breaks(&mut self, why: Broken) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.broken = Some(why);
        }
    }
}

/// The clock of timestamps: milliseconds (RFC 7323, section 5.4).
const fn stamp(now: Nanos) -> u32 {
    (now.0 / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_end_is_small() {
        let end = Connection::listen(&Config::linux(), 1);
        assert!(size_of_val(&end) <= 1000, "{} bytes", size_of_val(&end));
    }
}
