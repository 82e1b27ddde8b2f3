//! Congestion control: how many segments may be in flight.
//!
//! Windows are counted in segments. Below the threshold a window grows by what is acknowledged (slow start); above it by one
//! segment for each `n` acknowledged (congestion avoidance). The algorithms differ in `n`, in how much remains after a loss,
//! and in when slow start ends. A window grows only if it limited the sender. BBR differs: it sets the window on each
//! acknowledgement, also during loss recovery, and a pacing rate.

mod bbr;
mod cubic;
mod hystart;
mod reno;
mod window;

use alloc::boxed::Box;

use dovetail_sched::Nanos;

use self::{bbr::Bbr, cubic::Cubic, hystart::Hystart, reno::Reno};
pub(crate) use self::{
    bbr::{Repair, Report},
    window::{Acked, Window},
};
use crate::{
    bandwidth::Bandwidth,
    config::{Config, Congestion},
};

/// The least window after a loss (RFC 5681, equation 4).
const MIN_WINDOW_AFTER_LOSS: u32 = 2;

/// The algorithm in use.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    Reno(Reno),
    Cubic(Cubic),
    // Boxed because it is larger than the others.
    Bbr(Box<Bbr>),
}

impl Control {
    /// `seed` determines an algorithm's random choices.
    pub(crate) fn new(config: &Config, seed: u32) -> Self {
        match config.congestion {
            Congestion::Reno => Self::Reno(Reno),
            Congestion::Cubic => Self::Cubic(Cubic::new(config.hystart.then(|| Hystart::new(config.pacing)))),
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(seed))),
        }
    }

    /// Whether it sets the window directly on each acknowledgement, regardless of losses.
    pub(crate) const fn steers(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// The handshake is complete, and took `rtt`.
    pub(crate) fn opens(&mut self, rtt: Option<Nanos>, window: &Window, now: Nanos) {
        if let Self::Bbr(bbr) = self {
            bbr.opens(rtt, window, now);
        }
    }

    /// Sets the window; true if few segments are in flight on purpose.
    pub(crate) fn steer(&mut self, report: &Report, window: &mut Window, now: Nanos) -> bool {
        match self {
            Self::Bbr(bbr) => bbr.steer(report, window, now),
            _ => false,
        }
    }

    /// The pacing rate, if the algorithm sets one.
    pub(crate) const fn pace(&self) -> Option<Bandwidth> {
        match self {
            Self::Bbr(bbr) => Some(bbr.pace()),
            _ => None,
        }
    }

    /// Processes a round-trip sample, whether or not the window may grow.
    pub(crate) fn measured(&mut self, acked: &Acked, window: &mut Window, now: Nanos) {
        if let (Self::Cubic(cubic), Some(rtt)) = (self, acked.rtt) {
            cubic.measured(rtt, acked, window, now);
        }
    }

    /// Grows the window.
    pub(crate) fn grow(&mut self, acked: &Acked, window: &mut Window, now: Nanos) {
        let left = if window.is_in_slow_start() { window.slow_start(acked.segments) } else { acked.segments };
        if left > 0 {
            let per = match self {
                Self::Reno(reno) => reno.segments_per_growth(window),
                Self::Cubic(cubic) => cubic.segments_per_growth(window, left, now),
                Self::Bbr(_) => return,
            };
            window.avoid(per, left);
        }
    }

    /// The threshold after a loss in this window.
    pub(crate) fn threshold(&mut self, window: &Window) -> u32 {
        let threshold = match self {
            Self::Reno(reno) => reno.threshold(window),
            Self::Cubic(cubic) => cubic.threshold(window),
            Self::Bbr(bbr) => {
                bbr.keep(window.segments);
                window.threshold
            }
        };
        threshold.max(MIN_WINDOW_AFTER_LOSS)
    }

    /// A timeout: what was learnt about the path is out of date.
    pub(crate) fn timed_out(&mut self) {
        match self {
            Self::Reno(_) => {}
            Self::Cubic(cubic) => cubic.reset(),
            Self::Bbr(bbr) => bbr.timed_out(),
        }
    }

    /// The loss was spurious: the window returns to `before`.
    pub(crate) fn undone(&mut self, before: u32, window: &mut Window) {
        match self {
            Self::Bbr(bbr) => bbr.undone(),
            _ => window.segments = window.segments.max(before),
        }
    }

    /// Sending resumes after a pause since `last_sent`, which was due to a lack of data or of window.
    pub(crate) fn resumes(&mut self, last_sent: Nanos, had_nothing: bool, window: &mut Window, now: Nanos) {
        match self {
            Self::Cubic(cubic) => cubic.resumes(last_sent, now),
            Self::Bbr(bbr) if had_nothing => bbr.resumes(window, now),
            _ => {}
        }
    }
}
