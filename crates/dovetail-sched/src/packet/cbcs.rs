//! `cbcs`: composite bandwidth and CPU scheduling, CBCS-WFQ.
//!
//! Sabrina and Jha, *Design and performance analysis of the CBCS^WFQ packet scheduling algorithm*, UNSW-CSE-TR-0306, 2003. One
//! timestamp orders packets by their demand on all resources together. Flow `i` has a weight `phi_ij` on every resource `j`;
//! packet `k`, of estimated time `P_j` on resource `j`, is stamped when it arrives, at time `a`, and the smallest finish tag
//! goes first (eqs. 9 to 12, for two resources in the paper):
//!
//! ```text
//! sum_w = sum of phi_ij over resources j and backlogged flows i       V(t + tau) = V(t) + tau / sum_w
//! S_k   = max(F_{k-1}, V(a))                                           F_k = S_k + sum over j of P_j / phi_ij
//! ```
//!
//! On the last resource `P` is the time that a packet of the length on arrival would take, times the expansion factor: eq. 12's
//! `8·L·gamma / (BW·10^6)`. Costs are estimated, by exponential smoothing with a gain of 1/2 as in the paper, unless the policy
//! string has `estimator=known` (see [`cost`](crate::cost)).
//!
//! The backlog rules are those of the pseudo-code: `V` moves at arrivals only, at the rate that holds then; a flow is
//! backlogged while it has packets queued, not while one is in service; an arrival that finds nothing queued resets `V` and all
//! `F` to 0. The pseudo-code's "equation (7)" and "(8)" are 11 and 12.
//!
//! What the paper leaves open: packets behind an evicted one move up by its charge. A new weight applies to the flow's queued
//! packets too: they are stamped again, from a start that preserves the work that the flow is ahead of the largest stamp served.
//! O(packets of the flow), as under [`wfq`](super::wfq).
//!
//! # What to expect
//!
//! `V` is not the clock of a fluid. It counts the weights on all resources: while all flows stay backlogged, `F` runs ahead of
//! it by up to `1 - 1/m` of the time that has passed, the order is that of start-time tags, and a flow that returns goes before
//! the others until its own tags have caught up. And it counts only backlogged flows: while few are backlogged it runs away,
//! and a flow that arrives then is stamped behind them. Packets cross later resources in the order in which they leave the
//! first. For the effect on the delay guarantee of eq. 14, see `tests/all/cbcs_delay.rs`.
//!
//! With `clock=self`, `V` is instead the stamp of the packet that was served last, as in [`scfq`](super::scfq): it moves as
//! service does, keeps all flows' tags, and shares charges fairly to within a packet of each flow, however they arise. With the
//! paper's clock a sender that pays for its packets late is forgiven the amount by which `V` has advanced until then
//! (`tests/all/hostile_costs.rs`).
//!
//! O(log n + m) per packet.
//!
//! # Worked example
//!
//! Flow 0's packets take 30 µs of the first resource and 10 µs of the second, flow 1's the other way round. Flow 0 has
//! weights 3 and 1, flow 1 has 1 and 3, so every packet adds 20 µs to its flow's tag, and they alternate. With weights of 3
//! and 1 for both, flow 1's add 10/3 + 30 µs, and it waits:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let order = |weights: [[f64; 2]; 2]| -> Result<Vec<u32>, Box<dyn core::error::Error>> {
//!     let mut cbcs = "cbcs:estimator=known".parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
//!     for handle in 0..3 {
//!         for (flow, micros) in [(0, [30, 10]), (1, [10, 30])] {
//!             let own = weights[flow as usize].map(|weight| Weight::new(weight).expect("in range"));
//!             cbcs.set_resource_weights(FlowId(flow), &own);
//!             let demand = Demand::new(&micros.map(Nanos::from_micros))?;
//!             let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!             cbcs.enqueue(&packet, Nanos::ZERO);
//!         }
//!     }
//!     Ok(core::iter::from_fn(|| cbcs.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect())
//! };
//! assert_eq!(order([[3.0, 1.0], [1.0, 3.0]])?, [0, 1, 0, 1, 0, 1]);
//! assert_eq!(order([[3.0, 1.0], [3.0, 1.0]])?, [0, 1, 0, 0, 1, 1]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, vec::Vec};

