//! The arrival that is next.

use dovetail_sched::{Demand, FlowId, Nanos};

use super::outcome::SimulateError;
use crate::workload::{Arrival, Workload};

/// The next arrival, in one place for the whole run: it is large to move.
pub(super) struct Next {
    arrival: Arrival,
    /// When it comes; the end of time where there is none.
    pub(super) at: Nanos,
}

impl Next {
    /// A workload's first.
    pub(super) fn first(workload: &mut dyn Workload) -> Result<Self, SimulateError> {
        let none = Arrival::new(Nanos::MAX, FlowId(0), 0, Demand::of_one(Nanos::ZERO));
        let mut next = Self { arrival: none, at: Nanos::MAX };
        next.advance(workload, 0)?;
        Ok(next)
    }

    /// Goes on to the one after it; `arrived` is how many came before. Refuses one beyond what the clock can tell.
    #[inline]
    pub(super) fn advance(&mut self, workload: &mut dyn Workload, arrived: u64) -> Result<(), SimulateError> {
        let is_one = workload.next_into(&mut self.arrival)?;
        self.at = if is_one { self.arrival.at } else { Nanos::MAX };
        if is_one && self.at == Nanos::MAX {
            return Err(SimulateError::ClockEnds { packet: arrived });
        }
        Ok(())
    }

    /// The arrival, if it comes by `now`, which is not the end of time.
    #[inline]
    pub(super) fn by(&self, now: Nanos) -> Option<&Arrival> {
        (self.at <= now).then_some(&self.arrival)
    }
}
