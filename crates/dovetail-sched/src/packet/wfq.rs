//! `wfq`: weighted fair queueing, packet by packet in the order in which an ideal fluid would finish.
//!
//! Demers, Keshav and Shenker, *Analysis and simulation of a fair queueing algorithm*, SIGCOMM 1989; as PGPS in Parekh
//! and Gallager, IEEE/ACM Trans. Networking 1(3), 1993. A [`GpsClock`] serves the same arrivals as a fluid. Packet `k`
//! of flow `i`, of `L` work, is stamped when it arrives, at time `a`, and the smallest stamp goes first:
//!
//! ```text
//! F_k = max(V(a), F_{k-1}) + L / w_i
//! ```
//!
//! The order of the stamps is the order in which GPS would finish the packets if nothing else arrived. Hence (Parekh and
//! Gallager, theorems 1 and 2, here with a server of rate 1) no packet ends more than `L_max` after it does in GPS, and no
//! flow's service falls behind its service in GPS by more than `L_max`. It may run ahead by much more, which
//! [`wf2q+`](super::wf2q_plus) prevents.
//!
//! *Work* is a packet's time on one resource (the knob `resource`), so the fluid is served at one nanosecond of work per
//! nanosecond. If another resource is the bottleneck, the fluid finishes before the packets do, and the order approaches that
//! of arrival: name the bottleneck.
//!
//! What the papers leave open: an evicted packet's work that the fluid has not served is removed from the fluid, and the
//! packets behind it move up; the rest of a forgotten flow's fluid is removed; a new weight applies at once to what the fluid
//! has not served, queued packets included. All three count from the last arrival or departure, the latest instant that the
//! policy knows of.
//!
//! O(log n) per packet amortised; a new weight is O(packets of the flow).
//!
//! # Worked example
//!
//! Flow 1 has twice the weight of flow 0, and all packets are 10 µs of work. In the fluid flow 1's packets finish at
//! virtual time 5, 10, 15 and flow 0's at 10, 20, 30; a tie goes to the lower id:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let mut wfq = "wfq".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! wfq.set_weight(FlowId(1), Weight::new(2.0).expect("in range"));
//! let demand = Demand::new(&[Nanos::from_micros(10)])?;
//! for handle in 0..3 {
//!     for flow in [0, 1] {
//!         let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!         wfq.enqueue(&packet, Nanos::ZERO);
//!     }
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| wfq.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [1, 0, 1, 1, 0, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;

use super::tags::{Lane, RESOURCE, keeps_resource, prefetch_next, rescaled, work};
use crate::{
    Dispatch, Evicted, FlowHeap, FlowId, Nanos, Packet, Policy, PolicyError, Queued, Queues, Weight,
    entry::{Entry, Knobs, NO_CAUTION},
    flow::FlowMap,
    fluid::GpsClock,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "wfq",
    summary: "weighted fair queueing (PGPS): in the order in which an ideal fluid scheduler would finish",
    knobs: &[RESOURCE],
    cost: "O(log n) amortised",
    source: "Demers, Keshav & Shenker, SIGCOMM 1989; Parekh & Gallager, ToN 1993",
    build: |knobs, setup| {
        let wfq = Wfq::new(knobs.resource("resource", setup.resources)?);
        Ok(Box::new(Queued::new(wfq, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

/// Weighted fair queueing.
#[derive(Debug)]
pub struct Wfq {
    resource: usize,
    fluid: GpsClock,
    // Backlogged flows by the stamp of their head packet.
    heads: FlowHeap,
    flows: FlowMap<Lane>,
    now: Nanos,
}

impl Wfq {
    /// Orders by work on `resource`, numbered from 0 and less than the pipeline's length.
    #[must_use]
    pub fn new(resource: usize) -> Self {
        Self { resource, fluid: GpsClock::new(), heads: FlowHeap::new(), flows: FlowMap::new(), now: Nanos::ZERO }
    }

    fn evicted_head(&mut self, queues: &Queues, flow: FlowId) {
        let state = self.flows.at(flow);
        let Some(head) = queues.head(flow) else {
            self.fluid.retreat(flow, state.sent);
            self.heads.remove(flow);
            return;
        };
        // If the fluid has finished the lost packet, nothing can move up, and the difference is not positive: the new head then
        // started at the virtual time of its own arrival, if not before. Otherwise it starts where the lost one ended, and may
        // now start where the fluid is, or where the flow's last sent packet ends.
        let stamp = state.stamp(head);
        let start = stamp - work(head, self.resource) / queues.weight(flow);
        let freed = start - state.sent.max(self.fluid.virtual_time());
        if freed > 0.0 {
            state.moved_up += freed;
            self.fluid.withdraw(flow, freed);
            self.heads.set(flow, state.after_sent(stamp - freed));
        } else {
            self.heads.set(flow, stamp);
        }
    }

    fn evicted_tail(&mut self, queues: &Queues, flow: FlowId) {
        let state = self.flows.at(flow);
        match queues.tail(flow) {
            Some(tail) => self.fluid.retreat(flow, state.stamp(tail)),
            None => {
                self.fluid.retreat(flow, state.sent);
                self.heads.remove(flow);
            }
        }
    }
}

impl Policy for Wfq {
    fn resource(&self) -> Option<usize> {
        Some(self.resource)
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        self.now = self.now.max(now);
        self.fluid.advance(now);
        if queues.backlog().packets == 1 && self.fluid.is_idle() {
            self.fluid.restart();
        }
        let Some(packet) = queues.tail(flow) else { return };
        let (start, finish) = self.fluid.arrive(flow, queues.weight(flow), work(packet, self.resource));
        let state = self.flows.at(flow);
        if queues.len(flow) == 1 {
            *state = Lane { sent: start, moved_up: 0.0 };
            self.heads.set(flow, finish);
        }
        queues.tag_tail(flow, (finish + state.moved_up).to_bits());
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, now: Nanos) -> Option<Dispatch> {
        self.now = self.now.max(now);
        let (flow, stamp) = self.heads.peek()?;
        let packet = queues.pop(flow);
        let state = self.flows.at(flow);
        state.sent = stamp;
        match queues.head(flow) {
            Some(head) => self.heads.set(flow, state.stamp(head)),
            None => self.heads.remove(flow),
        }
        prefetch_next(&self.heads, queues, |flow| {
            self.flows.prefetch(flow);
            self.fluid.prefetch(flow);
        });
        Some(Dispatch::plain(packet))
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, end: Evicted) {
        let flow = lost.flow;
        self.fluid.advance(self.now);
        match end {
            Evicted::Head => self.evicted_head(queues, flow),
            Evicted::Tail => self.evicted_tail(queues, flow),
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, old: Weight) {
        self.fluid.advance(self.now);
        let (now, weight) = (self.fluid.virtual_time(), queues.weight(flow));
        let ratio = old.as_f64() / weight;
        // Packets that the fluid has finished keep their places in the order of finish.
        let restamped = |stamp: f64| if stamp > now { rescaled(stamp, now, ratio) } else { stamp };
        let state = self.flows.at(flow);
        queues.retag(flow, |tag| restamped(state.after_sent(f64::from_bits(tag) - state.moved_up)).to_bits());
        state.sent = restamped(state.sent);
        state.moved_up = 0.0;
        if let Some(head) = queues.head(flow) {
            self.heads.set(flow, state.stamp(head));
        }
        self.fluid.reweigh(flow, weight);
    }

    fn retune(&mut self, queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        keeps_resource(ENTRY.name, self.resource, queues, knobs)
    }

    fn forget(&mut self, flow: FlowId) {
        self.fluid.advance(self.now);
        self.fluid.forget(flow);
        self.flows.reset(flow);
    }
}
