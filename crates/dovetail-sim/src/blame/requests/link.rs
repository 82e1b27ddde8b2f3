//! The watched link over time: how long it carried packets of each column.

use dovetail_sched::Nanos;

use crate::blame::columns::HELD;

/// The watched link, over time.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// Nanoseconds per column; idle time is in [`HELD`].
    pub(super) spent: Vec<u64>,
    /// Nanoseconds per flow.
    pub(super) of_flow: Vec<u64>,
    pub(super) as_of: Nanos,
    // Column and flow of the packet being sent.
    on: Option<(usize, usize)>,
}

impl Link {
    pub(super) fn new(columns: usize, flows: usize) -> Self {
        Self { spent: vec![0; columns], of_flow: vec![0; flows], ..Self::default() }
    }

    /// Accounts for the time until `now`.
    pub(super) fn settle(&mut self, now: Nanos) {
        let spent = (now - self.as_of).0;
        self.as_of = now;
        match self.on {
            Some((column, flow)) => {
                self.spent[column] += spent;
                self.of_flow[flow] += spent;
            }
            None => self.spent[HELD] += spent,
        }
    }

    /// From `now` on it sends a packet of this column and flow, or none.
    pub(super) fn turns_to(&mut self, on: Option<(usize, usize)>, now: Nanos) {
        self.settle(now);
        self.on = on;
    }
}
