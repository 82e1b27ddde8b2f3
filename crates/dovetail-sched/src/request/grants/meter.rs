//! Units received and let in during the last second, and received over several.
//!
//! Counted in eighths of a second, of which the latest eight count: rates over 0.875 to 1 s. The longer average weights what
//! was received `t` seconds ago by `exp(-t/LONG_S)`.

use super::exp::exp;
use crate::Nanos;

const BINS: usize = 8;
const BIN: Nanos = Nanos(1_000_000_000 / BINS as u64);

/// How much time the longer average covers: less is no proof of a rate (`pace`), and more would slow down the growth of an
/// estimate which it bounds, about `g/LONG_S` per second.
const LONG_S: f64 = 4.0;

/// Sums over the last second, in units.
#[derive(Debug, Default)]
pub(super) struct Meter {
    bins: [Bin; BINS],
    /// The number of the current bin.
    current: u64,
    now: Nanos,
    long_per_s: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    came: f64,
    let_in: f64,
}

impl Meter {
    /// Sets the time to `now`.
    pub(super) fn advance(&mut self, now: Nanos) {
        self.long_per_s *= exp(-(now - self.now).as_secs_f64() / LONG_S);
        self.now = now;
        let bin = now.0 / BIN.0;
        // After a second of silence there is nothing to keep.
        for passed in self.current.max(bin.saturating_sub(BINS as u64)) + 1..=bin {
            self.bins[passed as usize % BINS] = Bin::default();
        }
        self.current = bin;
    }

    /// This many units were received.
    pub(super) fn came(&mut self, units: u64) {
        self.bins[self.current as usize % BINS].came += units as f64;
        self.long_per_s += units as f64 / LONG_S;
    }

    /// This many units could be let in.
    pub(super) fn let_in(&mut self, units: f64) {
        self.bins[self.current as usize % BINS].let_in += units;
    }

    /// The ratio of units received to units that could be let in, if there were any.
    pub(super) fn part(&self) -> Option<f64> {
        let let_in: f64 = self.bins.iter().map(|bin| bin.let_in).sum();
        (let_in > 0.0).then(|| self.units() / let_in)
    }

    /// Units received per second.
    pub(super) fn per_s(&self) -> f64 {
        let begun = Nanos(self.current.saturating_sub(BINS as u64 - 1).saturating_mul(BIN.0));
        self.units() / (self.now - begun).max(BIN).as_secs_f64()
    }

    /// Units received per second, averaged over several seconds; less than that at first.
    pub(super) const fn long_per_s(&self) -> f64 {
        self.long_per_s
    }

    fn units(&self) -> f64 {
        self.bins.iter().map(|bin| bin.came).sum()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_second_is_remembered_and_no_more() {
        let mut meter = Meter::default();
        for tick in 0..80 {
            meter.advance(Nanos::from_millis(25 * tick));
            meter.came(10);
            meter.let_in(20.0);
        }
        assert_eq!(meter.part(), Some(0.5));
        assert!((meter.per_s() - 400.0).abs() < 20.0, "{}", meter.per_s());
        meter.advance(Nanos::from_millis(25 * 79 + 500));
        assert!((150.0..250.0).contains(&meter.per_s()), "{}", meter.per_s());
        meter.advance(Nanos::from_secs(60));
        assert_eq!((meter.per_s(), meter.part()), (0.0, None));
        meter.advance(Nanos::MAX);
        assert_eq!(meter.per_s(), 0.0);
    }

    #[test]
    fn the_longer_average_is_of_several_seconds() {
        let mut meter = Meter::default();
        let mut seen = Vec::new();
        for tick in 1..=2_000 {
            meter.advance(Nanos::from_millis(10 * tick));
            // A second's units at once, unread until then.
            meter.came(if tick % 100 == 0 { 1_000 } else { 0 });
            seen.push(meter.long_per_s());
        }
        // 1 - exp(-t/4 s) of it after t, plus a jump of at most a fourth.
        assert!((600.0..900.0).contains(&seen[399]), "{}", seen[399]);
        assert!(seen[1_500..].iter().all(|rate| (850.0..1_150.0).contains(rate)));
        // A second in which nothing comes takes a fifth of it, and more than half is left after two.
        meter.advance(Nanos::from_secs(22));
        assert!((550.0..720.0).contains(&meter.long_per_s()), "{}", meter.long_per_s());
        meter.advance(Nanos::MAX);
        assert!(meter.long_per_s() < 1.0);
    }
}
