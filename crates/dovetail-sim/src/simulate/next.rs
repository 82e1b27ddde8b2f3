//! The next arrival.

use dovetail_sched::{Demand, FlowId, Nanos};

use super::outcome::SimulateError;
use crate::workload::{Arrival, Workload};

/// The next arrival, kept in one place for the whole run: it is large to move.
pub(super) struct Next {
    arrival: Arrival,
    /// Its time; the maximum if there is none.
    pub(super) at: Nanos,
}

impl Next {
    /// The first arrival of a workload.
    pub(super) fn first(workload: &mut dyn Workload) -> Result<Self, SimulateError> {
        let none = Arrival::new(Nanos::MAX, FlowId(0), 0, Demand::of_one(Nanos::ZERO));
        let mut next = Self { arrival: none, at: Nanos::MAX };
        next.advance(workload, 0)?;
        Ok(next)
    }

    /// Advances to the next one; `arrived` is how many came before. Rejects one beyond the range of the clock.
    #[inline]
    pub(super) fn advance(&mut self, workload: &mut dyn Workload, arrived: u64) -> Result<(), SimulateError> {
        let is_one = workload.next_into(&mut self.arrival)?;
        self.at = if is_one { self.arrival.at } else { Nanos::MAX };
        if is_one && self.at == Nanos::MAX {
            return Err(SimulateError::ClockEnds { packet: arrived });
        }
        Ok(())
    }

    /// The arrival, if it is due by `now`, which is not the maximum of time.
    #[inline]
    pub(super) fn by(&self, now: Nanos) -> Option<&Arrival> {
        (self.at <= now).then_some(&self.arrival)
    }
}
