//! Ageing of requests.
//!
//! A second of waiting makes a request smaller by `a` units. Of two waiting requests, `size - a·waited` orders like
//! `size + a·arrival`, because both age alike. If `a` is a part of the link's rate and that changes, or `a` itself is changed,
//! `a·arrival` becomes the integral of `a` until arrival:
//!
//! ```text
//! A(t) = integral of a from 0 to t        size + A(arrival)
//! ```
//!
//! As a part of the rate, ageing means the same on every link: at ten times the rate everything takes a tenth of the time, and
//! a request has aged as much after that time.
//!
//! All values are integers, in 10^-15 units.

use crate::{Nanos, PolicyError, entry::Knobs};

/// By how much a second of waiting makes a request smaller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ageing {
    /// By this many units.
    Units(u64),
    /// By this fraction of what the link carries.
    Part(f64),
}

impl Ageing {
    pub(super) fn read(knobs: &Knobs<'_>) -> Result<Self, PolicyError> {
        const MAX: u64 = 1_000_000_000;
        let text = knobs.text("ageing");
        let ageing = match text.strip_suffix('%') {
            Some(hundredths) => hundredths.parse().ok().map(|hundredths: f64| Self::Part(hundredths / 100.0)),
            None => text.parse().ok().map(Self::Units),
        };
        let is_in_range = |ageing: &Self| match ageing {
            Self::Units(units) => *units <= MAX,
            Self::Part(part) => (0.0..=1.0).contains(part),
        };
        ageing.filter(is_in_range).ok_or_else(|| {
            knobs.wrong("ageing", format_args!("units a second from 0 to {MAX}, or a part of the rate such as 1.5%"))
        })
    }

    /// In 10^-6 units per second, on a link of `rate` units per second.
    fn micros(self, rate: f64) -> u64 {
        match self {
            Self::Units(units) => units * 1_000_000,
            Self::Part(part) => (part * rate * 1e6) as u64,
        }
    }
}

/// By how much requests that arrive now count as larger than one at the beginning.
#[derive(Debug)]
pub(super) struct Age {
    ageing: Ageing,
    rate: f64,
    since: Nanos,
    // In 10^-15 units, up to `since`.
    grown: u128,
}

impl Age {
    /// On a link of `rate` units per second.
    pub(super) const fn new(ageing: Ageing, rate: f64) -> Self {
        Self { ageing, rate, since: Nanos::ZERO, grown: 0 }
    }

    /// The age in units.
    pub(super) fn at(&self, now: Nanos) -> u64 {
        u64::try_from(self.exactly(now) / 1_000_000_000_000_000).unwrap_or(u64::MAX)
    }

    /// Sets the link's rate; does nothing if it is not a positive number.
    pub(super) fn set_rate(&mut self, rate: f64, now: Nanos) {
        (self.grown, self.since, self.rate) = (self.exactly(now), now, rate);
    }

    pub(super) fn set_ageing(&mut self, ageing: Ageing, now: Nanos) {
        (self.grown, self.since, self.ageing) = (self.exactly(now), now, ageing);
    }

    fn exactly(&self, now: Nanos) -> u128 {
        let grows = u128::from((now - self.since).0) * u128::from(self.ageing.micros(self.rate));
        self.grown.saturating_add(grows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    #[test]
    fn a_part_of_the_rate_follows_it() {
        let mut age = Age::new(Ageing::Part(0.01), 200_000.0);
        assert_eq!([age.at(Nanos::ZERO), age.at(SECOND), age.at(Nanos::from_secs(3))], [0, 2_000, 6_000]);
        age.set_rate(400_000.0, Nanos::from_secs(3));
        assert_eq!([age.at(Nanos::from_secs(3)), age.at(Nanos::from_secs(4))], [6_000, 10_000]);
        age.set_ageing(Ageing::Units(7), Nanos::from_secs(4));
        assert_eq!(age.at(Nanos::from_secs(5)), 10_007);
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        let mut age = Age::new(Ageing::Part(1.0), 1e15);
        assert_eq!(age.at(Nanos::MAX), u64::MAX);
        age.set_rate(5.0, Nanos::MAX);
        age.set_ageing(Ageing::Units(1_000_000_000), Nanos::MAX);
        assert_eq!(age.at(Nanos::MAX), u64::MAX);
    }
}
