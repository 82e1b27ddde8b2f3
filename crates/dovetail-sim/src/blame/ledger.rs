//! Sums over transfers or requests that ended on a network's watched link.

use dovetail_sched::{FlowId, Nanos, Weight};

use super::{
    columns::Columns,
    explanation::{Explanation, FlowColumn},
    parts::{Parts, Selection},
    row::Row,
    slowest::{SlowPacket, Slowest},
};
use crate::Profile;

/// Sums per column and per flow.
#[derive(Debug)]
pub(super) struct Ledger {
    columns: Columns,
    flows: Vec<Flow>,
    rows: Vec<Row>,
    selection: Selection,
    selected: Row,
    slowest: Slowest<SlowPacket>,
    // Reused.
    causes: Vec<Nanos>,
}

#[derive(Debug)]
struct Flow {
    label: String,
    class: String,
}

/// A transfer or request that ended.
pub(super) struct Done<'a> {
    pub(super) number: usize,
    pub(super) flow: usize,
    pub(super) begun: Nanos,
    pub(super) ended: Nanos,
    pub(super) own_nanos: u64,
    pub(super) same_flow_nanos: u64,
    /// Nanoseconds per column, including its own flow's.
    pub(super) owed: &'a [u64],
}

impl Ledger {
    /// The first `flow_columns` flows have a column of their own; the `slowest` of the selection are kept.
    pub(super) fn new(flow_columns: usize, selection: Selection, slowest: usize) -> Self {
        Self {
            columns: Columns::new(flow_columns),
            flows: Vec::new(),
            rows: Vec::new(),
            selection,
            selected: Row::new(1),
            slowest: Slowest::new(slowest),
            causes: Vec::new(),
        }
    }

    /// Adds a flow; returns its number.
    pub(super) fn appears(&mut self, label: &str, class: &str) -> usize {
        let flow = self.flows.len();
        let profile = Profile { weight: Weight::default(), label, class: Some(class) };
        self.columns.assign(FlowId(flow as u32), &profile);
        self.flows.push(Flow { label: label.to_owned(), class: class.to_owned() });
        self.rows.resize_with(self.columns.len(), || Row::new(1));
        flow
    }

    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The column of a flow.
    pub(super) fn column(&self, flow: usize) -> usize {
        self.columns.of(FlowId(flow as u32))
    }

    /// Records one that ended.
    pub(super) fn ended(&mut self, done: &Done<'_>) {
        let column = self.column(done.flow);
        let same_flow = Nanos(done.same_flow_nanos);
        self.causes.clear();
        self.causes.extend(done.owed.iter().map(|&nanos| Nanos(nanos)));
        self.causes[column] = self.causes[column] - same_flow;
        let parts = Parts {
            packet: done.number as u64,
            arrival: done.begun,
            latency: done.ended - done.begun,
            own: &[Nanos(done.own_nanos)],
            same_flow,
            causes: &self.causes,
        };
        self.rows[column].add(&parts);
        let Flow { label, class } = &self.flows[done.flow];
        if self.selection.covers(parts.packet, label, Some(class)) {
            self.selected.add(&parts);
            self.slowest.offer(&parts, label);
        }
    }

    /// Records one that was cancelled.
    pub(super) fn cancelled(&mut self, number: usize, flow: usize) {
        self.count(number, flow, |row| row.dropped += 1);
    }

    /// Records one that had not ended when the run did.
    pub(super) fn left(&mut self, number: usize, flow: usize) {
        self.count(number, flow, |row| row.left += 1);
    }

    fn count(&mut self, number: usize, flow: usize, count: impl Fn(&mut Row)) {
        let column = self.column(flow);
        count(&mut self.rows[column]);
        let Flow { label, class } = &self.flows[flow];
        if self.selection.covers(number as u64, label, Some(class)) {
            count(&mut self.selected);
        }
    }

    pub(super) fn finish(self) -> Explanation {
        let flow = |(at, known): (usize, Flow)| {
            let flow = FlowId(at as u32);
            FlowColumn { flow, label: known.label, column: self.columns.of(flow) }
        };
        Explanation {
            flows: self.flows.into_iter().enumerate().map(flow).collect(),
            rows: self.rows,
            selected: self.selected,
            slowest: self.slowest.finish(),
            columns: self.columns.finish(),
        }
    }
}
