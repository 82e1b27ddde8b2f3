//! The time.

use dovetail_sched::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, by which the kernel's programs of the switch go as well. Some 20 ns a look.
pub(super) fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
