//! Processing times, one a resource.
//!
//! Most pipelines have one resource or two. Their times are a [`Pair`], which lies with whatever else is known of a flow; where a
//! pipeline is longer, flows have [`Rows`] beside that.

use dovetail_sched::{FlowId, Nanos};

/// Times on up to two resources, 0 where there is no second.
pub(super) type Pair = [Nanos; 2];

/// What a packet takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times<'a> {
    /// On up to two resources.
    Short(Pair),
    /// On more.
    Long(&'a [Nanos]),
}

impl<'a> Times<'a> {
    /// The same of a slice.
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

/// A row of times for each flow, all zero at first; none where pairs are enough.
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

    /// The flow's row, to change.
    pub(super) fn of_mut(&mut self, flow: FlowId) -> &mut [Nanos] {
        &mut self.times[flow.index() * self.resources..][..self.resources]
    }

    /// Adds times to the flow's.
    #[cold]
    pub(super) fn add(&mut self, flow: FlowId, times: &[Nanos]) {
        self.of_mut(flow).iter_mut().zip(times).for_each(|(total, &time)| *total += time);
    }
}
