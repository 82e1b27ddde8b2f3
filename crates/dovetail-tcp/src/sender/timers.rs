//! The sender's single timer, and what happens when it expires.
//!
//! While segments are in flight it is the retransmission timeout or, before that, a tail loss probe (RFC 8985, section 7) or
//! the end of the reordering window. While the peer's window is closed it triggers window probes, for as long as they are
//! answered.

use dovetail_sched::Nanos;

use super::state::{Chunk, Phase, Probe, Sender, Timer};
use crate::rtt::{INITIAL_TIMEOUT, MAX_TIMEOUT};

/// Minimum of a timer (`TCP_TIMEOUT_MIN`: two ticks of a kernel's clock).
const MIN_TIMER: Nanos = Nanos::from_millis(2);
/// Allowance for a receiver that delays its acknowledgement, if a single segment is in flight (`TCP_RTO_MIN`; RFC 8985,
/// section 7.2: WCDelAckT).
const SLOWEST_ACK: Nanos = Nanos::from_millis(200);
/// By then the interval of window probes, at first at least `SLOWEST_ACK`, is the longest.
const MAX_DOUBLINGS: u8 = (MAX_TIMEOUT.0 / SLOWEST_ACK.0).ilog2() as u8 + 1;

impl Sender {
    /// When to call [`on_timer`](Self::on_timer).
    pub(crate) fn timer_at(&self) -> Option<Nanos> {
        self.timer.map(|(_, at)| at)
    }

    /// Handles a timer that has expired by `now`.
    pub(crate) fn on_timer(&mut self, now: Nanos) {
        let Some((timer, _)) = self.timer.filter(|&(_, at)| at <= now) else { return };
        self.timer = None;
        self.only_new = false;
        match timer {
            Timer::Timeout => self.time_out(now),
            Timer::TailProbe => self.probes_tail = true,
            Timer::Reordering => self.reordering_ended(now),
            Timer::WindowProbe => {
                self.probes_window = true;
                self.probe_doublings = (self.probe_doublings + 1).min(MAX_DOUBLINGS);
                self.unanswered_probes = self.unanswered_probes.saturating_add(1);
                self.arm_window_probe(now);
            }
        }
    }

    pub(super) fn arm(&mut self, timer: Timer, at: Nanos, now: Nanos) {
        let at = at.max(now + Nanos(1));
        self.timer = Some((timer, self.timers.run_at(at, now)));
    }

    /// Restarts the timeout; one that was postponed for another timer counts from when the first segment in flight was sent.
    pub(super) fn arm_timeout(&mut self, now: Nanos) {
        let Some(front) = self.board.front() else {
            self.timer = None;
            return;
        };
        let from = match self.timer {
            Some((Timer::TailProbe | Timer::Reordering, _)) => front.at,
            _ => now,
        };
        self.arm(Timer::Timeout, from + self.rtt.timeout(), now);
    }

    /// Schedules a tail loss probe unless something is lost; false if none is needed. `advances`: the timeout that it
    /// precedes would start now.
    pub(super) fn arm_tail_probe(&mut self, advances: bool, now: Nanos) -> bool {
        let Some(front) = self.board.front() else { return false };
        if !self.has_sack || !matches!(self.phase, Phase::Open | Phase::Reduced) {
            return false;
        }
        let after = match self.rtt.smoothed() {
            Some(smoothed) if self.board.len() == 1 => smoothed + smoothed + SLOWEST_ACK,
            Some(smoothed) => smoothed + smoothed + MIN_TIMER,
            None => INITIAL_TIMEOUT,
        };
        let timeout = self.rtt.timeout();
        let timeout_at = if advances { now } else { front.at } + timeout;
        let at = if timeout_at > now { (now + after).min(timeout_at) } else { now + after };
        self.arm(Timer::TailProbe, at, now);
        true
    }

    pub(super) fn arm_reordering(&mut self, after: Nanos, now: Nanos) {
        self.arm(Timer::Reordering, now + after + MIN_TIMER, now);
    }

    pub(super) fn arm_window_probe(&mut self, now: Nanos) {
        let mut after = self.rtt.timeout().max(SLOWEST_ACK);
        for _ in 0..self.probe_doublings {
            after = (after + after).min(MAX_TIMEOUT);
        }
        self.arm(Timer::WindowProbe, now + after, now);
    }

    /// Sends a new segment, or retransmits the last one, to make the peer report what it has.
    pub(super) fn probe_tail(&mut self, now: Nanos) -> Option<Chunk> {
        let chunk = if self.probe.is_some() || self.board.is_empty() {
            None
        } else if let Some(chunk) = self.next_new(true, now) {
            self.probe = Some(Probe { high: self.nxt, again: false });
            Some(chunk)
        } else {
            let last = self.board.numbers().end - 1;
            self.probe = Some(Probe { high: self.nxt, again: true });
            self.resend(last, now)
        };
        self.counts.probes += u64::from(chunk.is_some());
        self.timer = None;
        self.arm_timeout(now);
        chunk
    }

    /// No acknowledgement arrived for too long (RFC 6298, section 5; RFC 5681, equation 4).
    fn time_out(&mut self, now: Nanos) {
        if self.board.is_empty() {
            return;
        }
        self.counts.timeouts += 1;
        let was_recovering = self.phase >= Phase::Recovery;
        let is_new = self.phase <= Phase::Disorder
            || self.una >= self.high
            || (self.phase == Phase::TimedOut && self.timeouts == 0);
        // If the front is sacked, the peer has discarded it (RFC 2018, section 8).
        let forgot = self.board.front().is_some_and(|front| front.sacked);
        if forgot {
            self.board.forget_sacked();
        }
        if !self.has_sack {
            self.board.forget_duplicates();
        }
        let first = self.board.numbers().start;
        for number in self.board.numbers() {
            let Some(sent) = self.board.by_number(number) else { break };
            // Segments sent a moment ago may still arrive (RFC 8985, section 6.3).
            let is_late = !self.has_sack
                || forgot
                || number == first
                || self.rack.remaining(sent.at, &self.board, &self.rtt, was_recovering, now) == Nanos::ZERO;
            if is_late {
                self.board.lose(number);
            }
        }
        if is_new {
            self.begin_reduction();
            self.window.threshold = self.control.threshold(&self.window);
            self.mark_undo();
        }
        self.control.timed_out();
        (self.window.segments, self.window.counted) = (self.board.in_flight() + 1, 0);
        self.phase = Phase::TimedOut;
        self.examines = self.has_sack && (!was_recovering || self.timeouts > 0);
        self.high = self.nxt;
        self.probe = None;
        self.says_reduced = true;
        self.timeouts += 1;
        if self.is_shut() {
            self.unanswered_probes = self.unanswered_probes.saturating_add(1);
        }
        self.rtt.back_off();
        self.arm(Timer::Timeout, now + self.rtt.timeout(), now);
    }
}
