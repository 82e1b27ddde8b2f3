//! Processing times of every flow, one a resource.

use dovetail_sched::{FlowId, Nanos};

/// A row of times for each flow, all zero at first.
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
        if needed > self.times.len() {
            self.times.resize(needed, Nanos::ZERO);
        }
    }

    /// The flow's row.
    #[inline]
    pub(super) fn of(&self, flow: FlowId) -> &[Nanos] {
        &self.times[flow.index() * self.resources..][..self.resources]
    }

    /// The flow's row, to change.
    #[inline]
    pub(super) fn of_mut(&mut self, flow: FlowId) -> &mut [Nanos] {
        &mut self.times[flow.index() * self.resources..][..self.resources]
    }
}

/// Adds each of `times` to its total.
#[inline]
pub(super) fn add(totals: &mut [Nanos], times: &[Nanos]) {
    // Most pipelines have one resource or two, and a loop over two costs more than what is in it.
    match (&mut *totals, times) {
        ([total], [time]) => *total += *time,
        ([first, second], [a, b]) => {
            *first += *a;
            *second += *b;
        }
        _ => totals.iter_mut().zip(times).for_each(|(total, &time)| *total += time),
    }
}

/// Puts `times` in the place of a row.
#[inline]
pub(super) fn set(row: &mut [Nanos], times: &[Nanos]) {
    match (&mut *row, times) {
        ([only], [time]) => *only = *time,
        (row @ [_, _], [a, b]) => row.copy_from_slice(&[*a, *b]),
        _ => row.copy_from_slice(times),
    }
}

/// The largest of a row's times.
#[inline]
pub(super) fn greatest(row: &[Nanos]) -> Nanos {
    match *row {
        [only] => only,
        [first, second] => first.max(second),
        _ => row.iter().copied().fold(Nanos::ZERO, Nanos::max),
    }
}
