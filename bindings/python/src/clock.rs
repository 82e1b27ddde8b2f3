//! The time of a scheduler's calls, which must not go backwards.

use dovetail_sched::Nanos;
use pyo3::PyResult;

use crate::run::raised;

/// The time of the last call.
#[derive(Debug, Default)]
pub(crate) struct Clock(Nanos);

impl Clock {
    /// Checks and records the time of a call.
    #[inline]
    pub(crate) fn time(&mut self, now_ns: u64) -> PyResult<Nanos> {
        let now = Nanos(now_ns);
        if now < self.0 {
            return Err(raised(format!("time goes backwards, from {} to {now}", self.0)));
        }
        self.0 = now;
        Ok(now)
    }

    /// The same, for a call that may fail: then it changes nothing, and its time is not recorded.
    pub(crate) fn time_of<T, E: ToString>(
        &mut self,
        now_ns: u64,
        call: impl FnOnce(Nanos) -> Result<T, E>,
    ) -> PyResult<T> {
        let before = self.0;
        let now = self.time(now_ns)?;
        call(now).map_err(|wrong| {
            self.0 = before;
            raised(wrong)
        })
    }
}
