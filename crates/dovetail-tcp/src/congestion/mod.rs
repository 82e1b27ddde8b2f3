//! Congestion control: how many segments may be in flight.
//!
//! Windows are counted in segments. Below the threshold a window grows by what was acknowledged (slow start); above it by
//! one for each `n` segments acknowledged (congestion avoidance), and the algorithms differ in that `n`, in what is left
//! after a loss, and in when slow start ends. A window grows only where it was what limited the sender. BBR works otherwise: it sets
//! the window with each acknowledgement, also while losses are repaired, and a pace.

mod bbr;
mod cubic;
mod hystart;
mod reno;
mod window;

use alloc::boxed::Box;

use dovetail_sched::Nanos;

use self::{bbr::Bbr, cubic::Cubic, reno::Reno};
pub(crate) use self::{
    bbr::{Repair, Report},
    window::{Acked, Window},
};
use crate::{
    bandwidth::Bandwidth,
    config::{Config, Congestion},
};

/// The least window after a loss (RFC 5681, equation 4).
const LEAST_AFTER_LOSS: u32 = 2;

/// An algorithm at work.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    Reno(Reno),
    Cubic(Cubic),
    // Apart, for it is larger than the others.
    Bbr(Box<Bbr>),
}

impl Control {
    /// `seed` decides what an algorithm leaves to chance.
    pub(crate) fn new(config: &Config, seed: u32) -> Self {
        match config.congestion {
            Congestion::Reno => Self::Reno(Reno),
            Congestion::Cubic => Self::Cubic(Cubic::new(config.hystart)),
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(seed))),
        }
    }

    /// Whether it sets the window itself with each acknowledgement, whatever is lost.
    pub(crate) const fn steers(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// The handshake is over, and took `rtt`.
    pub(crate) fn opens(&mut self, rtt: Option<Nanos>, window: &Window, now: Nanos) {
        if let Self::Bbr(bbr) = self {
            bbr.opens(rtt, window, now);
        }
    }

    /// Sets the window; true where what is in flight is few by intention.
    pub(crate) fn steer(&mut self, report: &Report, window: &mut Window, now: Nanos) -> bool {
        match self {
            Self::Bbr(bbr) => bbr.steer(report, window, now),
            _ => false,
        }
    }

    /// At what rate segments leave, where it says so.
    pub(crate) const fn pace(&self) -> Option<Bandwidth> {
        match self {
            Self::Bbr(bbr) => Some(bbr.pace()),
            _ => None,
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
        threshold.max(LEAST_AFTER_LOSS)
    }

    /// A timeout: what was learnt of the path is out of date.
    pub(crate) fn timed_out(&mut self) {
        match self {
            Self::Reno(_) => {}
            Self::Cubic(cubic) => cubic.reset(),
            Self::Bbr(bbr) => bbr.timed_out(),
        }
    }

    /// What was sent again was not lost: the window returns to `before`.
    pub(crate) fn undone(&mut self, before: u32, window: &mut Window) {
        match self {
            Self::Bbr(bbr) => bbr.undone(),
            _ => window.segments = window.segments.max(before),
        }
    }

    /// Sending begins again after a pause that began at `last_sent`, because there was nothing to send or for want of room.
    pub(crate) fn resumes(&mut self, last_sent: Nanos, had_nothing: bool, window: &mut Window, now: Nanos) {
        match self {
            Self::Cubic(cubic) => cubic.resumes(last_sent, now),
            Self::Bbr(bbr) if had_nothing => bbr.resumes(window, now),
            _ => {}
        }
    }
}
