//! What to send next.
//!
//! Lost segments first, then new ones, while fewer segments are in flight than the congestion window permits and the peer's
//! window reaches that far. A partial segment waits while another is unacknowledged (Minshall's variant of RFC 896), unless
//! it is the last.

use dovetail_sched::Nanos;

use super::state::{Chunk, Phase, Sender, Timer};

/// A window up to this size may be used by one segment; of a larger one at most half (RFC 9293, section 3.8.6.2.1).
const SMALL_OFFER: u64 = 536;

impl Sender {
    /// The next segment, if one may be sent now.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<Chunk> {
        self.asks_anew();
        if core::mem::take(&mut self.probes_window) {
            return self.probe_window(now);
        }
        if core::mem::take(&mut self.probes_tail)
            && let Some(chunk) = self.probe_tail(now)
        {
            return Some(chunk);
        }
        if !self.only_new
            && let Some(chunk) = self.next_lost(now)
        {
            return Some(chunk);
        }
        let chunk = self.next_new(false, now);
        if chunk.is_none() && self.only_new && !self.is_held_back() {
            self.only_new = self.nxt > self.high;
            if !self.only_new {
                self.examines = false;
                return self.next_lost(now);
            }
        }
        chunk
    }

    /// The next lost segment.
    fn next_lost(&mut self, now: Nanos) -> Option<Chunk> {
        if self.board.in_flight() >= self.window.segments {
            return None;
        }
        let number = self.board.next_lost()?;
        if self.holds_back(now) {
            return None;
        }
        self.resend(number, now)
    }

    /// Retransmits a segment.
    pub(super) fn resend(&mut self, number: u64, now: Nanos) -> Option<Chunk> {
        let is_front = number == self.board.numbers().start;
        let snapshot = self.delivery.snapshot(false, now);
        self.board.resend(number, now, snapshot);
        let sent = *self.board.by_number(number)?;
        self.counts.segments += 1;
        self.counts.again += 1;
        self.reduction.again = Some(self.reduction.again.unwrap_or(0) + 1);
        self.reduction.again_since.get_or_insert(now);
        if self.is_reducing() {
            self.reduction.sent += 1;
        }
        if is_front && !matches!(self.timer, Some((Timer::Reordering, _))) {
            self.arm(Timer::Timeout, now + self.rtt.timeout(), now);
        }
        self.last_sent = Some(now);
        let fin = sent.end() > self.written;
        let bytes = sent.length - u32::from(fin);
        self.paces(bytes, now);
        Some(Chunk { start: sent.start, bytes, fin, push: false, is_new: false, says_reduced: false })
    }

    /// The next new segment; `probes` ignores the congestion window.
    pub(super) fn next_new(&mut self, probes: bool, now: Nanos) -> Option<Chunk> {
        if !self.has_unsent() {
            if self.board.in_flight() < self.window.segments {
                self.delivery.mark_app_limited(self.board.in_flight());
            }
            return None;
        }
        if !probes && self.board.in_flight() >= self.window.segments {
            self.used(true, now);
            return None;
        }
        let left = self.written - self.nxt;
        let full = self.segment_for_offer();
        let bytes = u64::from(full).min(left) as u32;
        let fin = self.closes && u64::from(bytes) == left;
        let end = self.nxt + u64::from(bytes) + u64::from(fin);
        if end > self.edge {
            self.used(false, now);
            if self.board.is_empty() && self.timer.is_none() {
                self.arm_window_probe(now);
            }
            return None;
        }
        let is_partial = bytes < full && !fin;
        if is_partial && self.nagle && !probes && self.partial_end > self.una {
            return None;
        }
        if !probes && self.holds_back(now) {
            return None;
        }
        self.may_have_idled(now);
        Some(self.send_new(bytes, fin, probes, now))
    }

    fn send_new(&mut self, bytes: u32, fin: bool, probes: bool, now: Nanos) -> Chunk {
        let was_empty = self.board.is_empty();
        let start = self.nxt;
        let length = bytes + u32::from(fin);
        self.put_on_board(start, length, now);
        self.nxt += u64::from(length);
        if bytes < self.segment_for_offer() {
            self.partial_end = self.nxt;
        }
        self.last_sent = Some(now);
        self.counts.segments += 1;
        self.paces(bytes, now);
        if self.is_reducing() {
            self.reduction.sent += 1;
        }
        if !probes {
            if was_empty || matches!(self.timer, Some((Timer::TailProbe, _))) {
                self.arm_timeout(now);
            }
            self.arm_tail_probe(false, now);
            self.used(self.board.in_flight() >= self.window.segments, now);
        }
        let is_new = bytes > 0;
        let says_reduced = is_new && core::mem::take(&mut self.says_reduced);
        let end = start + u64::from(bytes);
        let push = self.pushes.takes(end) || end == self.written;
        Chunk { start, bytes, fin, push, is_new, says_reduced }
    }

    /// The largest segment to send: at most half of the largest window the peer ever advertised.
    fn segment_for_offer(&self) -> u32 {
        let most = match self.longest_offer {
            whole @ 0..=SMALL_OFFER => whole,
            more => more / 2,
        };
        self.segment.min(u32::try_from(most).unwrap_or(u32::MAX)).max(1)
    }

    /// Probes a closed window, with as much as it permits or with a number that was already acknowledged.
    fn probe_window(&mut self, now: Nanos) -> Option<Chunk> {
        if self.nxt < self.edge && self.nxt < self.written {
            let bytes = (self.edge - self.nxt).min(self.written - self.nxt).min(u64::from(self.segment)) as u32;
            // Its timeout counts instead.
            self.unanswered_probes = 0;
            return Some(self.send_new(bytes, false, false, now));
        }
        let (start, push) = (self.una - 1, false);
        Some(Chunk { start, bytes: 0, fin: false, push, is_new: false, says_reduced: false })
    }

    /// Records whether the congestion window is the limit.
    fn used(&mut self, is_limited: bool, now: Nanos) {
        let out = self.board.len();
        let usage = &mut self.usage;
        if self.una >= usage.ends || is_limited || (!usage.is_limited && out > usage.most) {
            (usage.is_limited, usage.most, usage.ends) = (is_limited, out, self.nxt);
        }
        if self.is_window_limiting() {
            (self.usage.used, self.usage.full_at) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if self.validates && self.phase == Phase::Open && now - self.usage.full_at >= self.rtt.timeout() {
            // Half way between the window and what was used (RFC 7661, section 4.4.3; RFC 2861).
            let used = self.usage.used.max(self.initial_window);
            if used < self.window.segments {
                self.window.threshold = self.window.threshold_kept();
                self.window.segments = (self.window.segments + used) / 2;
            }
            (self.usage.used, self.usage.full_at) = (0, now);
        }
    }

    /// Whether the window was used up, or half used in slow start.
    pub(super) const fn is_window_limiting(&self) -> bool {
        self.usage.is_limited
            || (self.window.is_in_slow_start() && self.window.segments < self.usage.most.saturating_mul(2))
    }

    /// Halves the window for each timeout that a pause lasted, down to the initial window (RFC 5681, section 4.1).
    fn may_have_idled(&mut self, now: Nanos) {
        let Some(last) = self.last_sent.filter(|_| self.board.is_empty()) else { return };
        if now > last {
            self.control.resumes(last, self.delivery.is_limited(), &mut self.window, now);
        }
        let mut idle = now - last;
        let timeout = self.rtt.timeout();
        if !self.validates || idle <= timeout {
            return;
        }
        self.window.threshold = self.window.threshold_kept();
        let restart = self.initial_window.min(self.window.segments);
        while idle > timeout && self.window.segments > restart {
            idle = idle - timeout;
            self.window.segments /= 2;
        }
        self.window.segments = self.window.segments.max(restart);
        (self.usage.used, self.usage.full_at) = (0, now);
    }
}
