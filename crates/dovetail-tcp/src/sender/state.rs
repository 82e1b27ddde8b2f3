//! State of a sender.

use dovetail_sched::Nanos;

use super::pushes::Pushes;
use crate::{
    board::{Board, Sent},
    config::{Config, Congestion},
    congestion::{Control, Window},
    delivery::Delivery,
    rack::Rack,
    rtt::Rtt,
    ticks::Timers,
};

/// The last place that may be written: sums of two such do not overflow.
const MAX_PLACE: u64 = (1 << 62) + 1;

/// What an acknowledgement contributes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct News {
    /// It acknowledges new data in order.
    pub(super) advanced: bool,
    /// It sacks a segment for the first time.
    pub(super) sacked: bool,
    /// It reports a duplicate.
    pub(super) duplicate: bool,
    /// The duplicate is the tail loss probe.
    pub(super) duplicate_of_probe: bool,
    /// Its segment carries data, changes the window or was overtaken, so it is not a duplicate acknowledgement.
    pub(super) is_other: bool,
    /// It delivers a segment that was sent once, before the phase began.
    pub(super) original: bool,
    /// It responds to a segment that was sent before any retransmission.
    pub(super) answers_first_transmission: bool,
    pub(super) is_marked: bool,
    /// A retransmission is lost again.
    pub(super) lost_again: bool,
    /// The retransmission timer restarts.
    pub(super) rearms: bool,
}

/// An unanswered tail loss probe: the highest place sent by then, and whether it is a retransmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub(super) high: u64,
    pub(super) again: bool,
}

/// Purpose of the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    Timeout,
    TailProbe,
    Reordering,
    WindowProbe,
}

/// Whether the congestion window is the limit (RFC 7661; `tcp_cwnd_validate`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) is_limited: bool,
    // The most segments in flight in this round trip, and where it ends.
    pub(super) most: u32,
    pub(super) ends: u64,
    // The most used since the window was last full, and when that was.
    pub(super) used: u32,
    pub(super) full_at: Nanos,
}

/// State of pacing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pacing {
    /// Whether algorithms without a rate of their own are paced by their window.
    pub(super) paces_windows: bool,
    /// The next segment is not sent before.
    pub(super) next_at: Nanos,
    /// Whether a segment is waiting for that time.
    pub(super) holds: bool,
}

/// A segment to send: its place, its payload, and whether a FIN follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) fin: bool,
    /// Whether it carries PSH.
    pub(crate) push: bool,
    /// Whether queues may mark it (RFC 3168, sections 6.1.4 and 6.1.5: new data, neither retransmissions nor a FIN alone).
    pub(crate) is_new: bool,
    /// Whether it signals that the window was reduced.
    pub(crate) says_reduced: bool,
}

/// Phase of a sender (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Open,
    /// Segments arrived out of order.
    Disorder,
    /// The window falls after a congestion mark, or after a loss that a probe repaired.
    Reduced,
    /// Segments are lost and retransmitted.
    Recovery,
    /// A timeout expired.
    TimedOut,
}

/// Progress of a reduction, and what is needed to undo it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reduction {
    /// The window and the threshold before it.
    pub(super) window: u32,
    pub(super) threshold: u32,
    /// Delivered and sent since then (RFC 6937, prr_delivered and prr_out).
    pub(super) delivered: u32,
    pub(super) sent: u32,
    /// Where it began, as long as it may be undone.
    pub(super) began_at: Option<u64>,
    /// Retransmissions that were not reported as duplicates; `None` if there were none.
    pub(super) again: Option<u32>,
    /// When the first segment was retransmitted.
    pub(super) again_since: Option<Nanos>,
}

/// Counters of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Segments with data or a FIN, including retransmissions.
    pub segments: u64,
    /// Retransmissions.
    pub again: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries entered.
    pub recoveries: u64,
    /// Reductions that were undone.
    pub undone: u64,
    /// Tail loss probes.
    pub probes: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(super) segment: u32,
    pub(super) has_sack: bool,
    pub(super) nagle: bool,
    pub(super) validates: bool,
    pub(super) timers: Timers,
    pub(super) initial_window: u32,
    // Everything before these is acknowledged, sent, and written.
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) written: u64,
    pub(super) closes: bool,
    pub(super) pushes: Pushes,
    // The first place beyond the peer's window, and the place of the segment that advertised it.
    pub(super) edge: u64,
    pub(super) edge_said_at: u64,
    pub(super) longest_offer: u64,
    pub(super) board: Board,
    pub(crate) rtt: Rtt,
    pub(super) rack: Rack,
    pub(super) delivery: Delivery,
    pub(super) window: Window,
    pub(super) control: Control,
    pub(super) phase: Phase,
    // The highest place sent when the phase began.
    pub(super) high: u64,
    pub(super) reduction: Reduction,
    // Whether a timeout is checked for being spurious (RFC 5682), and only new data is sent for now.
    pub(super) examines: bool,
    pub(super) only_new: bool,
    pub(super) probe: Option<Probe>,
    pub(super) timer: Option<(Timer, Nanos)>,
    // Consecutive timeouts without progress, and window probes without an answer; how often the interval of probes doubled.
    pub(super) timeouts: u32,
    pub(super) unanswered_probes: u32,
    pub(super) probe_doublings: u8,
    pub(super) probes_window: bool,
    pub(super) probes_tail: bool,
    // The end of the last partial segment.
    pub(super) partial_end: u64,
    pub(super) last_sent: Option<Nanos>,
    pub(super) usage: Usage,
    pub(super) pacing: Pacing,
    // The window was reduced; the next new data signals it (RFC 3168, section 6.1.2: for whatever reason).
    pub(super) says_reduced: bool,
    pub(crate) counts: Counts,
}

