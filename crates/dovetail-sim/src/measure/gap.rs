//! The largest gap in active time.
//!
//! A flow's *active time* is how long its packets would have occupied the pipeline, no-wait, had the flow been alone (ATFQ,
//! definition 1 and eqs. 2-5). A policy that shares by active time keeps the difference between any two backlogged flows
//! small. A flow has no claim to what was served before it arrived, so a flow that becomes backlogged starts at the mean of
//! those that are:
//!
//! ```text
//! position_i = mean position of the other backlogged flows (0 if none)      when i becomes backlogged
//! position_i += active / w_i                                                when a packet of i starts
//! ```
//!
//! The gap at a start is the served flow's position minus the least among the other backlogged flows. The gap grows at no
//! other time, so its maximum over starts is its maximum. If all flows are backlogged from the start, it is the difference in
//! active time over weight, as in the paper's Fig. 6. (Starting at the least position instead would let a chain of
//! overlapping flows pass on a position from long ago.)

use dovetail_sched::{FlowHeap, FlowId, Nanos, flow::per_weight, packet::nowait::active_increment};

use super::rows::{Rows, Times};

/// Positions of the backlogged flows, and the largest gap so far.
#[derive(Debug)]
pub struct ActiveTimeGap {
    positions: FlowHeap,
    sum: f64,
    flows: Vec<Flow>,
    // Demands of each flow's last packet if the pipeline has more than two resources.
    last: Rows,
    largest: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Flow {
    weight: f64,
    active: Nanos,
    // Its key among the positions, 0 if it is not backlogged: read for every packet, so it is not looked up there.
    position: f64,
    // Time of its last packet on the second of two resources; 0 if there is no last packet, since then none delays it.
    last: Nanos,
}

const NEW_FLOW: Flow = Flow { weight: 1.0, active: Nanos::ZERO, position: 0.0, last: Nanos::ZERO };

impl ActiveTimeGap {
    /// Creates it without flows.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        Self { positions: FlowHeap::new(), sum: 0.0, flows: Vec::new(), last: Rows::new(resources), largest: None }
    }

    /// Registers a flow.
    pub fn appeared(&mut self, flow: FlowId, weight: f64) {
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, NEW_FLOW);
            self.last.hold(flow);
        }
        self.flows[flow.index()].weight = weight;
    }

    /// The flow became backlogged.
    #[inline]
    pub fn joined(&mut self, flow: FlowId) {
        if self.positions.is_empty() {
            // Rounding errors do not outlive a busy period.
            self.sum = 0.0;
        }
        let mean = self.sum.max(0.0) / self.positions.len().max(1) as f64;
        let state = &mut self.flows[flow.index()];
        state.last = Nanos::ZERO;
        state.position = mean;
        if self.last.are_used() {
            self.last.of_mut(flow).fill(Nanos::ZERO);
        }
        self.positions.set(flow, mean);
        self.sum += mean;
    }

    /// The flow's last waiting packet was removed without service.
    pub fn left(&mut self, flow: FlowId) {
        self.sum -= core::mem::take(&mut self.flows[flow.index()].position);
        self.positions.remove(flow);
    }

    /// A packet of a backlogged flow starts; `leaves` if it is the flow's last waiting one. Returns the gap in nanoseconds.
    #[inline]
    pub fn served(&mut self, flow: FlowId, times: &[Nanos], leaves: bool) -> f64 {
        let state = &mut self.flows[flow.index()];
        let increment = match Times::of(times) {
            Times::Short(times) => {
                let before = core::mem::replace(&mut state.last, times[1]);
                active_increment(Some(&[Nanos::ZERO, before]), &times)
            }
            Times::Long(times) => {
                let before = self.last.of_mut(flow);
                let increment = active_increment(Some(before), times);
                before.copy_from_slice(times);
                increment
            }
        };
        state.active += increment;
        let before = state.position;
        let position = before + per_weight(increment.as_f64(), state.weight);
        // The least of the others is on top once this flow is not.
        if leaves {
            self.left(flow);
        } else {
            state.position = position;
            self.positions.set(flow, position);
            self.sum += position - before;
        }
        let least = self.positions.peek().filter(|&(least, _)| least != flow);
        let gap = least.map_or(0.0, |(_, least)| position - least);
        if self.positions.len() + usize::from(leaves) > 1 {
            let largest = self.largest.unwrap_or(0.0);
            self.largest = Some(if gap > largest { gap } else { largest });
        }
        if gap > 0.0 { gap } else { 0.0 }
    }

    /// The backlogged flows.
    pub fn backlogged(&self) -> impl Iterator<Item = (FlowId, f64)> + '_ {
        self.positions.iter().map(|(flow, _)| (flow, self.flows[flow.index()].weight))
    }

    /// The largest gap so far; `None` if no two flows were ever backlogged at once.
    #[must_use]
    pub fn largest(&self) -> Option<Nanos> {
        self.largest.map(Nanos::from_f64)
    }

    /// The active time that each flow received, by id.
    pub fn into_active(self) -> impl Iterator<Item = Nanos> {
        self.flows.into_iter().map(|flow| flow.active)
    }
}
