//! The half of an end that sends: what is in flight, what is believed lost, and what goes out next.
//!
//! A connection's sender is in one of five phases, as Linux calls them: open; in disorder (segments came out of order);
//! reduced (the window falls for another reason than a loss); in recovery (segments are lost and sent again); timed out.
//! Acknowledgements move it from one to another ([`acks`]), losses and timeouts do ([`losses`], [`timers`]), and what goes
//! out follows from the windows and from what is believed lost ([`output`]).

mod acks;
mod losses;
mod output;
mod timers;

use dovetail_sched::Nanos;

use crate::{
    board::{Board, Sent},
    config::Config,
    congestion::{Control, Window},
    delivery::Delivery,
    rack::Rack,
    rtt::Rtt,
};

pub(crate) use self::{acks::Ack, output::Chunk};
use self::{losses::Probe, output::Usage, timers::Timer};

/// What a sender is in (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// Segments came out of order.
    Disorder,
    /// The window falls after a congestion mark, or after a loss that a probe repaired.
    Reduced,
    /// Segments are lost, and sent again.
    Recovery,
    /// A timeout expired.
    TimedOut,
}

/// What a reduction can be undone with, and how far it has come.
#[derive(Debug, Clone, Copy, Default)]
struct Reduction {
    /// The window and the threshold before.
    window: u32,
    threshold: u32,
    /// Delivered and sent since (RFC 6937, prr_delivered and prr_out).
    delivered: u32,
    sent: u32,
    /// Where it began, while it may be undone.
    began_at: Option<u64>,
    /// Segments sent again in it of which no report said that they were there already; `None`: none was sent again.
    again: Option<u32>,
    /// When the first segment was sent again.
    again_since: Option<Nanos>,
}

/// Figures of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Segments with data that were sent, for the first time or again.
    pub segments: u64,
    /// Of those, sent again.
    pub again: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Times that it went into recovery.
    pub recoveries: u64,
    /// Reductions that were undone.
    pub undone: u64,
    /// Probes of the tail.
    pub probes: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Sender {
    segment: u32,
    has_sack: bool,
    nagle: bool,
    validates: bool,
    has_coarse_timers: bool,
    initial_window: u32,
    // All before is acknowledged, sent, and written.
    una: u64,
    nxt: u64,
    written: u64,
    closes: bool,
    // The first place that may not be sent, and the segment that said so.
    edge: u64,
    edge_said_at: u64,
    longest_offer: u64,
    board: Board,
    pub(crate) rtt: Rtt,
    rack: Rack,
    delivery: Delivery,
    window: Window,
    control: Control,
    phase: Phase,
    // What was sent when the phase began.
    high: u64,
    reduction: Reduction,
    // Whether a timeout is examined for being spurious (RFC 5682), and only new data is sent for now.
    examines: bool,
    only_new: bool,
    probe: Option<Probe>,
    timer: Option<(Timer, Nanos)>,
    // Timeouts in a row without an acknowledgement, and window probes in a row.
    timeouts: u32,
    window_probes: u32,
    probes_window: bool,
    probes_tail: bool,
    // The end of the last segment that was not full.
    partial_end: u64,
    last_sent: Option<Nanos>,
    usage: Usage,
    // A mark of the path was answered up to here; the next new segment says so.
    says_reduced: bool,
    pub(crate) counts: Counts,
}

impl Sender {
    /// A sender that may send nothing yet.
    pub(crate) fn new(config: &Config) -> Self {
        let rtt = Rtt::new(config.least_timeout, config.timeout_floors_variance);
        Self {
            segment: config.segment_bytes.max(1),
            has_sack: config.sack,
            nagle: config.nagle,
            validates: config.validates_window,
            has_coarse_timers: config.coarse_timers,
            initial_window: config.initial_window.max(1),
            una: 1,
            nxt: 1,
            written: 1,
            closes: false,
            edge: 1,
            edge_said_at: 0,
            longest_offer: 0,
            board: Board::default(),
            rtt,
            rack: Rack::default(),
            delivery: Delivery::default(),
            window: Window::new(config.initial_window.max(1)),
            control: Control::new(config),
            phase: Phase::Open,
            high: 1,
            reduction: Reduction::default(),
            examines: false,
            only_new: false,
            probe: None,
            timer: None,
            timeouts: 0,
            window_probes: 0,
            probes_window: false,
            probes_tail: false,
            partial_end: 0,
            last_sent: None,
            usage: Usage::default(),
            says_reduced: false,
            counts: Counts::default(),
        }
    }

    /// The other end's SYN came: so much goes into a segment.
    pub(crate) fn meets(&mut self, segment_bytes: u32) {
        self.segment = segment_bytes.max(1);
    }

    /// This end's SYN is acknowledged: the other end takes this many bytes.
    pub(crate) const fn opens(&mut self, window: u64) {
        (self.edge, self.longest_offer) = (1 + window, window);
    }

    /// The handshake had to be repeated, so the path is thought congested (RFC 5681, section 3.1).
    pub(crate) fn begins_small(&mut self) {
        self.window.segments = 1;
    }

    pub(crate) const fn without_sack(&mut self) {
        self.has_sack = false;
    }

    pub(crate) const fn sends_at_once(&mut self) {
        self.nagle = false;
    }

    /// The application wrote so much more.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// The application writes no more.
    pub(crate) const fn close(&mut self) {
        self.closes = true;
    }

    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// What was written and is not acknowledged, in bytes.
    pub(crate) const fn queued_bytes(&self) -> u64 {
        self.written.saturating_sub(self.una)
    }

    /// Whether the FIN is acknowledged.
    pub(crate) const fn is_done(&self) -> bool {
        self.closes && self.una > self.written
    }

    /// The congestion window in segments.
    pub(crate) const fn window_segments(&self) -> u32 {
        self.window.segments
    }

    /// Timeouts in a row without an acknowledgement.
    pub(crate) const fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts
    }

    const fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Reduced | Phase::Recovery)
    }

    const fn has_unsent(&self) -> bool {
        self.nxt < self.written || (self.closes && self.nxt == self.written)
    }

    fn put_on_board(&mut self, start: u64, length: u32, now: Nanos) {
        let snapshot = self.delivery.snapshot(self.board.is_empty(), now);
        let sent =
            Sent { start, length, sacked: false, lost: false, in_flight_again: false, again: false, at: now, snapshot };
        self.board.push(sent);
    }
}
