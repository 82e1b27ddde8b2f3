//! Virtual time in the types of `quinn-proto`.
//!
//! It takes times as [`Instant`]s, and the standard library creates the first of them only by reading the machine's clock.
//! That clock is read once, for an epoch; all other instants are virtual times after it, and only differences ever matter.
//! This is the only file of the simulator that may use a clock.

use std::time::{Duration, Instant, SystemTime};

use dovetail_sched::Nanos;
use quinn_proto::TimeSource;

/// A virtual time in `quinn-proto`'s type.
pub(super) type Time = Instant;

/// Converts virtual time to instants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { epoch: Instant::now() }
    }

    pub(super) fn at(self, now: Nanos) -> Instant {
        self.epoch + Duration::from_nanos(now.0)
    }

    /// The virtual time of an instant; 0 if that is before the epoch.
    pub(super) fn time_of(self, instant: Instant) -> Nanos {
        let after = instant.saturating_duration_since(self.epoch);
        Nanos(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A calendar that stands still: tokens contain dates.
pub(super) struct Stopped;

impl TimeSource for Stopped {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_to_the_nanosecond() {
        let clock = Clock::new();
        for time in [0, 1, 999_999_999, 1 << 53].map(Nanos) {
            assert_eq!(clock.time_of(clock.at(time)), time);
        }
    }
}
