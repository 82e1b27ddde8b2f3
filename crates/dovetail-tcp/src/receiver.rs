//! The receiving half of an end: what has arrived, what is missing, how much more may be sent, and when to acknowledge.
//!
//! **Contents of an acknowledgement.** The cumulative acknowledgement, and blocks of out-of-order data, that of the latest
//! segment first (RFC 2018, section 4). A duplicate is reported in a block of its own before them (RFC 2883).
//!
//! **Timing.** At once for data that is out of order, fills a hole or is a duplicate; otherwise for every second full
//! segment, or after 40 ms (RFC 5681, section 4.2). The first segments of a connection, and those received while the window
//! still grows, are each acknowledged at once, so that slow start is not slowed down. So is the end of a write of the peer's
//! application, once it is read. None of this applies to interactive traffic, where a response soon carries the
//! acknowledgement.
//!
//! **Window.** The window grows by two segments for each one received in order, up to the size of the buffer, which may grow
//! too (`autotune`). Its edge never moves back, and moves in steps of at least a segment (RFC 9293, section 3.8.6.2.2). An
//! application may limit the edge.

use alloc::boxed::Box;

use dovetail_sched::Nanos;

use crate::{
    apart::Apart,
    autotune::{Autotune, FIRST_ROOM},
    compress::Compress,
    config::Config,
    segment::{Blocks, Ecn},
    sequence::Sequence,
};

/// Blocks that later acknowledgements are sure to repeat, so that delaying them is safe (`TCP_SACK_BLOCKS_EXPECTED`).
const FEW_BLOCKS: usize = 2;
/// Segments acknowledged at once at the start (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;
/// The initial window: the largest that fits into its field without scaling.
const FIRST_WINDOW: u64 = 65_535;
/// Whether an acknowledgement is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    No,
    At(Nanos),
    Now,
}

/// Blocks of an acknowledgement that is sent early.
#[derive(Debug, Clone, Copy)]
struct Early([Option<(u64, u64)>; Blocks::MAX_BLOCKS]);

#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    segment: u32,
    has_sack: bool,
    // Everything before these was received, and read.
    nxt: u64,
    read: u64,
    // Place of the FIN, once received.
    fin: Option<u64>,
    // Out-of-order data, and a duplicate to report.
    apart: Apart,
    duplicate: Option<(u64, u64)>,
    // Buffer size, how much of it the window has grown to, the application's limit, and the edge that was advertised.
    room: u64,
    tunes: Option<Box<Autotune>>,
    grown: u64,
    allowed: Option<u64>,
    told: u64,
    shift: u8,
    due: Due,
    // Bytes in order and not acknowledged, segments still to be acknowledged at once, and when the last one arrived.
    unacknowledged: u64,
    quick: u32,
    is_quick: bool,
    delay: Nanos,
    last_came: Nanos,
    // Acknowledgements of out-of-order data, and the blocks of one to send before the last segment is acknowledged.
    compress: Compress,
    early: Option<Box<Early>>,
    // Whether the end of a write arrived and is not acknowledged, and whether responses carry acknowledgements.
    is_pushed: bool,
    answers: bool,
    // Whether a congestion mark is echoed, until the peer signals that it reduced its window.
    echoes_mark: bool,
}

impl Receiver {
    pub(crate) fn new(config: &Config, shift: u8) -> Self {
        let most = u64::from(config.receive_bytes);
        let room = if config.receive_grows { most.min(FIRST_ROOM) } else { most };
        let tunes = config.receive_grows.then(|| Box::new(Autotune::new(most, config.segment_bytes)));
        // Whole segments (`tcp_select_initial_window`).
        let segment = u64::from(config.segment_bytes.max(1));
        let first = FIRST_WINDOW / segment * segment;
        Self {
            segment: config.segment_bytes,
            has_sack: config.sack,
            nxt: 0,
            read: 1,
            fin: None,
            apart: Apart::default(),
            duplicate: None,
            room,
            tunes,
            grown: room.min(first.max(1)),
            allowed: None,
            told: 0,
            shift,
            due: Due::No,
            unacknowledged: 0,
            quick: if config.quick_acks { QUICK_ACKS } else { 0 },
            is_quick: config.quick_acks,
            delay: config.ack_delay,
            last_came: Nanos::ZERO,
            compress: Compress::new(config.compressed_acks),
            early: None,
            is_pushed: false,
            answers: false,
            echoes_mark: false,
        }
    }

