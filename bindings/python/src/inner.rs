//! The state that a scheduler's calls need, behind one lock.

use dovetail_sched::{DropReason, Peekable, PolicySpec, Scheduler};
use pyo3::PyResult;

use crate::{clock::Clock, handles::Handles};

/// A scheduler, and the objects that its packets carry.
pub(crate) struct Inner {
    pub(crate) scheduler: Peekable<Box<dyn Scheduler>>,
    pub(crate) handles: Handles,
    /// The policy's string.
    pub(crate) policy: String,
    /// Why the last packet that was offered was not queued.
    pub(crate) refused: Option<DropReason>,
    pub(crate) clock: Clock,
}

impl Inner {
    pub(crate) fn new(scheduler: Peekable<Box<dyn Scheduler>>, policy: String) -> Self {
        Self { scheduler, handles: Handles::default(), policy, refused: None, clock: Clock::default() }
    }

    /// Changes knobs.
    pub(crate) fn retune(&mut self, spec: &PolicySpec, now_ns: u64) -> PyResult<()> {
        self.clock.time_of(now_ns, |now| self.scheduler.retune(&spec.knobs(), now))?;
        self.policy = spec.to_string();
        Ok(())
    }
}
