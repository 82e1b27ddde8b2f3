//! `wf2q+`: worst-case fair weighted fair queueing.
//!
//! Bennett and Zhang, *WF2Q: worst-case fair weighted fair queueing*, INFOCOM 1996, and *Hierarchical packet fair queueing
//! algorithms*, IEEE/ACM Trans. Networking 5(5), 1997. [`wfq`](super::wfq) may serve a flow far ahead of the fluid, which later
//! makes it wait as long. Here a packet may go only once the fluid would have started it: of the *eligible* flows, `S_i <= V`,
//! the smallest finish tag goes first. Tags belong to flows, for their head-of-line packet of `L` work, and `V` needs no fluid:
//!
//! ```text
//! S_i = F_i  if the packet joined a backlog,  else max(F_i, V)        F_i = S_i + L / w_i
//! V(t + T) = max(V(t) + work(t, t + T) / R,  least S_i of the backlogged flows)
//! ```
//!
//! In the papers `w_i` are reserved rates and `R` is 1, the total that can be reserved. Here weights are relative and there are
//! no reservations, so `R` must be the weight of the flows that currently share. The backlogged ones alone would be too few: a
//! flow with one packet sent and no other queued has had its share up to `F_i`, and if `V` ran as though it were gone, flows
//! like it would be served again and again while `V` passes the tags of queued packets. `R` is therefore the weight of the
//! flows that are backlogged *or* have `F_i > V`, as it is in Linux's BFQ (`wsum` in `block/bfq-iosched.h`). While `V` moves
//! from `v` to `v'` each of them can claim at most `w_i·(v' - v)` of work, which in total is what is served in that time, so
//! that every packet is finished by the time `V` reaches its tag, give or take the one in service. With
//! `r_i = w_i / sum of all w` and `L_i` the flow's largest packet, the published bounds hold:
//!
//! - a packet ends at most `L_max` later than on a server of its own of rate `r_i`;
//! - what a flow has queued at any instant, `Q` of work, is finished `Q/r_i + L_i·(1 - r_i)/r_i + L_max` later (the worst-case
//!   fair index is this without `Q/r_i`);
//! - among flows that stay backlogged no packet starts before it does in the fluid, so no flow is ahead of it by more than
//!   `L_i·(1 - r_i)`, or behind by more than `L_max`.
//!
//! `V` counts a packet's work when the next one is chosen. The policy detects that the server falls idle by the feedback that
//! packets finish on the resource: then all tags are dropped and `V` restarts from 0. Without the feedback the busy period
//! never ends. *Work* is a packet's time on one resource (the knob `resource`).
//!
//! An evicted packet leaves no trace: its successor starts where it would have started. A new weight preserves the work that
//! the flow is ahead of its share, `(S - V)·w_i`, and applies to the head-of-line packet at once.
//!
//! O(log n) per packet amortised. Flows are ordered by `F`; one that reaches the front before it is eligible is set aside, by
//! `S`, until it is, which happens at most once per packet.
//!
//! # Worked example
//!
//! The first paper's example, at a smaller scale: flow 0 has half the weight and four packets, flows 1 to 4 have an eighth each
//! and one packet. `wfq` would send flow 0's four first; here they alternate with the others, as the fluid serves them:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let mut wf2q = "wf2q+".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! wf2q.set_weight(FlowId(0), Weight::new(4.0).expect("in range"));
//! let demand = Demand::new(&[Nanos::from_micros(10)])?;
//! for flow in [0, 0, 0, 0, 1, 2, 3, 4] {
//!     let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
//!     wf2q.enqueue(&packet, Nanos::ZERO);
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| wf2q.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [0, 1, 0, 2, 0, 3, 0, 4]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;

