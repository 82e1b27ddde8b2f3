//! Processing of segments that arrive.

use dovetail_sched::Nanos;

use super::{Broken, Connection, Reset, State, stamp};
use crate::{
    segment::{Blocks, Ecn, Flags, Options, Segment},
    sender::Ack,
    sequence::Sequence,
};

/// Minimum interval between answers to unacceptable segments without data (`tcp_invalid_ratelimit`).
const ANSWER_EVERY: Nanos = Nanos::from_millis(500);

impl Connection {
    /// Processes a segment that arrived. Responses are returned by [`poll_transmit`](Self::poll_transmit).
    pub fn receive(&mut self, segment: &Segment, now: Nanos) {
        match self.state {
            State::Closed => self.refuses(segment),
            State::Listen => self.receive_listening(segment, now),
            State::SynSent => self.receive_opening(segment, now),
            _ => self.receive_open(segment, now),
        }
    }

    /// RFC 9293, section 3.10.7.1.
    fn refuses(&mut self, segment: &Segment) {
        if self.broken.is_some() {
            self.denies(segment);
        }
    }

    /// Answers an acknowledgement of what this end never sent with a reset.
    const fn denies(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST) {
            (self.reset, self.denied) = (Some(Reset::Answers), segment.acknowledgement);
        }
    }

    /// RFC 9293, section 3.10.7.2.
    fn receive_listening(&mut self, segment: &Segment, now: Nanos) {
        if segment.flags.has(Flags::ACK) {
            self.denies(segment);
        } else if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST) {
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
        if answers && !fits {
            self.denies(segment);
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        if answers {
            let is_congestion_told = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
            self.has_ecn = self.config.ecn && is_congestion_told;
            self.meets(segment);
            self.establish(segment, now);
            self.sends_bare = true;
        } else {
            // Simultaneous open.
            self.meets(segment);
            self.state = State::SynReceived;
            self.handshake.restart(now);
        }
    }

    /// Processes the peer's SYN and its options.
    fn meets(&mut self, segment: &Segment) {
        let Options { maximum_segment_size, window_scale, sack_permitted, timestamps, .. } = segment.options;
        self.handshake.offers(&segment.options);
        self.theirs = Sequence::new(segment.sequence);
        self.receiver.opens();
        // RFC 9293, section 3.7.1: 536 bytes if the option is absent.
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
        let full = most.min(self.config.segment_bytes).saturating_sub(headers).max(1);
        self.sender.meets(full);
        self.receiver.meets(full);
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
                // A single retransmission may be chance (`tcp_init_transfer`).
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
            // The peer's SYN again: our SYN or the answer to it was lost.
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
                // All of it had arrived on both sides: an end, not an error.
                if self.state == State::TimeWait {
                    (self.state, self.sends_bare) = (State::Closed, false);
                } else {
                    self.breaks(Broken::Reset);
                }
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
            // Report the duplicate; its acknowledgement may still be of use.
            if length > 0 && start + length <= self.receiver.nxt() {
                self.receiver.take(start, segment.payload_bytes, flags.has(Flags::FIN), Ecn::NotCapable, false, now);
            } else if length > 0 {
                // Two ends do not answer each other for ever: answers carry no data (`tcp_oow_rate_limited`).
                self.receiver.schedule_ack_now();
            } else if start != self.receiver.nxt() {
                self.answers(now);
            }
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if self.handshake.is_open() {
            if !self.acknowledges_ours(segment) {
                self.denies(segment);
                return;
            }
            self.establish(segment, now);
        }
        self.stamped(segment);
        if flags.has(Flags::CWR) {
            self.receiver.stop_echoing();
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

    /// Stores the timestamp to be echoed (RFC 7323, section 4.3): that of the first segment since the last acknowledgement, so
    /// that a round trip includes the time for which that is delayed, and never an older one.
    fn stamped(&mut self, segment: &Segment) {
        if let (Some(latest), Some((value, _))) = (self.their_stamp, segment.options.timestamps)
            && self.acknowledged.wrapping_sub(segment.sequence) as i32 >= 0
            && value.wrapping_sub(latest) as i32 >= 0
        {
            self.their_stamp = Some(value);
        }
    }

    /// False if the segment acknowledges data that was never sent.
    fn take_acknowledgement(&mut self, segment: &Segment, start: u64, carries: bool, now: Nanos) -> bool {
        let una = self.ours.place(segment.acknowledgement, self.sender.una());
        let Some(una) = una.filter(|&una| una <= self.sender.nxt()) else {
            self.answers(now);
            return false;
        };
        // An acknowledgement far below the window is very old (RFC 5961, section 5).
        if una == 0 || self.sender.una().saturating_sub(una) > u64::from(u32::MAX / 4) {
            return false;
        }
        let mut blocks = [(0, 0); Blocks::MAX_BLOCKS];
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
            self.receiver.schedule_ack_now();
            return;
        }
        let ecn = if self.has_ecn { segment.ecn } else { Ecn::NotCapable };
        let [fin, push] = [Flags::FIN, Flags::PSH].map(|flag| segment.flags.has(flag));
        self.receiver.compresses_for(self.sender.rtt.smoothed());
        self.receiver.take(start, segment.payload_bytes, fin, ecn, push, now);
    }

    /// Updates the state.
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

    /// Acknowledges an unacceptable segment, at a limited rate.
    fn answers(&mut self, now: Nanos) {
        if now >= self.answers_at {
            self.answers_at = now + ANSWER_EVERY;
            self.receiver.schedule_ack_now();
        }
    }
}

/// Converts an echoed timestamp to the time at which it was made.
fn unstamp(echo: u32, now: Nanos) -> Nanos {
    now - Nanos::from_millis(u64::from(stamp(now).wrapping_sub(echo)))
}