    /// The SYN arrived.
    pub(crate) const fn opens(&mut self) {
        self.nxt = 1;
    }

    /// The peer's SYN arrived: its full segments have this size.
    pub(crate) const fn meets(&mut self, segment_bytes: u32) {
        self.segment = segment_bytes;
    }

    pub(crate) const fn without_sack(&mut self) {
        self.has_sack = false;
    }

    pub(crate) const fn without_scale(&mut self) {
        self.shift = 0;
    }

    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Bytes available to read.
    pub(crate) const fn readable(&self) -> u64 {
        let end = match self.fin {
            Some(fin) if self.nxt > fin => fin,
            _ => self.nxt,
        };
        end.saturating_sub(self.read)
    }

    /// Whether the stream arrived completely.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Out-of-order bytes, held behind a hole.
    pub(crate) fn bytes_apart(&self) -> u64 {
        self.apart.bytes()
    }

    /// Whether any part of a segment is in the window (RFC 9293, section 3.10.7.4, first check).
    pub(crate) fn takes(&self, start: u64, length: u64) -> bool {
        let edge = self.told.max(self.nxt);
        match length {
            0 if edge == self.nxt => start == self.nxt,
            0 => self.nxt <= start && start < edge,
            _ => start < edge && start + length > self.nxt,
        }
    }

    /// The application read up to `bytes` bytes.
    pub(crate) fn read(&mut self, bytes: u64, now: Nanos) {
        let bytes = bytes.min(self.readable());
        if let Some(tunes) = self.tunes.as_mut().filter(|_| bytes > 0) {
            // Tuning runs after each segment: of those read at the same instant the first one ends a round trip.
            let first = self.read + bytes.min(u64::from(self.segment));
            self.room = self.room.max(tunes.read(first, self.segment, now));
        }
        self.read += bytes;
        if self.is_quick && self.is_pushed && !self.answers && self.readable() == 0 && self.due != Due::No {
            self.due = Due::Now;
        }
        if self.due == Due::No && self.was_nearly_closed() {
            self.due = Due::Now;
        }
    }

    /// Whether the window is at least twice what is advertised, which has to be announced (RFC 9293, section 3.8.6.2.2); less is
    /// left to the next acknowledgement (`tcp_cleanup_rbuf`).
    fn was_nearly_closed(&self) -> bool {
        let left = self.told.saturating_sub(self.nxt);
        self.told > 0 && self.edge() > self.told && self.window() >= 2 * left
    }

    /// Permits the peer to send everything before this place but no more; the limit never falls.
    pub(crate) fn allow(&mut self, edge: u64) {
        let before = self.allowed;
        self.allowed = Some(before.map_or(edge, |before| before.max(edge)));
        if before != self.allowed && self.was_nearly_closed() {
            self.due = Due::Now;
        }
    }

    /// The first place that the application does not permit.
    pub(crate) const fn allowed(&self) -> Option<u64> {
        self.allowed
    }

    /// Processes a segment that starts at `start`, with `bytes` bytes and possibly a FIN after them.
    pub(crate) fn take(&mut self, start: u64, bytes: u32, fin: bool, ecn: Ecn, push: bool, now: Nanos) {
        let end = start + u64::from(bytes) + u64::from(fin);
        if end == start {
            return;
        }
        self.echoes_mark |= ecn == Ecn::Marked;
        if fin {
            self.fin.get_or_insert(end - 1);
        }
        if end <= self.nxt {
            self.came_again((start, end));
            return;
        }
        // Cut what is beyond the window.
        let end = end.min(self.told.max(self.nxt));
        if start > self.nxt {
            self.came_apart(start, end, now);
            return;
        }
        if start < self.nxt {
            self.duplicate = Some((start, self.nxt));
        }
        self.is_pushed |= push || bytes < self.segment;
        let had_holes = !self.apart.is_empty();
        let before = self.nxt;
        self.nxt = self.apart.join(end.max(self.nxt));
        self.came_in_order(self.nxt - before, bytes, had_holes, now);
    }

