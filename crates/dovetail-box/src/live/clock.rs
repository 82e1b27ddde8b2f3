//! The clock.

use dovetail_sched::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Reads CLOCK_MONOTONIC, which the switch's kernel programs use as well. Some 20 ns per call.
pub(super) fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
