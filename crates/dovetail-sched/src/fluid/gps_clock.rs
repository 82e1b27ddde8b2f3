//! The virtual time of generalised processor sharing.
//!
//! Parekh and Gallager, *A generalized processor sharing approach to flow control in integrated services networks: the
//! single-node case*, IEEE/ACM Trans. Networking 1(3), 1993, section III. GPS is the ideal that packet schedulers
//! approximate: a fluid in which every backlogged flow `i` is served at once, at rate
//! `w_i / sum of w_j over backlogged j`. Its *virtual time* is the service that a backlogged flow of weight 1 has
//! received,
//!
//! ```text
//! dV/dt = 1 / sum of w_j over the flows backlogged in the fluid
//! ```
//!
//! and packet `k` of flow `i`, of `L` work, arriving at time `a`, is served by the fluid from `S = max(V(a), F_before)`
//! to `F = S + L/w_i` in virtual time, whatever arrives later: departures change how fast `V` runs, not where `F` lies.
//!
//! `V` is needed only at arrivals. Between two arrivals flows may run dry and speed it up, one after the other; each such
//! departure is processed in turn (Demers, Keshav and Shenker's *iterated deletion*). Flows are kept in a heap by departure. A
//! flow's departure only ever moves later as its packets arrive, so its key is left unchanged as a lower bound and corrected
//! when `V` reaches it. That is O(log n) per packet amortised, no heap work at all for an arrival to a busy flow, and O(n log
//! n) at worst in one step, when n flows run dry at once.

use super::weight_sum::WeightSum;
use crate::{
    FlowHeap, FlowId, Nanos,
    flow::{FlowMap, per_weight},
    heap::AHEAD,
};

/// A fluid served at rate 1, and its virtual time.
#[derive(Debug, Default)]
pub struct GpsClock {
    virtual_time: f64,
    clock: Nanos,
    flows: FlowMap<Fluid>,
    // Exactly the flows with work left in the fluid, by a lower bound on their finish tag.
    departures: FlowHeap,
    busy: WeightSum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Fluid {
    // The finish tag of its last work.
    finish: f64,
    weight: f64,
}

impl GpsClock {
    /// Creates an idle fluid at virtual time 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The virtual time, in nanoseconds of service to a flow of weight 1.
    #[inline]
    #[must_use]
    pub fn virtual_time(&self) -> f64 {
        self.virtual_time
    }

    /// Whether the fluid has no work left.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.departures.is_empty()
    }

    /// Serves until `now`. If the clock runs backwards, no time passes.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        let mut left = (now - self.clock).as_f64();
        self.clock = self.clock.max(now);
        while let Some((flow, departure)) = self.departures.peek() {
            let until = (departure - self.virtual_time) * self.busy.total();
            if until > left {
                self.virtual_time += left / self.busy.total();
                return;
            }
            let Fluid { finish, .. } = *self.flows.at(flow);
            if finish > departure {
                self.departures.set(flow, finish);
                if let Some(soon) = self.departures.upcoming(AHEAD) {
                    self.prefetch(soon);
                }
                continue;
            }
            // Rounding may have carried the virtual time a last bit past the departure.
            left -= until.max(0.0);
            self.virtual_time = self.virtual_time.max(departure);
            self.leave(flow);
        }
    }

    /// Prefetches the flow's state.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
        self.departures.prefetch(flow);
    }

    /// Adds `work` nanoseconds of work to the flow, which takes on `weight` if it was not busy; returns the work's start and
    /// finish tags.
    #[inline]
    pub fn arrive(&mut self, flow: FlowId, weight: f64, work: f64) -> (f64, f64) {
        let fluid = self.flows.at(flow);
        if self.departures.contains(flow) {
            let start = fluid.finish;
            fluid.finish = start + per_weight(work, fluid.weight);
            return (start, fluid.finish);
        }
        let start = self.virtual_time;
        *fluid = Fluid { finish: start + per_weight(work, weight), weight };
        let finish = fluid.finish;
        self.departures.set(flow, finish);
        self.busy.add(weight);
        (start, finish)
    }

    /// Removes `virtual_work`, an amount per unit of weight, from the end of the flow's work.
    pub fn withdraw(&mut self, flow: FlowId, virtual_work: f64) {
        let finish = self.flows.at(flow).finish - virtual_work;
        self.retreat(flow, finish);
    }

    /// Removes the flow's work beyond the tag `finish`.
    pub fn retreat(&mut self, flow: FlowId, finish: f64) {
        let Some(departure) = self.departures.key(flow) else { return };
        let fluid = self.flows.at(flow);
        fluid.finish = fluid.finish.min(finish);
        if finish <= self.virtual_time {
            self.leave(flow);
        } else if finish < departure {
            self.departures.set(flow, finish);
        }
    }

    /// Changes the flow's weight; its remaining work is served at the new one from now on.
    pub fn reweigh(&mut self, flow: FlowId, weight: f64) {
        if !self.departures.contains(flow) {
            return;
        }
        let fluid = self.flows.at(flow);
        let left = (fluid.finish - self.virtual_time) * fluid.weight;
        let old = core::mem::replace(fluid, Fluid { finish: self.virtual_time + left / weight, weight });
        self.departures.set(flow, fluid.finish);
        self.busy.remove(old.weight);
        self.busy.add(weight);
    }

    /// Removes all of the flow's work.
    pub fn forget(&mut self, flow: FlowId) {
        if self.departures.contains(flow) {
            self.leave(flow);
        }
        self.flows.reset(flow);
    }

    /// Resets the virtual time of an idle fluid to 0, where its resolution is finest.
    #[inline]
    pub fn restart(&mut self) {
        debug_assert!(self.is_idle());
        self.virtual_time = 0.0;
    }

    fn leave(&mut self, flow: FlowId) {
        self.departures.remove(flow);
        self.busy.remove(self.flows.at(flow).weight);
    }
}
