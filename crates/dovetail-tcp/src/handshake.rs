//! The SYN and SYN-ACK, and their retransmission.
//!
//! An unanswered SYN is retransmitted five times at intervals of a second, then at intervals that double, as in Linux since
//! 6.5 (`tcp_syn_linear_timeouts`: four, and the first of those that double). A SYN-ACK is retransmitted after one, two, four
//! seconds and so on. A handshake with a retransmission yields no round-trip sample (RFC 6298, section 3).

use dovetail_sched::Nanos;

use crate::{
    rtt::{INITIAL_TIMEOUT, MAX_TIMEOUT},
    segment::Options,
    ticks::Timers,
};

/// Timeouts before they double (`tcp_syn_linear_timeouts`).
const LINEAR: u32 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Handshake {
    is_open: bool,
    times: u32,
    sent_at: Nanos,
    due_at: Nanos,
    timeout: Nanos,
    offered: Offered,
}

/// Options offered in the peer's SYN.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offered {
    pub(crate) scales: bool,
    pub(crate) has_sack: bool,
    pub(crate) has_timestamps: bool,
}

impl Handshake {
    pub(crate) fn new(is_open: bool) -> Self {
        Self {
            is_open,
            times: 0,
            sent_at: Nanos::ZERO,
            due_at: Nanos::ZERO,
            timeout: INITIAL_TIMEOUT,
            offered: Offered::default(),
        }
    }

    /// Whether this end's SYN is still unacknowledged.
    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// How often it was sent.
    pub(crate) const fn times(&self) -> u32 {
        self.times
    }

    pub(crate) const fn due_at(&self) -> Nanos {
        self.due_at
    }

    /// What the peer offered.
    pub(crate) const fn offered(&self) -> Offered {
        self.offered
    }

    pub(crate) const fn offers(&mut self, options: &Options) {
        self.offered = Offered {
            scales: options.window_scale.is_some(),
            has_sack: options.sack_permitted,
            has_timestamps: options.timestamps.is_some(),
        };
    }

    /// The peer's SYN arrived: answer it at once.
    pub(crate) fn restart(&mut self, now: Nanos) {
        *self = Self { is_open: true, due_at: now, offered: self.offered, ..Self::new(true) };
    }

    /// The peer's SYN arrived again: answer it again, which counts as a retransmission (Linux restarts the timer without
    /// doubling it).
    pub(crate) fn repeats(&mut self, now: Nanos) {
        self.due_at = self.due_at.min(now);
    }

    pub(crate) fn sends(&mut self, opens: bool, timers: Timers, now: Nanos) {
        self.times += 1;
        if self.times == 1 {
            self.sent_at = now;
        }
        self.due_at = timers.run_at(now + self.timeout, now);
        if !opens || self.times > LINEAR {
            self.timeout = (self.timeout + self.timeout).min(MAX_TIMEOUT);
        }
    }

    /// How long the answer took; `None` if the SYN was retransmitted, since it is unclear which one was answered.
    pub(crate) fn took(&self, now: Nanos) -> Option<Nanos> {
        (self.times == 1).then(|| now - self.sent_at)
    }

    pub(crate) const fn ends(&mut self) {
        self.is_open = false;
    }
}
