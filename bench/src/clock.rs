//! Processor time.
//!
//! Everything here runs on one thread and never blocks, so on a quiet machine its processor time is the elapsed time. On a
//! busy one it excludes what other processes took from the core meanwhile.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Measures this thread's processor time.
pub struct Stopwatch(Duration);

impl Stopwatch {
    pub fn start() -> Self {
        Self(now())
    }

    pub fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
