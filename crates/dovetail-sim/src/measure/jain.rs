//! Jain's index of dominant service.
//!
//! Time is divided into windows of equal width. For each window, over the `n` flows that were backlogged throughout, with
//! `x_i` the largest total processing time on any one resource of the packets of flow `i` that started in the window, divided
//! by the flow's weight:
//!
//! ```text
//! J = (sum x_i)^2 / (n · sum x_i^2)        1 if all are equal, 1/n if one has everything
//! ```
//!
//! (Jain, Chiu and Hawe, 1984.) The figure is the mean over the windows with `n >= 2` in which any of these flows was served.
//! Flows that are not backlogged get what they demand, so they say nothing about fairness.

use core::hint::select_unpredictable;

use dovetail_sched::{FlowId, Nanos};

use super::{
    gap::ActiveTimeGap,
    rows::{Pair, Rows, Times, add_pair},
};

/// Jain's index over windows.
#[derive(Debug)]
pub struct Jain {
    window: Nanos,
    current: u64,
    ends: Nanos,
    flows: Vec<Flow>,
    // The flows' service if a pair is too short.
    long: Rows,
    sum: f64,
    windows: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    backlogged_since: Nanos,
    window: u64,
    // Processing time of the packets started in that window.
    service: Pair,
}

impl Jain {
    /// Windows of width `window`, at least a nanosecond.
    #[must_use]
    pub fn new(resources: usize, window: Nanos) -> Self {
        let window = window.max(Nanos(1));
        Self { window, current: 0, ends: window, flows: Vec::new(), long: Rows::new(resources), sum: 0.0, windows: 0 }
    }

    /// An event is about to happen at `now`: closes windows that end by then, with the flows backlogged until now.
    #[inline]
    pub fn advance(&mut self, now: Nanos, backlogged: &ActiveTimeGap) {
        // Compare rather than divide: this runs several times per packet.
        if now >= self.ends {
            self.close(backlogged);
            self.current = now.0 / self.window.0;
            self.ends = Nanos(self.current * self.window.0) + self.window;
        }
    }

    /// The flow became backlogged at `now`.
    #[inline]
    pub fn joined(&mut self, flow: FlowId, now: Nanos) {
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, Flow::default());
            self.long.hold(flow);
        }
        self.flows[flow.index()].backlogged_since = now;
    }

    /// A packet of the flow starts in the current window.
    #[inline]
    pub fn served(&mut self, flow: FlowId, times: &[Nanos]) {
        let state = &mut self.flows[flow.index()];
        let is_first = state.window != self.current;
        state.window = self.current;
        match Times::of(times) {
            Times::Short(times) if is_first => state.service = times,
            Times::Short(times) => add_pair(&mut state.service, times),
            Times::Long(times) if is_first => self.long.of_mut(flow).copy_from_slice(times),
            Times::Long(times) => self.long.add(flow, times),
        }
    }

    /// The mean; `None` if no two flows ever stayed backlogged for a window.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.sum / self.windows as f64)
    }

    #[cold]
    fn close(&mut self, backlogged: &ActiveTimeGap) {
        let start = Nanos(self.current * self.window.0);
        let (mut flows, mut sum, mut squares) = (0u64, 0.0, 0.0);
        for (flow, weight) in backlogged.backlogged() {
            let state = &self.flows[flow.index()];
            // Add zero rather than branch: which flows count is unpredictable.
            let counts = state.backlogged_since <= start;
            let served = counts && state.window == self.current;
            let dominant = self.dominant(flow, state.service).as_f64() / weight;
            let dominant = select_unpredictable(served, dominant, 0.0);
            flows += u64::from(counts);
            sum += dominant;
            squares += dominant * dominant;
        }
        if flows >= 2 && squares > 0.0 {
            self.sum += sum * sum / (flows as f64 * squares);
            self.windows += 1;
        }
    }

    #[inline]
    fn dominant(&self, flow: FlowId, [first, second]: Pair) -> Nanos {
        if self.long.are_used() {
            return self.long.of(flow).iter().copied().fold(Nanos::ZERO, Nanos::max);
        }
        first.max(second)
    }
}