    fn came_again(&mut self, range: (u64, u64)) {
        self.duplicate = Some(range);
        self.quick = if self.is_quick { self.quick.max(2) } else { 0 };
        self.due = Due::Now;
    }

    fn came_apart(&mut self, start: u64, end: u64, now: Nanos) {
        let is_early = self.compress.waits() && self.apart.place_of(start, end) >= FEW_BLOCKS;
        if is_early {
            // The delayed ranges would no longer fit into later acknowledgements.
            let mut early = Early([None; Blocks::MAX_BLOCKS]);
            let told = self.duplicate.take().into_iter().chain(self.apart.latest());
            early.0.iter_mut().zip(told).for_each(|(place, range)| *place = Some(range));
            self.early = Some(Box::new(early));
            self.acknowledged();
        }
        self.grow(end.saturating_sub(start));
        // A segment that triggers a delayed acknowledgement needs none of its own.
        if !is_early && (self.is_at_once() || !self.has_sack || self.compress.leaves_at_once(self.nxt, now)) {
            self.due = Due::Now;
        }
        self.quick = self.quick.saturating_sub(1);
        if start >= end {
            return;
        }
        if !self.apart.insert(start, end, self.nxt) {
            self.duplicate = Some((start, end));
        }
    }

    fn came_in_order(&mut self, places: u64, bytes: u32, had_holes: bool, now: Nanos) {
        let waited = now - self.last_came;
        self.last_came = now;
        if self.is_quick && waited > QUICK_AGAIN_AFTER && self.unacknowledged == 0 {
            self.quick = QUICK_ACKS;
        }
        self.unacknowledged += places;
        if let Some(tunes) = &mut self.tunes {
            tunes.came(self.nxt, now);
        }
        self.grow(u64::from(bytes));
        let is_second = self.unacknowledged > u64::from(self.segment);
        let is_plain = self.is_finished() || is_second || self.is_at_once() || self.delay == Nanos::ZERO;
        if !self.apart.is_empty() && !self.is_at_once() {
            // Counts as one of those sent at once.
            self.compress.leaves_at_once(self.nxt, now);
        }
        if had_holes || is_plain {
            self.due = Due::Now;
        } else if self.due == Due::No {
            self.due = Due::At(now + self.delay);
        }
    }

    /// Whether every segment is acknowledged at once.
    const fn is_at_once(&self) -> bool {
        self.quick > 0 && !self.answers
    }

    /// Sets the delay of acknowledgements for out-of-order segments from this round-trip time.
    pub(crate) fn compresses_for(&mut self, round_trip: Option<Nanos>) {
        // Linux uses no round-trip time before a whole window has arrived.
        let round_trip = if self.nxt > FIRST_WINDOW { round_trip } else { Some(Nanos::ZERO) };
        self.compress.waits_for(round_trip);
    }

    /// A segment of this size arrived: grows the window, with one more quick acknowledgement (the kernel sets the lowest
    /// bit).
    fn grow(&mut self, bytes: u64) {
        if self.grown >= self.room || bytes < u64::from(self.segment.min(SMALL)) {
            return;
        }
        // Data that waits takes up room.
        let most = self.room.saturating_sub(self.readable() + self.bytes_apart());
        if self.grown < most {
            self.grown = (self.grown + 2 * u64::from(self.segment)).min(most);
            self.quick |= u32::from(self.is_quick);
        }
    }

