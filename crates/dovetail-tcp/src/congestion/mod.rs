//! Congestion control: how many segments may be in flight.
//!
//! Windows are counted in segments. Below the threshold a window grows by what was acknowledged (slow start); above it by
//! one for each `n` segments acknowledged (congestion avoidance), and the algorithms differ in that `n`, in what is left
//! after a loss, and in when slow start ends. A window grows only where it was what limited the sender.

mod cubic;
mod hystart;
mod reno;

use dovetail_sched::Nanos;

use crate::config::{Config, Congestion};

use self::{cubic::Cubic, reno::Reno};

/// The least window after a loss (RFC 5681, equation 4).
const LEAST_AFTER_LOSS: u32 = 2;

/// A congestion window, in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) segments: u32,
    /// Where slow start ends.
    pub(crate) threshold: u32,
    // Of the next segment that it grows by.
    pub(crate) counted: u32,
}

impl Window {
    pub(crate) const fn new(segments: u32) -> Self {
        Self { segments, threshold: u32::MAX, counted: 0 }
    }

    pub(crate) const fn is_in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// The threshold that a window which shrinks for want of data leaves: three quarters of it.
    pub(crate) fn threshold_kept(&self) -> u32 {
        self.threshold.max((self.segments >> 1) + (self.segments >> 2))
    }

    /// Grows by what was acknowledged, up to the threshold; how much of that is left (RFC 5681, equation 2, with the L of
    /// RFC 3465 unlimited).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.threshold);
        let left = acked - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// Grows by one for each `per` segments acknowledged.
    fn avoid(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // What was counted for a slower growth.
        if self.counted >= per {
            self.counted = 0;
            self.segments = self.segments.saturating_add(1);
        }
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= per {
            let by = self.counted / per;
            self.counted -= by * per;
            self.segments = self.segments.saturating_add(by);
        }
    }
}

/// An acknowledgement, as congestion control sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    /// Segments that it says are delivered.
    pub(crate) segments: u32,
    /// How long the newest of them took.
    pub(crate) rtt: Option<Nanos>,
    /// All before is acknowledged, and all before `nxt` sent.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}

/// An algorithm at work.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    Reno(Reno),
    Cubic(Cubic),
}

impl Control {
    pub(crate) fn new(config: &Config) -> Self {
        match config.congestion {
            Congestion::Reno => Self::Reno(Reno),
            Congestion::Cubic => Self::Cubic(Cubic::new(config.hystart)),
        }
    }

    /// A round trip was measured, whether or not the window may grow.
    pub(crate) fn measured(&mut self, acked: &Acked, window: &mut Window, now: Nanos) {
        if let (Self::Cubic(cubic), Some(rtt)) = (self, acked.rtt) {
            cubic.measured(rtt, acked, window, now);
        }
    }

    /// Lets the window grow.
    pub(crate) fn grow(&mut self, acked: &Acked, window: &mut Window, now: Nanos) {
        let left = if window.is_in_slow_start() { window.slow_start(acked.segments) } else { acked.segments };
        if left > 0 {
            let per = match self {
                Self::Reno(reno) => reno.segments_per_growth(window),
                Self::Cubic(cubic) => cubic.segments_per_growth(window, left, now),
            };
            window.avoid(per, left);
        }
    }

    /// The threshold after a loss in this window.
    pub(crate) fn threshold(&mut self, window: &Window) -> u32 {
        let threshold = match self {
            Self::Reno(reno) => reno.threshold(window),
            Self::Cubic(cubic) => cubic.threshold(window),
        };
        threshold.max(LEAST_AFTER_LOSS)
    }

    /// A timeout: what was learnt of the path is out of date.
    pub(crate) fn timed_out(&mut self) {
        if let Self::Cubic(cubic) = self {
            cubic.reset();
        }
    }

    /// Sending begins again after a pause that began at `last_sent`.
    pub(crate) fn resumes(&mut self, last_sent: Nanos, now: Nanos) {
        if let Self::Cubic(cubic) = self {
            cubic.resumes(last_sent, now);
        }
    }
}
