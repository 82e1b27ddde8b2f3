//! The window-based rate controller (WRC): how many responses may be outstanding.

use crate::Nanos;

/// More responses than any gateway has open: without a bound the window would double for ever on a link that never reaches its
/// target.
pub(super) const MAX_RESPONSES: f64 = 1e6;

/// The controller's settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aim {
    /// Target utilisation, from 0 to 1.
    pub(super) target: f64,
    /// The interval over which utilisation is measured.
    pub(super) period: Nanos,
    /// The maximum factor by which the window grows after an interval.
    pub(super) growth: f64,
}

/// The window and its controller. O(1) for every event.
#[derive(Debug)]
pub(super) struct Window {
    aim: Aim,
    rate: f64,
    limit: f64,
    outstanding: u32,
    // For the current interval: units received, whether the window was full at some moment, how long it is and when it ends.
    units: u64,
    was_full: bool,
    lasts: Nanos,
    ends: Nanos,
    utilisation: f64,
}

impl Window {
    pub(super) fn new(aim: Aim, limit: f64, rate: f64) -> Self {
        let (lasts, ends) = (aim.period, Nanos::ZERO);
        Self { aim, rate, limit, outstanding: 0, units: 0, was_full: false, lasts, ends, utilisation: 0.0 }
    }

    /// Changes the settings; a new period counts from the next interval on.
    pub(super) fn set_aim(&mut self, aim: Aim) {
        self.aim = aim;
    }

    pub(super) fn set_rate(&mut self, units_per_s: f64) {
        self.rate = units_per_s;
    }

    /// Closes the current interval if it is over. Later ones without an event gave no information.
    #[inline]
    pub(super) fn tick(&mut self, now: Nanos) {
        if now >= self.ends {
            self.close(now);
        }
    }

    fn close(&mut self, now: Nanos) {
        self.utilisation = self.units as f64 / (self.lasts.as_secs_f64() * self.rate);
        if self.was_full {
            // With nothing received the quotient is infinite, and the growth limit applies.
            let factor = (self.aim.target / self.utilisation).min(self.aim.growth);
            self.limit = (factor * self.limit).clamp(1.0, MAX_RESPONSES);
        }
        self.units = 0;
        self.was_full = !self.is_open();
        // From one multiple of the period to the next; shorter after a change of the period, which need not be at one.
        let period = self.aim.period.0;
        let begins = Nanos(now.0 / period * period).max(self.ends);
        self.ends = Nanos((now.0 / period).saturating_add(1).saturating_mul(period));
        self.lasts = self.ends - begins;
    }

    /// Whether another request may be released.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        f64::from(self.outstanding) < self.limit
    }

    #[inline]
    pub(super) fn released(&mut self) {
        self.outstanding += 1;
        self.was_full |= !self.is_open();
    }

    #[inline]
    pub(super) fn over(&mut self) {
        self.outstanding -= 1;
    }

    #[inline]
    pub(super) fn received(&mut self, units: u64) {
        self.units = self.units.saturating_add(units);
    }

    /// When the interval ends, if that can change anything without another event.
    #[inline]
    pub(super) fn ends(&self, waiting: bool) -> Option<Nanos> {
        (waiting || self.outstanding > 0 || self.was_full).then_some(self.ends)
    }

    pub(super) fn figures(&self, tell: &mut dyn FnMut(&'static str, f64)) {
        tell("window", self.limit);
        tell("outstanding", self.outstanding.into());
        tell("utilisation", self.utilisation);
    }
}
