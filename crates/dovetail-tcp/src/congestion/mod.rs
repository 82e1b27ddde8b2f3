//! Congestion control: how many segments may be in flight.
//!
//! Windows are counted in segments. Below the threshold a window grows by what was acknowledged (slow start); above it by
//! one for each `n` segments acknowledged (congestion avoidance), and the algorithms differ in that `n`, in what is left
//! after a loss, and in when slow start ends. A window grows only where it was what limited the sender.

mod cubic;
mod hystart;
mod reno;
mod window;

use dovetail_sched::Nanos;

use crate::config::{Config, Congestion};

pub(crate) use self::window::{Acked, Window};
use self::{cubic::Cubic, reno::Reno};

/// The least window after a loss (RFC 5681, equation 4).
const LEAST_AFTER_LOSS: u32 = 2;

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
