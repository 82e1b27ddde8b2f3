//! The SYN and SYN-ACK, and their retransmission.
//!
//! An unanswered SYN is retransmitted five times at intervals of a second, then at intervals that double, as in Linux since
//! 6.5 (`tcp_syn_linear_timeouts`: four, and the first of those that double). A SYN-ACK is retransmitted after one, two, four
//! seconds and so on. One that answers a repeated SYN starts the running timeout anew, without doubling it, and is no attempt of
//! its own (Linux's `tcp_check_req`). A handshake with a retransmission yields no round-trip sample (RFC 6298, section 3).

use dovetail_sched::Nanos;

use crate::{
    rtt::{INITIAL_TIMEOUT, MAX_TIMEOUT},
    segment::Options,
    ticks::Timers,
};

/// Timeouts before they double (`tcp_syn_linear_timeouts`).
const LINEAR: u8 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Handshake {
    is_open: bool,
    // These two saturate; in Linux they have a byte or less (`num_retrans`, `num_timeout`).
    times: u8,
    attempts: u8,
    // The next one answers a repeated SYN.
    is_repeat: bool,
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
            attempts: 0,
            is_repeat: false,
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
    pub(crate) const fn times(&self) -> u8 {
        self.times
    }

    /// Whether it is due after so many retransmissions that it is not sent again.
    pub(crate) fn gives_up(&self, retries: u32) -> bool {
        u32::from(self.attempts) > retries && !self.is_repeat
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

    /// The peer's SYN arrived again: answer it again.
    pub(crate) fn repeats(&mut self, now: Nanos) {
        // A timeout that is due is an attempt all the same.
        self.is_repeat = self.due_at > now;
        self.due_at = self.due_at.min(now);
    }

    pub(crate) fn sends(&mut self, opens: bool, timers: Timers, now: Nanos) {
        self.times = self.times.saturating_add(1);
        if self.times == 1 {
            self.sent_at = now;
        }
        if !core::mem::take(&mut self.is_repeat) {
            self.attempts = self.attempts.saturating_add(1);
            if self.attempts > if opens { LINEAR + 1 } else { 1 } {
                self.timeout = (self.timeout + self.timeout).min(MAX_TIMEOUT);
            }
        }
        self.due_at = timers.run_at(now + self.timeout, now);
    }

    /// How long the answer took; `None` if the SYN was retransmitted, since it is unclear which one was answered.
    pub(crate) fn took(&self, now: Nanos) -> Option<Nanos> {
        (self.times == 1).then(|| now - self.sent_at)
    }

    pub(crate) const fn ends(&mut self) {
        self.is_open = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a SYN or SYN-ACK of time 0 is sent again, in seconds.
    fn intervals(opens: bool) -> [u64; 8] {
        let (mut handshake, mut now) = (Handshake::new(true), Nanos::ZERO);
        core::array::from_fn(|_| {
            handshake.sends(opens, Timers::Exact, now);
            let waited = handshake.due_at() - now;
            now = handshake.due_at();
            waited.0 / 1_000_000_000
        })
    }

    #[test]
    fn timeouts_double_soon_or_late() {
        assert_eq!(intervals(true), [1, 1, 1, 1, 1, 2, 4, 8]);
        assert_eq!(intervals(false), [1, 2, 4, 8, 16, 32, 64, 120]);
    }

    #[test]
    fn an_answer_to_a_repeated_syn_is_no_attempt() {
        let mut handshake = Handshake::new(true);
        handshake.sends(false, Timers::Exact, Nanos::ZERO);
        handshake.repeats(Nanos::from_millis(500));
        assert_eq!(handshake.due_at(), Nanos::from_millis(500));
        assert!(!handshake.gives_up(0), "whatever the retries, it is answered");
        handshake.sends(false, Timers::Exact, Nanos::from_millis(500));
        assert_eq!((handshake.attempts, handshake.due_at()), (1, Nanos::from_millis(1500)));
        assert_eq!(handshake.took(Nanos::from_millis(600)), None, "which one is answered is unclear");
        assert!(handshake.gives_up(0), "the timeout is not answered");
        handshake.sends(false, Timers::Exact, Nanos::from_millis(1500));
        assert_eq!((handshake.attempts, handshake.due_at()), (2, Nanos::from_millis(3500)));
    }
}
