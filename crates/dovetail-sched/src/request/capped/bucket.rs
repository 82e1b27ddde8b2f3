//! A class's token bucket.

use crate::Nanos;

/// The size of a bucket, as the time in which its rate fills it.
const BURST: Nanos = Nanos::from_millis(250);
/// The level up to which refunds may raise it, as such a time, if responses have windows.
const BACK: Nanos = Nanos::from_secs(10);
/// Tolerance for rounding in sums, in units.
const NEARLY: f64 = 1e-3;

#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    back: Nanos,
    level: f64,
    at: Nanos,
    // The service of the user who was served last, which is where later users start.
    served: u64,
}

impl Bucket {
    /// A full bucket, for a policy with or without windows.
    pub(super) fn new(rate: f64, has_windows: bool, now: Nanos) -> Self {
        let back = if has_windows { BACK } else { BURST };
        Self { rate, back, level: rate * BURST.as_secs_f64(), at: now, served: 0 }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn set_rate(&mut self, rate: f64, now: Nanos) {
        self.fill(now);
        self.rate = rate;
        self.level = self.level.min(self.most());
    }

    pub(super) const fn served(&self) -> u64 {
        self.served
    }

    pub(super) fn serves(&mut self, service: u64) {
        self.served = self.served.max(service);
    }

    /// The units that its rate brings in this time.
    pub(super) fn brings(&self, time: Nanos) -> u64 {
        (self.rate * time.as_secs_f64()) as u64
    }

    fn most(&self) -> f64 {
        self.rate * BURST.as_secs_f64()
    }

    fn fill(&mut self, now: Nanos) {
        let filled = self.level + self.rate * (now - self.at).as_secs_f64();
        self.level = filled.min(self.most().max(self.level));
        self.at = self.at.max(now);
    }

    pub(super) fn take(&mut self, units: u64, now: Nanos) {
        self.fill(now);
        self.level -= units as f64;
    }

    pub(super) fn give(&mut self, units: u64, now: Nanos) {
        self.fill(now);
        let most = self.rate * self.back.as_secs_f64();
        self.level = (self.level + units as f64).min(most.max(self.level));
    }

    pub(super) fn is_open(&mut self, now: Nanos) -> bool {
        self.fill(now);
        self.level >= -NEARLY
    }

    /// When it opens, if nothing happens before.
    pub(super) fn opens(&self) -> Nanos {
        let missing = (-self.level).max(0.0) / self.rate * 1e9;
        // Never too early, except by the error of a division; and later than now while it is not open.
        let wait = Nanos((missing + 0.99) as u64);
        self.at + if self.level >= -NEARLY { wait } else { wait.max(Nanos(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_open_at_the_instant_that_it_gives_whatever_its_rate() {
        for rate in [1e-3, 7.3, 20_000.0, 3e8, 1.25e9, 1e15] {
            for missing in [0.002, 0.01, 1.0, 2_896.0, 1e6] {
                let mut bucket = Bucket { rate, back: BACK, level: -missing, at: Nanos(5), served: 0 };
                assert!(!bucket.is_open(Nanos(5)));
                let opens = bucket.opens();
                assert!(bucket.is_open(opens), "{missing} at {rate}: {}", bucket.level);
            }
        }
    }
}
