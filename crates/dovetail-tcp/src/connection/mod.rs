//! One end of a connection: its state machine, and its sending and receiving halves.
//!
//! States and transitions follow RFC 9293, section 3.3.2, and section 3.10.7 for segments that arrive. An unacceptable
//! segment is answered with an acknowledgement and changes nothing (RFC 5961): a reset counts only if its sequence number is
//! exactly the expected one, and a SYN never does. An end that is aborted answers what still arrives with a reset of the number
//! that the peer expects (RFC 9293, section 3.10.7.1): its first one may have been lost, or may not have had that number.

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

/// State of an end (RFC 9293, section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN sent and received.
    SynReceived,
    /// Both ends may send.
    Established,
    /// FIN sent.
    FinWait1,
    /// FIN acknowledged.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed; this end's FIN is not acknowledged.
    Closing,
    /// The peer closed first, and this end's FIN is not acknowledged.
    LastAck,
    /// Both have closed; waiting for stray segments.
    TimeWait,
    /// Finished.
    Closed,
}

/// Why a connection was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// The peer reset it.
    Reset,
    /// This end aborted it.
    Aborted,
    /// The peer did not respond.
    TimedOut,
}

/// One end of a TCP connection.
///
/// Time is an argument of all methods that depend on it, and never goes back. Pass segments that arrive to
/// [`receive`](Self::receive). After that, after any action of the application, and at [`poll_at`](Self::poll_at), call
/// [`poll_transmit`](Self::poll_transmit) until it returns `None`.
///
/// Each call takes constant time, and logarithmic time for each segment that it newly marks as late, delivered or lost, whatever
/// the peer reports and the path reorders. A timeout, and undoing one or a recovery, goes through all segments in flight. An
/// idle end takes less than a kilobyte, and 0.4 more with BBR; beyond that it keeps a record for each segment in flight and a
/// range for each hole.
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
    // Whether the application has closed its stream.
    closes: bool,
    their_shift: u8,
    our_shift: u8,
    has_ecn: bool,
    // The timestamp value to be echoed, and the last number acknowledged.
    their_stamp: Option<u32>,
    acknowledged: u32,
    // The reset to be sent, and what was acknowledged by the segment that it answers.
    reset: Option<Reset>,
    denied: u32,
    // Send an acknowledgement that data must not replace.
    sends_bare: bool,
    // When unacceptable segments may be answered again.
    answers_at: Nanos,
    gone_at: Nanos,
}

/// A reset to be sent.
#[derive(Debug, Clone, Copy)]
enum Reset {
    /// This end gives the connection up.
    Ends,
    /// A segment belongs to no connection of this end.
    Answers,
}

/// Settings needed later that neither half keeps.
#[derive(Debug, Clone, Copy)]
struct Kept {
    send_bytes: u64,
    time_wait: Nanos,
    segment_bytes: u32,
    // Of the SYN or the SYN-ACK.
    handshake_retries: u32,
    retries: u32,
    sack: bool,
    timestamps: bool,
    ecn: bool,
}

impl Kept {
    const fn of(config: &Config, opens: bool) -> Self {
        let Config { send_bytes, time_wait, segment_bytes, retries, sack, timestamps, ecn, .. } = *config;
        let handshake_retries = if opens { config.syn_retries } else { config.syn_ack_retries };
        Self { send_bytes, time_wait, segment_bytes, handshake_retries, retries, sack, timestamps, ecn }
    }
}

impl Connection {
    /// An end that opens a connection once it is polled. `initial` is the sequence number of its SYN.
    #[must_use]
    pub fn open(config: &Config, initial: u32) -> Self {
        Self::new(config, initial, State::SynSent)
    }

    /// An end that waits for the peer to open.
    #[must_use]
    pub fn listen(config: &Config, initial: u32) -> Self {
        Self::new(config, initial, State::Listen)
    }

