//! Processing times, one per resource.
//!
//! Most pipelines have one or two resources. Their times are a [`Pair`], stored with the other state of a flow; for longer
//! pipelines, flows have [`Rows`] in addition.

use dovetail_sched::{FlowId, Nanos};

/// Times on up to two resources, 0 if there is no second.
pub(super) type Pair = [Nanos; 2];

/// A packet's processing times.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times<'a> {
    /// On up to two resources.
    Short(Pair),
    /// On more than two.
    Long(&'a [Nanos]),
}

impl<'a> Times<'a> {
    /// Converts a slice.
    #[inline(always)]
    pub(super) fn of(times: &'a [Nanos]) -> Self {
        match *times {
            [first, second] => Self::Short([first, second]),
            [only] => Self::Short([only, Nanos::ZERO]),
            _ => Self::Long(times),
        }
    }
}

/// Adds a pair to its total.
#[inline(always)]
pub(super) fn add_pair(total: &mut Pair, times: Pair) {
    total[0] += times[0];
    total[1] += times[1];
}

/// A row of times per flow, initially zero; empty if pairs suffice.
#[derive(Debug)]
pub(super) struct Rows {
    resources: usize,
    times: Vec<Nanos>,
}

impl Rows {
    pub(super) const fn new(resources: usize) -> Self {
        Self { resources, times: Vec::new() }
    }

    /// Makes room for the flow.
    pub(super) fn hold(&mut self, flow: FlowId) {
        let needed = (flow.index() + 1) * self.resources;
        if self.are_used() && needed > self.times.len() {
            self.times.resize(needed, Nanos::ZERO);
        }
    }

    /// Whether pairs are too short.
    #[inline]
    pub(super) fn are_used(&self) -> bool {
        self.resources > 2
    }

    /// The flow's row.
    pub(super) fn of(&self, flow: FlowId) -> &[Nanos] {
        &self.times[flow.index() * self.resources..][..self.resources]
    }

    /// The flow's row, mutable.
    pub(super) fn of_mut(&mut self, flow: FlowId) -> &mut [Nanos] {
        &mut self.times[flow.index() * self.resources..][..self.resources]
    }

    /// Adds times to the flow's row.
    #[cold]
    pub(super) fn add(&mut self, flow: FlowId, times: &[Nanos]) {
        self.of_mut(flow).iter_mut().zip(times).for_each(|(total, &time)| *total += time);
    }
}
