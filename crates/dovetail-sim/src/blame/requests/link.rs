//! The watched link, over time: for how long it carried whose packets.

use dovetail_sched::Nanos;

use crate::blame::columns::HELD;

/// The watched link, over time.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// Nanoseconds by column; those without a packet are in [`HELD`].
    pub(super) spent: Vec<u64>,
    /// Nanoseconds by flow.
    pub(super) of_flow: Vec<u64>,
    pub(super) as_of: Nanos,
    // The column and the flow of the packet on it.
    on: Option<(usize, usize)>,
}

impl Link {
    pub(super) fn new(columns: usize, flows: usize) -> Self {
        Self { spent: vec![0; columns], of_flow: vec![0; flows], ..Self::default() }
    }

    /// Counts the time until `now`.
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

    /// From `now` on it carries a packet of this column and flow, or none.
    pub(super) fn turns_to(&mut self, on: Option<(usize, usize)>, now: Nanos) {
        self.settle(now);
        self.on = on;
    }
}