    /// The first place that must not be sent, as the next acknowledgement advertises it.
    fn edge(&self) -> u64 {
        let free = (self.read + self.room).min(self.nxt + self.grown);
        let edge = self.allowed.map_or(free, |allowed| allowed.min(free)).max(self.told).max(self.nxt);
        // Suppress small steps (RFC 9293, section 3.8.6.2.2).
        let step = u64::from(self.segment).min(self.room / 2);
        if self.allowed.is_none() && edge < self.told + step && edge != self.nxt {
            self.told.max(self.nxt)
        } else {
            edge
        }
    }

    fn window(&self) -> u64 {
        self.edge() - self.nxt
    }

    /// The window field; counts as advertised from here on.
    pub(crate) fn tell_window(&mut self, scales: bool) -> u16 {
        let shift = if scales { self.shift } else { 0 };
        // Round up if there is room, or a window smaller than a unit of the scale would be zero.
        let field = u16::try_from(self.window().div_ceil(1 << shift)).unwrap_or(u16::MAX);
        self.told = self.told.max(self.nxt + (u64::from(field) << shift));
        if let Some(tunes) = &mut self.tunes {
            tunes.told(u64::from(field) << shift);
        }
        field
    }

    /// Up to `most` blocks for an acknowledgement.
    pub(crate) fn blocks(&mut self, stream: Sequence, most: usize) -> Blocks {
        let mut blocks = Blocks::default();
        let duplicate = self.duplicate.take();
        if !self.has_sack {
            return blocks;
        }
        let of = |(from, to): (u64, u64)| (stream.number(from), stream.number(to));
        if let Some(range) = duplicate {
            blocks.push(of(range));
        }
        let left = most.saturating_sub(blocks.as_slice().len());
        for range in self.apart.latest().take(left) {
            blocks.push(of(range));
        }
        blocks
    }

    /// Blocks of an acknowledgement to be sent before any other.
    pub(crate) fn early_blocks(&mut self, stream: Sequence, most: usize) -> Option<Blocks> {
        let early = self.early.take()?;
        let mut blocks = Blocks::default();
        for (from, to) in early.0.into_iter().flatten().take(most) {
            blocks.push((stream.number(from), stream.number(to)));
        }
        Some(blocks)
    }

    /// When an acknowledgement is due; at least `now`.
    pub(crate) fn due_at(&self, now: Nanos) -> Option<Nanos> {
        let due = match self.due {
            _ if self.early.is_some() => Some(now),
            Due::No => None,
            Due::At(at) => Some(at),
            Due::Now => Some(now),
        };
        due.into_iter().chain(self.compress.due_at()).min()
    }

    /// An acknowledgement is due at once.
    pub(crate) const fn schedule_ack_now(&mut self) {
        self.due = Due::Now;
    }

    /// An acknowledgement is sent.
    pub(crate) fn acknowledged(&mut self) {
        if self.unacknowledged > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.due, self.unacknowledged, self.is_pushed) = (Due::No, 0, false);
        self.compress.acknowledged();
    }

    /// Data is sent: if it responds to data received a moment ago, responses carry acknowledgements.
    pub(crate) fn sends_data(&mut self, now: Nanos) {
        self.answers |= self.last_came > Nanos::ZERO && now - self.last_came < self.delay;
    }

    /// An acknowledgement is sent because no response came in time.
    pub(crate) fn waited(&mut self, now: Nanos) {
        if matches!(self.due, Due::At(at) if at <= now) {
            self.answers = false;
        }
    }

    /// Whether a packet was marked and the peer has not confirmed that it knows.
    pub(crate) const fn echoes_mark(&self) -> bool {
        self.echoes_mark
    }

    /// The peer has reduced its window.
    pub(crate) const fn stop_echoing(&mut self) {
        self.echoes_mark = false;
    }
}

/// A segment of at least this size makes the window grow (`tcp_grow_window`, for anything but small packets).
const SMALL: u32 = 128;
/// After a pause this long the sender starts afresh, and quick acknowledgements start again.
const QUICK_AGAIN_AFTER: Nanos = Nanos::from_millis(500);
