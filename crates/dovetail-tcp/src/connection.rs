//! An end of a connection: its life, and the two halves that send and receive.
//!
//! States and their changes are those of RFC 9293, section 3.3.2, with section 3.10.7 for segments that arrive. A segment
//! that is not what it should be is answered by an acknowledgement and changes nothing (RFC 5961): a reset counts only where
//! it has exactly the number that is expected, and a SYN never.

use dovetail_sched::Nanos;

use crate::{
    config::Config,
    handshake::Handshake,
    receiver::Receiver,
    segment::{Blocks, Ecn, Flags, Options, Segment},
    sender::{Ack, Chunk, Counts, Sender},
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

/// Answers to what is out of place are at least so far apart (`tcp_invalid_ratelimit`).
const ANSWER_EVERY: Nanos = Nanos::from_millis(500);

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

    /// When to call [`poll_transmit`](Self::poll_transmit), if nothing happens before.
    #[must_use]
    pub fn poll_at(&self, now: Nanos) -> Option<Nanos> {
        let at = match self.state {
            _ if self.sends_reset || self.sends_bare => Some(now),
            State::Closed | State::Listen => None,
            _ if self.handshake.is_open() => {
                Some(self.handshake.due_at()).into_iter().chain(self.receiver.due_at(now)).min()
            }
            State::TimeWait => Some(self.gone_at).into_iter().chain(self.receiver.due_at(now)).min(),
            _ => self.sender.due_at().into_iter().chain(self.receiver.due_at(now)).min(),
        };
        at.map(|at| at.max(now))
    }

    /// The next segment to send; `None`: nothing more at `now`.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Segment> {
        if core::mem::take(&mut self.sends_reset) {
            let sequence = self.ours.number(self.sender.nxt());
            return Some(
                self.acknowledges(Segment { sequence, flags: Flags::RST | Flags::ACK, ..Segment::default() }, now),
            );
        }
        match self.state {
            State::Closed | State::Listen => return None,
            _ if self.handshake.is_open() => return self.shake(now),
            State::TimeWait if now >= self.gone_at => {
                self.state = State::Closed;
                return None;
            }
            _ => {}
        }
        if core::mem::take(&mut self.sends_bare) {
            return Some(self.acknowledgement(now));
        }
        if let Some(blocks) = self.receiver.early_blocks(self.theirs, self.most_blocks()) {
            let sequence = self.ours.number(self.sender.nxt());
            return Some(self.fill(Segment { sequence, flags: Flags::ACK, ..Segment::default() }, blocks, now));
        }
        if self.state != State::TimeWait {
            if self.sender.timer_at().is_some_and(|at| at <= now) {
                self.sender.on_timer(now);
                if self.sender.timeouts_in_a_row() > self.config.retries {
                    self.sends_reset = true;
                    self.breaks(Broken::TimedOut);
                    return self.poll_transmit(now);
                }
            }
            if let Some(chunk) = self.sender.next(now) {
                return Some(self.data(chunk, now));
            }
        }
        let is_due = self.receiver.due_at(now).is_some_and(|at| at <= now);
        is_due.then(|| {
            self.receiver.waited(now);
            self.acknowledgement(now)
        })
    }

    /// The SYN, or the answer to one.
    fn shake(&mut self, now: Nanos) -> Option<Segment> {
        if now < self.handshake.due_at() {
            return None;
        }
        if self.handshake.times() > self.config.syn_retries {
            self.breaks(Broken::TimedOut);
            return None;
        }
        let opens = self.state == State::SynSent;
        self.handshake.sends(opens, self.sender.timers(), now);
        let mut flags = Flags::SYN;
        if !opens {
            flags = flags | Flags::ACK;
        }
        let wants_ecn = self.config.ecn && self.handshake.times() <= 2;
        match opens {
            true if wants_ecn => flags = flags | Flags::ECE | Flags::CWR,
            false if self.has_ecn => flags = flags | Flags::ECE,
            _ => {}
        }
        // What the other end did not offer is not offered back.
        let agreed = self.handshake.offered();
        let options = Options {
            maximum_segment_size: Some(u16::try_from(self.config.segment_bytes).unwrap_or(u16::MAX)),
            window_scale: (opens || agreed.scales).then_some(self.our_shift),
            sack_permitted: self.config.sack && (opens || agreed.has_sack),
            timestamps: (self.config.timestamps && (opens || agreed.has_timestamps))
                .then(|| (stamp(now), self.their_stamp.unwrap_or(0))),
            sack: Blocks::default(),
        };
        let window = self.receiver.tell_window(false);
        let acknowledgement = if opens { 0 } else { self.theirs.number(self.receiver.nxt()) };
        self.receiver.acknowledged();
        Some(Segment { sequence: self.ours.number(0), acknowledgement, window, flags, options, ..Segment::default() })
    }

    fn data(&mut self, chunk: Chunk, now: Nanos) -> Segment {
        let mut flags = Flags::ACK;
        for (is_set, flag) in [(chunk.push, Flags::PSH), (chunk.fin, Flags::FIN), (chunk.says_reduced, Flags::CWR)] {
            if is_set {
                flags = flags | flag;
            }
        }
        let ecn = if self.has_ecn && chunk.is_new { Ecn::Capable } else { Ecn::NotCapable };
        if chunk.bytes > 0 {
            self.receiver.sends_data(now);
        }
        let sequence = self.ours.number(chunk.start);
        let segment = Segment { sequence, flags, ecn, payload_bytes: chunk.bytes, ..Segment::default() };
        self.acknowledges(segment, now)
    }

    fn acknowledgement(&mut self, now: Nanos) -> Segment {
        let sequence = self.ours.number(self.sender.nxt());
        self.acknowledges(Segment { sequence, flags: Flags::ACK, ..Segment::default() }, now)
    }

    /// How many blocks an acknowledgement has room for.
    const fn most_blocks(&self) -> usize {
        if self.their_stamp.is_some() { Blocks::MOST - 1 } else { Blocks::MOST }
    }

    /// What a segment says that acknowledges all that came.
    fn acknowledges(&mut self, segment: Segment, now: Nanos) -> Segment {
        let blocks = self.receiver.blocks(self.theirs, self.most_blocks());
        let segment = self.fill(segment, blocks, now);
        self.receiver.acknowledged();
        segment
    }

    /// What every segment of an open connection says.
    fn fill(&mut self, mut segment: Segment, blocks: Blocks, now: Nanos) -> Segment {
        let timestamps = self.their_stamp.map(|echo| (stamp(now), echo));
        segment.options = Options { timestamps, sack: blocks, ..Options::default() };
        if self.receiver.echoes_mark() {
            segment.flags = segment.flags | Flags::ECE;
        }
        segment.acknowledgement = self.theirs.number(self.receiver.nxt());
        segment.window = self.receiver.tell_window(true);
        segment
    }

    fn breaks(&mut self, why: Broken) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.broken = Some(why);
        }
    }

    /// A segment arrived. What follows from it leaves with [`poll_transmit`](Self::poll_transmit).
    pub fn receive(&mut self, segment: &Segment, now: Nanos) {
        match self.state {
            State::Closed => {}
            State::Listen => self.receive_listening(segment, now),
            State::SynSent => self.receive_opening(segment, now),
            _ => self.receive_open(segment, now),
        }
    }

    /// RFC 9293, section 3.10.7.2.
    fn receive_listening(&mut self, segment: &Segment, now: Nanos) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST) && !segment.flags.has(Flags::ACK) {
            self.has_ecn = self.config.ecn && segment.flags.has(Flags::ECE | Flags::CWR);
            self.meets(segment);
            self.state = State::SynReceived;
            self.handshake.restart(now);
        }
    }

    /// RFC 9293, section 3.10.7.3.
    fn receive_opening(&mut self, segment: &Segment, now: Nanos) {
        let answers = segment.flags.has(Flags::ACK);
        let fits = segment.acknowledgement == self.ours.number(1) && self.handshake.times() > 0;
        if segment.flags.has(Flags::RST) {
            if answers && fits {
                self.breaks(Broken::Reset);
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) || (answers && !fits) {
            return;
        }
        if answers {
            let is_congestion_told = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
            self.has_ecn = self.config.ecn && is_congestion_told;
            self.meets(segment);
            self.establish(segment, now);
            self.sends_bare = true;
        } else {
            // Both opened at once.
            self.meets(segment);
            self.state = State::SynReceived;
            self.handshake.restart(now);
        }
    }

    /// The other end's SYN came, with what it offers.
    fn meets(&mut self, segment: &Segment) {
        let Options { maximum_segment_size, window_scale, sack_permitted, timestamps, .. } = segment.options;
        self.handshake.offers(&segment.options);
        self.theirs = Sequence::new(segment.sequence);
        self.receiver.opens();
        // RFC 9293, section 3.7.1: without the option 536 bytes.
        let most = maximum_segment_size.map_or(536, u32::from).max(1);
        let headers = if self.config.timestamps && timestamps.is_some() { 12 } else { 0 };
        self.their_stamp = timestamps.filter(|_| self.config.timestamps).map(|(value, _)| value);
        match window_scale {
            Some(shift) => self.their_shift = shift.min(14),
            None => self.receiver.without_scale(),
        }
        if window_scale.is_none() {
            self.our_shift = 0;
        }
        self.sender.meets(most.min(self.config.segment_bytes).saturating_sub(headers));
        if !sack_permitted || !self.config.sack {
            self.sender.without_sack();
            self.receiver.without_sack();
        }
    }

    /// This end's SYN is acknowledged.
    fn establish(&mut self, segment: &Segment, now: Nanos) {
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.their_shift };
        self.sender.opens(u64::from(segment.window) << shift);
        match self.handshake.took(now) {
            Some(took) => {
                self.sender.rtt.bound(took, now);
                self.sender.rtt.sample(took, 1, 1);
            }
            None => {
                self.sender.rtt.falls_back();
                // Once may be chance (`tcp_init_transfer`).
                if self.handshake.times() > 2 {
                    self.sender.begins_small();
                }
            }
        }
        self.sender.begins(now);
        self.handshake.ends();
        self.state = if self.closes { State::FinWait1 } else { State::Established };
    }

    /// RFC 9293, section 3.10.7.4.
    fn receive_open(&mut self, segment: &Segment, now: Nanos) {
        let Some(start) = self.theirs.place(segment.sequence, self.receiver.nxt()) else { return };
        let flags = segment.flags;
        let is_syn = flags.has(Flags::SYN);
        if is_syn && start == 0 && self.handshake.is_open() {
            // The other end's SYN again: ours has not come, or its answer has not.
            if !flags.has(Flags::ACK) {
                self.handshake.repeats(now);
                return;
            }
            if self.acknowledges_ours(segment) {
                self.establish(segment, now);
                self.sends_bare = true;
            }
            return;
        }
        let length = u64::from(segment.payload_bytes) + u64::from(flags.has(Flags::FIN));
        if flags.has(Flags::RST) {
            if start == self.receiver.nxt() {
                self.breaks(Broken::Reset);
            } else if self.receiver.takes(start, 0) {
                self.answers(now);
            }
            return;
        }
        if is_syn {
            self.answers(now);
            return;
        }
        if !self.receiver.takes(start, length) {
            // What was there already is reported; it may acknowledge something all the same.
            if length > 0 && start + length <= self.receiver.nxt() {
                self.receiver.take(start, segment.payload_bytes, flags.has(Flags::FIN), Ecn::NotCapable, false, now);
            } else if length > 0 || start != self.receiver.nxt() {
                self.answers(now);
            }
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if self.handshake.is_open() {
            if !self.acknowledges_ours(segment) {
                return;
            }
            self.establish(segment, now);
        }
        self.stamped(segment, start);
        if flags.has(Flags::CWR) {
            self.receiver.knows_mark();
        }
        if !self.take_acknowledgement(segment, start, length > 0, now) {
            return;
        }
        if self.receiver.takes(start, length) && length > 0 {
            self.take_data(segment, start, now);
        }
        self.lives_on(now);
    }

    fn acknowledges_ours(&self, segment: &Segment) -> bool {
        let place = self.ours.place(segment.acknowledgement, self.sender.una());
        segment.flags.has(Flags::ACK) && place.is_some_and(|place| place >= 1 && place <= self.sender.nxt())
    }

    /// Keeps the value that is echoed (RFC 7323, section 4.3).
    fn stamped(&mut self, segment: &Segment, start: u64) {
        if let (Some(_), Some((value, _))) = (self.their_stamp, segment.options.timestamps)
            && start <= self.receiver.nxt()
        {
            self.their_stamp = Some(value);
        }
    }

    /// False if the segment acknowledges what was never sent.
    fn take_acknowledgement(&mut self, segment: &Segment, start: u64, carries: bool, now: Nanos) -> bool {
        let una = self.ours.place(segment.acknowledgement, self.sender.una());
        let Some(una) = una.filter(|&una| una <= self.sender.nxt()) else {
            self.answers(now);
            return false;
        };
        // What is acknowledged twice over is of long ago (RFC 5961, section 5).
        if una == 0 || self.sender.una().saturating_sub(una) > u64::from(u32::MAX / 4) {
            return false;
        }
        let mut blocks = [(0, 0); Blocks::MOST];
        let mut found = 0;
        for &(from, to) in segment.options.sack.as_slice() {
            let place = |number| self.ours.place(number, self.sender.una());
            let Some((from, to)) = place(from).zip(place(to)) else { continue };
            if from >= 1 && from < to && to <= self.sender.nxt() {
                blocks[found] = (from, to);
                found += 1;
            }
        }
        let echo = segment.options.timestamps.filter(|_| self.their_stamp.is_some());
        let ack = Ack {
            una,
            window: u64::from(segment.window) << self.their_shift,
            said_at: start,
            blocks: &blocks[..found],
            carries,
            is_marked: self.has_ecn && segment.flags.has(Flags::ECE),
            echo: echo.map(|(_, echo)| unstamp(echo, now)),
        };
        self.sender.on_ack(&ack, now);
        true
    }

    fn take_data(&mut self, segment: &Segment, start: u64, now: Nanos) {
        let is_closed_to = matches!(self.state, State::CloseWait | State::LastAck | State::Closing | State::TimeWait);
        if is_closed_to {
            self.receiver.owes();
            return;
        }
        let ecn = if self.has_ecn { segment.ecn } else { Ecn::NotCapable };
        let [fin, push] = [Flags::FIN, Flags::PSH].map(|flag| segment.flags.has(flag));
        self.receiver.compresses_for(self.sender.rtt.smoothed());
        self.receiver.take(start, segment.payload_bytes, fin, ecn, push, now);
    }

    /// Goes from state to state.
    fn lives_on(&mut self, now: Nanos) {
        let (has_all, is_done) = (self.receiver.is_finished(), self.sender.is_done());
        let before = self.state;
        self.state = match before {
            State::Established if has_all => State::CloseWait,
            State::FinWait1 | State::FinWait2 | State::Closing if has_all && is_done => State::TimeWait,
            State::FinWait1 if has_all => State::Closing,
            State::FinWait1 if is_done => State::FinWait2,
            State::LastAck if is_done => State::Closed,
            other => other,
        };
        if self.state == State::TimeWait && (before != State::TimeWait || self.receiver.due_at(now).is_some()) {
            self.gone_at = now + self.config.time_wait;
        }
    }

    /// Acknowledges what is out of place, not too often.
    fn answers(&mut self, now: Nanos) {
        if now >= self.answers_at {
            self.answers_at = now + ANSWER_EVERY;
            self.receiver.owes();
        }
    }
}

/// The clock of timestamps: milliseconds (RFC 7323, section 5.4).
const fn stamp(now: Nanos) -> u32 {
    (now.0 / 1_000_000) as u32
}

/// When a stamp was made that is echoed now.
fn unstamp(echo: u32, now: Nanos) -> Nanos {
    now - Nanos::from_millis(u64::from(stamp(now).wrapping_sub(echo)))
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