impl Sender {
    /// A sender that must not send yet. `seed` determines random choices of congestion control.
    pub(crate) fn new(config: &Config, seed: u32) -> Self {
        let rtt = Rtt::new(config.least_timeout, config.timeout_floors_variance);
        Self {
            segment: config.segment_bytes.max(1),
            has_sack: config.sack,
            nagle: config.nagle,
            // A model of the path handles pauses on its own.
            validates: config.validates_window && config.congestion != Congestion::Bbr,
            timers: config.timers,
            initial_window: config.initial_window.max(1),
            una: 1,
            nxt: 1,
            written: 1,
            closes: false,
            pushes: Pushes::new(),
            edge: 1,
            edge_said_at: 0,
            longest_offer: 0,
            board: Board::default(),
            rtt,
            rack: Rack::default(),
            delivery: Delivery::default(),
            window: Window::new(config.initial_window.max(1)),
            control: Control::new(config, seed),
            phase: Phase::Open,
            high: 1,
            reduction: Reduction::default(),
            examines: false,
            only_new: false,
            probe: None,
            timer: None,
            timeouts: 0,
            unanswered_probes: 0,
            probe_doublings: 0,
            probes_window: false,
            probes_tail: false,
            partial_end: 0,
            last_sent: None,
            usage: Usage::default(),
            pacing: Pacing { paces_windows: config.pacing, ..Pacing::default() },
            says_reduced: false,
            counts: Counts::default(),
        }
    }

    /// The peer's SYN arrived: sets the segment size.
    pub(crate) fn meets(&mut self, segment_bytes: u32) {
        self.segment = segment_bytes;
    }

    /// This end's SYN is acknowledged: the peer accepts this many bytes.
    pub(crate) fn opens(&mut self, window: u64) {
        (self.edge, self.longest_offer) = (1 + window, window);
        // Data written earlier counts as written now.
        let bytes = core::mem::replace(&mut self.written, 1) - 1;
        self.write(bytes);
    }

    /// The handshake had to be repeated, so the path is considered congested (RFC 5681, section 3.1).
    pub(crate) fn begins_small(&mut self) {
        self.window.segments = 1;
    }

    /// The handshake is complete.
    pub(crate) fn begins(&mut self, now: Nanos) {
        self.control.opens(self.rtt.smoothed(), &self.window, now);
    }

    pub(crate) const fn without_sack(&mut self) {
        self.has_sack = false;
    }

    pub(crate) const fn sends_at_once(&mut self) {
        self.nagle = false;
    }

    /// The application wrote `bytes` more in one write.
    pub(crate) fn write(&mut self, bytes: u64) {
        let before = self.written;
        self.written += bytes;
        self.pushes.wrote(before..self.written, self.nxt, self.segment, self.longest_offer);
    }

    /// The application ends the stream.
    pub(crate) const fn close(&mut self) {
        self.closes = true;
    }

    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Bytes written and not yet acknowledged.
    pub(crate) const fn queued_bytes(&self) -> u64 {
        self.written.saturating_sub(self.una)
    }

    /// Bytes that may still be written before places would overflow.
    pub(crate) const fn bytes_left(&self) -> u64 {
        MAX_PLACE.saturating_sub(self.written)
    }

    /// Whether the FIN is acknowledged.
    pub(crate) const fn is_done(&self) -> bool {
        self.closes && self.una > self.written
    }

    /// The congestion window in segments.
    pub(crate) const fn window_segments(&self) -> u32 {
        self.window.segments
    }

    /// Whether more than `retries` timeouts passed without progress, or as many window probes without an answer. A peer that
    /// answers may keep its window closed for ever (RFC 9293, section 3.8.6.1; `tcp_probe_timer`), also in front of what is in
    /// flight: retransmissions are probes then (section 3.8.6; `tcp_retransmit_timer`).
    pub(crate) const fn gives_up(&self, retries: u32) -> bool {
        let has_progress = self.timeouts <= retries || self.is_shut();
        !has_progress || self.unanswered_probes > retries
    }

    /// Whether the peer's window is closed.
    pub(super) const fn is_shut(&self) -> bool {
        self.edge <= self.una
    }

    pub(crate) const fn timers(&self) -> Timers {
        self.timers
    }

    pub(super) const fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Reduced | Phase::Recovery)
    }

    pub(super) const fn has_unsent(&self) -> bool {
        self.nxt < self.written || (self.closes && self.nxt == self.written)
    }

    pub(super) fn put_on_board(&mut self, start: u64, length: u32, now: Nanos) {
        let snapshot = self.delivery.snapshot(self.board.is_empty(), now);
        let sent =
            Sent { start, length, sacked: false, lost: false, in_flight_again: false, again: false, at: now, snapshot };
        self.board.push(sent);
    }
}
