//! The state that a scheduler's calls need, behind one lock.

use dovetail_sched::{DropReason, Nanos, Peekable, PolicySpec, Scheduler};
use pyo3::PyResult;

use crate::{handles::Handles, run::raised};

/// A scheduler, and the objects that its packets carry.
pub(crate) struct Inner {
    pub(crate) scheduler: Peekable<Box<dyn Scheduler>>,
    pub(crate) handles: Handles,
    /// The policy's string.
    pub(crate) policy: String,
    /// Why the last packet that was offered was not queued.
    pub(crate) refused: Option<DropReason>,
    last: Nanos,
}

impl Inner {
    pub(crate) fn new(scheduler: Peekable<Box<dyn Scheduler>>, policy: String) -> Self {
        Self { scheduler, handles: Handles::default(), policy, refused: None, last: Nanos::ZERO }
    }

    /// Checks the time of a call, which must not go backwards.
    #[inline]
    pub(crate) fn time(&mut self, now_ns: u64) -> PyResult<Nanos> {
        let now = Nanos(now_ns);
        if now < self.last {
            return Err(raised(format!("time goes backwards, from {} to {now}", self.last)));
        }
        self.last = now;
        Ok(now)
    }

    /// Changes knobs. The time is recorded only if that works: a call that fails changes nothing.
    pub(crate) fn retune(&mut self, spec: &PolicySpec, now_ns: u64) -> PyResult<()> {
        let before = self.last;
        let now = self.time(now_ns)?;
        if let Err(wrong) = self.scheduler.retune(&spec.knobs(), now) {
            self.last = before;
            return Err(raised(wrong));
        }
        self.policy = spec.to_string();
        Ok(())
    }
}