use super::tags::{Lane, larger, prefetch_next, rescaled};
use crate::{
    Demand, Dispatch, Evicted, FlowHeap, FlowId, MAX_RESOURCES, Nanos, Packet, Policy, PolicyError, Queued, Queues,
    Weight,
    cost::LEARNS,
    entry::{Entry, Knob, Knobs, NO_CAUTION},
    flow::{FlowMap, Waiting},
    fluid::WeightSum,
    prefetch::prefetch,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "cbcs",
    summary: "composite WFQ: one timestamp over the time on all resources, costs estimated",
    knobs: &[
        Knob {
            key: "clock",
            default: "paper",
            meaning: "virtual time: paper (eq. 10), or self (the stamp of the last packet served)",
            retunable: false,
        },
        LEARNS,
    ],
    cost: "O(log n)",
    source: "Sabrina & Jha, UNSW-CSE-TR-0306, 2003",
    build: |knobs, setup| {
        let policy = Cbcs::new(setup.resources, pace(knobs)?);
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

fn pace(knobs: &Knobs<'_>) -> Result<Pace, PolicyError> {
    match knobs.text("clock") {
        "paper" => Ok(Pace::RealTime),
        "self" => Ok(Pace::Service),
        _ => Err(knobs.wrong("clock", format_args!("paper or self"))),
    }
}

/// Composite bandwidth and CPU scheduling.
#[derive(Debug)]
pub struct Cbcs {
    resources: usize,
    clock: Clock,
    // Backlogged flows by the stamp of their head packet.
    heads: FlowHeap,
    flows: FlowMap<Flow>,
    // `resources` entries per flow; flows beyond the end have their queue's weight.
    weights: Vec<f64>,
}

/// What drives the system virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Real time over the weights of the backlogged flows: eq. 10.
    RealTime,
    /// Service: the stamp of the packet that was served last.
    Service,
}

/// The system virtual time.
#[derive(Debug)]
struct Clock {
    pace: Pace,
    virtual_time: f64,
    updated: Nanos,
    // The largest stamp served.
    served: f64,
    backlogged: WeightSum,
    // Counts resets; each also resets every flow's tags.
    epoch: u64,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Flow {
    epoch: u64,
    // The finish tag of its last packet, queued or sent.
    finish: f64,
    lane: Lane,
}

/// The sum of eq. 12, in nanoseconds over weights.
#[inline]
fn charge(demand: &Demand, weights: &[f64]) -> f64 {
    demand.times().iter().zip(weights).map(|(time, weight)| time.as_f64() / *weight).sum()
}

impl Cbcs {
    /// For packets with this many resources.
    #[must_use]
    pub fn new(resources: usize, pace: Pace) -> Self {
        let (virtual_time, updated, backlogged) = (0.0, Nanos::ZERO, WeightSum::default());
        let clock = Clock { pace, virtual_time, updated, served: 0.0, backlogged, epoch: 0 };
        Self { resources, clock, heads: FlowHeap::new(), flows: FlowMap::new(), weights: Vec::new() }
    }

    /// The flow's tags, reset if they are of an earlier epoch.
    #[inline]
    fn flow(&mut self, flow: FlowId) -> &mut Flow {
        let epoch = self.clock.epoch;
        let state = self.flows.at(flow);
        if state.epoch != epoch {
            *state = Flow { epoch, ..Flow::default() };
        }
        state
    }

    #[inline]
    fn weights(&mut self, queues: &Queues, flow: FlowId) -> &mut [f64] {
        let first = flow.index() * self.resources;
        while self.weights.len() < first + self.resources {
            let next = FlowId((self.weights.len() / self.resources) as u32);
            self.weights.push(queues.weight(next));
        }
        &mut self.weights[first..first + self.resources]
    }

    /// The amount by which the packet raises its flow's tag.
    #[inline]
    fn charge(&mut self, queues: &Queues, flow: FlowId, packet: Waiting<'_>) -> f64 {
        charge(&packet.demand(), self.weights(queues, flow))
    }

    fn joins(&mut self, queues: &Queues, flow: FlowId) {
        for at in 0..self.resources {
            let weight = self.weights(queues, flow)[at];
            self.clock.backlogged.add(weight);
        }
    }

    fn leaves(&mut self, queues: &Queues, flow: FlowId) {
        self.heads.remove(flow);
        for at in 0..self.resources {
            let weight = self.weights(queues, flow)[at];
            self.clock.backlogged.remove(weight);
        }
    }

    fn weigh(&mut self, queues: &mut Queues, flow: FlowId, weight: impl Fn(usize) -> f64) {
        let backlogged = !queues.is_empty(flow);
        let (mut old, mut new) = ([1.0; MAX_RESOURCES], [1.0; MAX_RESOURCES]);
        for at in 0..self.resources {
            new[at] = weight(at);
            old[at] = core::mem::replace(&mut self.weights(queues, flow)[at], new[at]);
            if backlogged {
                self.clock.backlogged.remove(old[at]);
                self.clock.backlogged.add(new[at]);
            }
        }
        if old != new {
            self.stamp_again(queues, flow, &old[..self.resources], &new[..self.resources]);
        }
    }

    /// Stamps the flow's packets as if it had always had the weights `new`, but for what it is ahead or behind in work.
    fn stamp_again(&mut self, queues: &mut Queues, flow: FlowId, old: &[f64], new: &[f64]) {
        let served = self.clock.served;
        let per_work = |weights: &[f64]| weights.iter().map(|weight| 1.0 / weight).sum::<f64>();
        let ratio = per_work(new) / per_work(old);
        let state = self.flow(flow);
        let Some(head) = queues.head(flow) else {
            if state.finish > served {
                state.finish = rescaled(state.finish, served, ratio);
            }
            return;
        };
        // A flow that is behind does not fall back further because it is lighter now.
        let moved = |tag: f64| if tag > served || ratio < 1.0 { rescaled(tag, served, ratio) } else { tag };
        let lane = state.lane;
        let mut old_finish = larger(lane.stamp(head) - charge(&head.demand(), old), lane.sent);
        let mut finish = moved(old_finish);
        queues.retag_by_demand(flow, |demand, tag| {
            let old_stamp = lane.after_sent(f64::from_bits(tag) - lane.moved_up);
            // A packet that arrived after virtual time had passed its predecessor's finish starts as much later.
            let idle = larger(old_stamp - charge(demand, old) - old_finish, 0.0);
            old_finish = old_stamp;
            finish += idle + charge(demand, new);
            finish.to_bits()
        });
        state.finish = finish;
        state.lane = Lane { sent: moved(lane.sent), moved_up: 0.0 };
        let lane = state.lane;
        if let Some(head) = queues.head(flow) {
            self.heads.set(flow, lane.stamp(head));
        }
    }
}

impl Clock {
    #[inline]
    fn advance(&mut self, now: Nanos) {
        if self.pace == Pace::RealTime {
            self.virtual_time += (now - self.updated).as_f64() / self.backlogged.total();
            self.updated = self.updated.max(now);
        }
    }

    #[inline]
    fn served(&mut self, stamp: f64) {
        self.served = larger(stamp, self.served);
        if self.pace == Pace::Service {
            self.virtual_time = stamp;
        }
    }

    fn restart(&mut self, now: Nanos) {
        self.epoch += 1;
        self.virtual_time = 0.0;
        self.served = 0.0;
        self.updated = now;
        self.backlogged.clear();
    }
}

impl Policy for Cbcs {
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        if queues.backlog().packets == 1 {
            self.clock.restart(now);
        } else {
            self.clock.advance(now);
        }
        if queues.len(flow) == 1 {
            self.joins(queues, flow);
        }
        let Some(packet) = queues.tail(flow) else { return };
        let charge = self.charge(queues, flow, packet);
        let virtual_time = self.clock.virtual_time;
        let state = self.flow(flow);
        let start = state.finish.max(virtual_time);
        state.finish = start + charge;
        let (finish, moved_up) = (state.finish, state.lane.moved_up);
        if queues.len(flow) == 1 {
            self.flow(flow).lane.sent = start;
            self.heads.set(flow, finish);
        }
        queues.tag_tail(flow, (finish + moved_up).to_bits());
    }

    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let (flow, stamp) = self.heads.peek()?;
        let packet = queues.pop(flow);
        self.clock.served(stamp);
        let state = self.flow(flow);
        state.lane.sent = stamp;
        match queues.head(flow) {
            Some(head) => {
                let stamp = state.lane.stamp(head);
                self.heads.set(flow, stamp);
            }
            None => {
                state.lane.moved_up = 0.0;
                self.leaves(queues, flow);
            }
        }
        prefetch_next(&self.heads, queues, |flow| {
            self.flows.prefetch(flow);
            prefetch(&self.weights, flow.index() * self.resources);
        });
        Some(Dispatch::plain(packet))
    }

    #[inline]
    fn upcoming(&self, ahead: usize) -> Option<FlowId> {
        self.heads.upcoming(ahead)
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, end: Evicted) {
        let flow = lost.flow;
        let virtual_time = self.clock.virtual_time;
        let state = *self.flow(flow);
        let (Some(head), Some(tail)) = (queues.head(flow), queues.tail(flow)) else {
            let sent = state.lane.sent;
            *self.flow(flow) = Flow { finish: sent, lane: Lane { sent, moved_up: 0.0 }, ..state };
            self.leaves(queues, flow);
            return;
        };
        match end {
            Evicted::Tail => self.flow(flow).finish = state.lane.stamp(tail),
            Evicted::Head => {
                // It may start where the last packet sent ends, or now.
                let stamp = state.lane.stamp(head);
                let start = stamp - self.charge(queues, flow, head);
                let freed = (start - state.lane.sent.max(virtual_time)).max(0.0);
                let state = self.flow(flow);
                state.lane.moved_up += freed;
                state.finish -= freed;
                let stamp = state.lane.after_sent(stamp - freed);
                self.heads.set(flow, stamp);
            }
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        let weight = queues.weight(flow);
        self.weigh(queues, flow, |_| weight);
    }

    fn resource_weights(&mut self, queues: &mut Queues, flow: FlowId, weights: &[Weight]) {
        self.weigh(queues, flow, |at| weights[at].as_f64());
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        knobs.keeps("clock", pace(knobs)? == self.clock.pace)
    }

    fn forget(&mut self, flow: FlowId) {
        self.flows.reset(flow);
        let first = flow.index() * self.resources;
        if let Some(weights) = self.weights.get_mut(first..first + self.resources) {
            weights.fill(1.0);
        }
    }
}