use super::tags::{RESOURCE, keeps_resource, prefetch_next, rescaled, work};
use crate::{
    Dispatch, Evicted, Feedback, FlowHeap, FlowId, Interest, Nanos, Packet, Policy, PolicyError, Queued, Queues, Stage,
    Weight,
    entry::{Entry, Knobs, NO_CAUTION},
    flow::{FlowMap, per_weight},
    fluid::WeightSum,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "wf2q+",
    summary: "worst-case fair weighted fair queueing: no packet before the fluid scheduler would start it",
    knobs: &[RESOURCE],
    cost: "O(log n) amortised",
    source: "Bennett & Zhang, INFOCOM 1996 and ToN 1997",
    build: |knobs, setup| {
        let wf2q_plus = Wf2qPlus::new(knobs.resource("resource", setup.resources)?);
        Ok(Box::new(Queued::new(wf2q_plus, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

/// Worst-case fair weighted fair queueing.
#[derive(Debug)]
pub struct Wf2qPlus {
    resource: usize,
    virtual_time: f64,
    // Work sent since the virtual time was last moved.
    uncounted: f64,
    in_service: u64,
    flows: FlowMap<Flow>,
    // A flow that shares is in exactly one of these: backlogged, by F; backlogged and found not yet eligible, by S; without
    // packets but with F > V, by F.
    by_finish: FlowHeap,
    waiting: FlowHeap,
    ahead: FlowHeap,
    sharing: WeightSum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    // Tags of the head packet, or of the last one sent.
    start: f64,
    finish: f64,
    // As counted in `sharing`.
    weight: f64,
}

impl Wf2qPlus {
    /// Orders by work on `resource`, numbered from 0 and less than the pipeline's length.
    #[must_use]
    pub fn new(resource: usize) -> Self {
        Self {
            resource,
            virtual_time: 0.0,
            uncounted: 0.0,
            in_service: 0,
            flows: FlowMap::new(),
            by_finish: FlowHeap::new(),
            waiting: FlowHeap::new(),
            ahead: FlowHeap::new(),
            sharing: WeightSum::default(),
        }
    }

    /// Moves the virtual time to this instant, and chooses the next flow.
    #[inline]
    fn choose(&mut self, queues: &Queues) -> Option<(FlowId, f64)> {
        self.virtual_time += self.uncounted / self.sharing.total();
        self.uncounted = 0.0;
        // At most one flow per packet joins `ahead`, so two per packet keep up; a flow that stays a little longer only slows
        // the virtual time, which the bounds allow.
        for _ in 0..2 {
            match self.ahead.peek() {
                Some((flow, finish)) if finish <= self.virtual_time => {
                    self.ahead.remove(flow);
                    self.sharing.remove(self.flows.at(flow).weight);
                }
                _ => break,
            }
        }
        loop {
            while let Some((flow, start)) = self.waiting.peek()
                && start <= self.virtual_time
            {
                self.waiting.remove(flow);
                self.by_finish.set(flow, self.flows.at(flow).finish);
                self.expect(&self.waiting, queues);
            }
            while let Some((flow, finish)) = self.by_finish.peek() {
                let start = self.flows.at(flow).start;
                if start <= self.virtual_time {
                    return Some((flow, finish));
                }
                self.by_finish.remove(flow);
                self.waiting.set(flow, start);
                self.expect(&self.by_finish, queues);
            }
            // Nothing is eligible, so the least start tag is at the front of `waiting`.
            self.virtual_time = self.waiting.peek()?.1;
        }
    }

    /// Prefetches what will be read once the next flows in one of the orders reach its front. Call it whenever that order has
    /// moved up: a flow is prefetched only by its place when it joins the row.
    #[inline]
    fn expect(&self, order: &FlowHeap, queues: &Queues) {
        prefetch_next(order, queues, |flow| {
            self.flows.prefetch(flow);
            self.waiting.prefetch(flow);
            self.by_finish.prefetch(flow);
        });
    }

    /// Sets the tags of the flow's head packet, of `work`, from `start` on.
    #[inline]
    fn file(&mut self, flow: FlowId, start: f64, work: f64) {
        let state = self.flows.at(flow);
        state.start = start;
        // A new weight may stretch a lag beyond the start of virtual time, where heaps have no keys.
        state.finish = (start + per_weight(work, state.weight)).max(0.0);
        self.by_finish.set(flow, state.finish);
    }

    /// A flow without packets shares until the virtual time reaches its finish tag.
    #[inline]
    fn ends(&mut self, flow: FlowId, finish: f64) {
        self.by_finish.remove(flow);
        let state = self.flows.at(flow);
        state.finish = finish.max(0.0);
        self.ahead.set(flow, state.finish);
    }
}

impl Policy for Wf2qPlus {
    fn resource(&self) -> Option<usize> {
        Some(self.resource)
    }

    fn interest(&self) -> Interest {
        Interest::of(Stage::Finished, self.resource)
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.len(flow) != 1 {
            return;
        }
        if queues.backlog().packets == 1 && self.in_service == 0 {
            self.ahead.clear();
            self.sharing.clear();
            self.virtual_time = 0.0;
            self.uncounted = 0.0;
        }
        let Some(head) = queues.head(flow) else { return };
        let work = work(head, self.resource);
        let mut start = self.virtual_time;
        let state = self.flows.at(flow);
        if self.ahead.contains(flow) {
            self.ahead.remove(flow);
            start = start.max(state.finish);
        } else {
            state.weight = queues.weight(flow);
            self.sharing.add(state.weight);
        }
        self.file(flow, start, work);
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let (flow, finish) = self.choose(queues)?;
        let packet = queues.pop(flow);
        self.uncounted = packet.demand.times()[self.resource].as_f64();
        self.in_service += 1;
        match queues.head(flow) {
            Some(head) => self.file(flow, finish, work(head, self.resource)),
            None => self.ends(flow, finish),
        }
        self.expect(&self.by_finish, queues);
        Some(Dispatch::plain(packet))
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        self.waiting.remove(flow);
        let start = self.flows.at(flow).start;
        match queues.head(flow) {
            Some(head) => self.file(flow, start, work(head, self.resource)),
            None => self.ends(flow, start),
        }
    }

    #[inline]
    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, _now: Nanos) {
        if event.settles(Stage::Finished, self.resource) {
            self.in_service = self.in_service.saturating_sub(1);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, old: Weight) {
        let (backlogged, ahead) = (queues.head(flow), self.ahead.contains(flow));
        if backlogged.is_none() && !ahead {
            return;
        }
        self.waiting.remove(flow);
        let weight = queues.weight(flow);
        let ratio = old.as_f64() / weight;
        self.sharing.remove(old.as_f64());
        self.sharing.add(weight);
        let state = self.flows.at(flow);
        state.weight = weight;
        match backlogged {
            Some(head) => {
                let start = rescaled(state.start, self.virtual_time, ratio);
                self.file(flow, start, work(head, self.resource));
            }
            None => {
                let finish = rescaled(state.finish, self.virtual_time, ratio);
                self.ends(flow, finish);
            }
        }
    }

    fn retune(&mut self, queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        keeps_resource(ENTRY.name, self.resource, queues, knobs)
    }

    fn forget(&mut self, flow: FlowId) {
        if self.ahead.contains(flow) {
            self.ahead.remove(flow);
            self.sharing.remove(self.flows.at(flow).weight);
        }
        self.flows.reset(flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Demand, Limits, Scheduler};

    #[test]
    fn a_flow_shares_until_its_last_tag_is_passed() {
        let mut wf2q = Queued::new(Wf2qPlus::new(0), 1, Limits::UNLIMITED);
        wf2q.set_weight(FlowId(0), Weight::new(10.0).expect("in range"));
        let demand = Demand::new(&[Nanos(100)]).expect("one resource");
        for flow in [0].into_iter().chain([1, 2].repeat(10)) {
            let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
            let _ = wf2q.enqueue(&packet, Nanos::ZERO);
        }
        // Flow 0 has F = 10, and the virtual time moves by 100/12 a packet.
        for (sharing, virtual_time) in [(12.0, 0.0), (12.0, 100.0 / 12.0), (2.0, 200.0 / 12.0)] {
            let _ = wf2q.dequeue(Nanos::ZERO);
            let policy = wf2q.policy();
            assert_eq!(policy.sharing.total(), sharing);
            assert!((policy.virtual_time - virtual_time).abs() < 1e-9, "{}", policy.virtual_time);
        }
    }
}
