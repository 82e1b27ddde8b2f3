//! What an end sends, and when.

use dovetail_sched::Nanos;

use super::{Broken, Connection, Reset, State, stamp};
use crate::{
    segment::{Blocks, Ecn, Flags, Options, Segment},
    sender::Chunk,
};

impl Connection {
    /// When to call [`poll_transmit`](Self::poll_transmit) next unless something happens before.
    #[must_use]
    pub fn poll_at(&self, now: Nanos) -> Option<Nanos> {
        let at = match self.state {
            _ if self.reset.is_some() || self.sends_bare => Some(now),
            State::Closed | State::Listen => None,
            State::SynSent => Some(self.handshake.due_at()),
            _ if self.handshake.is_open() => {
                Some(self.handshake.due_at()).into_iter().chain(self.receiver.due_at(now)).min()
            }
            State::TimeWait => Some(self.gone_at).into_iter().chain(self.receiver.due_at(now)).min(),
            _ => self.sender.due_at().into_iter().chain(self.receiver.due_at(now)).min(),
        };
        at.map(|at| at.max(now))
    }

    /// The next segment to send; `None` if there is nothing more at `now`.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Segment> {
        if let Some(reset) = self.reset.take() {
            return Some(self.reset(reset, now));
        }
        match self.state {
            State::Closed | State::Listen => return None,
            _ if self.handshake.is_open() => {
                let sent = self.shake(now);
                let may_answer = !matches!(self.state, State::SynSent | State::Closed);
                return if sent.is_none() && may_answer { self.due_acknowledgement(now) } else { sent };
            }
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
                if self.sender.gives_up(self.config.retries) {
                    self.reset = Some(Reset::Ends);
                    self.breaks(Broken::TimedOut);
                    return self.poll_transmit(now);
                }
            }
            if let Some(chunk) = self.sender.next(now) {
                return Some(self.data(chunk, now));
            }
        }
        self.due_acknowledgement(now)
    }

    fn reset(&mut self, reset: Reset, now: Nanos) -> Segment {
        match reset {
            Reset::Ends => {
                let sequence = self.ours.number(self.sender.nxt());
                self.acknowledges(Segment { sequence, flags: Flags::RST | Flags::ACK, ..Segment::default() }, now)
            }
            Reset::Answers => Segment { sequence: self.denied, flags: Flags::RST, ..Segment::default() },
        }
    }

    /// The SYN or SYN-ACK.
    fn shake(&mut self, now: Nanos) -> Option<Segment> {
        if now < self.handshake.due_at() {
            return None;
        }
        if self.handshake.times() > self.config.handshake_retries {
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
        // Offer back only what the peer offered.
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
        self.acknowledged = self.theirs.number(self.receiver.nxt());
        let acknowledgement = if opens { 0 } else { self.acknowledged };
        self.receiver.acknowledged();
        Some(Segment { sequence: self.ours.number(0), acknowledgement, window, flags, options, ..Segment::default() })
    }

    fn data(&mut self, chunk: Chunk, now: Nanos) -> Segment {
        let mut flags = Flags::ACK;
        let says_reduced = self.has_ecn && chunk.says_reduced;
        for (is_set, flag) in [(chunk.push, Flags::PSH), (chunk.fin, Flags::FIN), (says_reduced, Flags::CWR)] {
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

    /// An acknowledgement, if one is due.
    fn due_acknowledgement(&mut self, now: Nanos) -> Option<Segment> {
        let is_due = self.receiver.due_at(now).is_some_and(|at| at <= now);
        is_due.then(|| {
            self.receiver.waited(now);
            self.acknowledgement(now)
        })
    }

    /// Number of blocks that fit into an acknowledgement.
    const fn most_blocks(&self) -> usize {
        if self.their_stamp.is_some() { Blocks::MAX_BLOCKS - 1 } else { Blocks::MAX_BLOCKS }
    }

    /// Completes a segment that acknowledges everything received.
    fn acknowledges(&mut self, segment: Segment, now: Nanos) -> Segment {
        let blocks = self.receiver.blocks(self.theirs, self.most_blocks());
        let segment = self.fill(segment, blocks, now);
        self.receiver.acknowledged();
        segment
    }

    /// Fills in the fields common to all segments of an open connection.
    fn fill(&mut self, mut segment: Segment, blocks: Blocks, now: Nanos) -> Segment {
        let timestamps = self.their_stamp.map(|echo| (stamp(now), echo));
        segment.options = Options { timestamps, sack: blocks, ..Options::default() };
        if self.receiver.echoes_mark() {
            segment.flags = segment.flags | Flags::ECE;
        }
        self.acknowledged = self.theirs.number(self.receiver.nxt());
        segment.acknowledgement = self.acknowledged;
        segment.window = self.receiver.tell_window(true);
        segment
    }
}
