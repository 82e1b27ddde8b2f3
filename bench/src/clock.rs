//! What the processor spent on us.
//!
//! Everything here runs on one thread and waits for nothing, so on a quiet machine its processor time is the time that
//! passes. On a busy one it leaves out what others took from the core in between.

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