    fn new(config: &Config, initial: u32, state: State) -> Self {
        // The smallest shift for which the window field covers the whole buffer (RFC 7323, section 2.3: at most 14).
        let needed = (u32::BITS - config.receive_bytes.leading_zeros()).saturating_sub(16);
        let our_shift = needed.min(14) as u8;
        Self {
            config: Kept::of(config, state == State::SynSent),
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
            acknowledged: 0,
            reset: None,
            denied: 0,
            sends_bare: false,
            answers_at: Nanos::ZERO,
            gone_at: Nanos::MAX,
        }
    }

    /// Its state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Why it was aborted, if it was.
    #[must_use]
    pub const fn broken(&self) -> Option<Broken> {
        self.broken
    }

    /// Writes up to `bytes` bytes; returns how many fitted into the send buffer. None after [`close`](Self::close), nor beyond
    /// 2^62 bytes in all.
    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.closes || self.state == State::Closed {
            return 0;
        }
        let room = self.config.send_bytes.saturating_sub(self.sender.queued_bytes()).min(self.sender.bytes_left());
        let taken = bytes.min(room);
        self.sender.write(taken);
        taken
    }

    /// Reads up to `bytes` bytes; returns how many were available.
    pub fn read(&mut self, bytes: u64, now: Nanos) -> u64 {
        let read = self.receiver.readable().min(bytes);
        self.receiver.read(read, now);
        read
    }

    /// Bytes available to read.
    #[must_use]
    pub const fn readable_bytes(&self) -> u64 {
        self.receiver.readable()
    }

    /// Bytes written and not yet acknowledged.
    #[must_use]
    pub const fn unacknowledged_bytes(&self) -> u64 {
        self.sender.queued_bytes()
    }

    /// Whether the peer has closed and its stream is read to the end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished() && self.receiver.readable() == 0
    }

    /// Ends the stream of this end; the connection ends once the peer closes too.
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

    /// Aborts the connection: the next poll sends a reset. If that is lost, or what was sent before it, the peer's next segment
    /// is answered with another.
    pub fn abort(&mut self) {
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            self.reset = Some(Reset::Ends);
        }
        self.breaks(Broken::Aborted);
    }

    /// Disables Nagle's algorithm: segments are sent at once, however small.
    pub const fn sends_at_once(&mut self) {
        self.sender.sends_at_once();
    }

    /// Permits the peer to send its stream up to this byte but no further, regardless of free room; the limit never falls.
    pub fn allow(&mut self, up_to_byte: u64) {
        self.receiver.allow(1 + up_to_byte);
    }

    /// The highest byte of the peer's stream that was ever [allowed](Self::allow).
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.receiver.allowed().map_or(0, |edge| edge - 1)
    }

    /// The congestion window, in segments.
    #[must_use]
    pub const fn window_segments(&self) -> u32 {
        self.sender.window_segments()
    }

    /// The smoothed round-trip time, once measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Nanos> {
        self.sender.rtt.smoothed()
    }

    /// The minimum round-trip time of the last five minutes (`tcp_min_rtt_wlen`), once measured.
    #[must_use]
    pub fn least_round_trip(&self) -> Option<Nanos> {
        self.sender.rtt.least()
    }

    /// Counters of the sending half.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.sender.counts
    }

    /// Out-of-order bytes, held behind a hole.
    #[must_use]
    pub fn bytes_out_of_order(&self) -> u64 {
        self.receiver.bytes_apart()
    }

    /// Offset of a segment's payload in the peer's stream, for callers that keep the bytes; `None` before the SYN.
    #[must_use]
    pub fn stream_offset(&self, segment: &Segment) -> Option<u64> {
        let place = self.theirs.place(segment.sequence, self.receiver.nxt())?;
        place.checked_sub(1).filter(|_| self.receiver.nxt() > 0)
    }

    /// Offset of the payload of one of this end's own segments in its stream.
    #[must_use]
    pub fn own_offset(&self, segment: &Segment) -> Option<u64> {
        self.ours.place(segment.sequence, self.sender.una())?.checked_sub(1)
    }

    fn breaks(&mut self, why: Broken) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.broken = Some(why);
            self.sends_bare = false;
        }
    }
}

/// Timestamp clock: milliseconds (RFC 7323, section 5.4).
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
