//! Fair queueing that reads its virtual time off the packet in service: the mechanism of [`scfq`](super::scfq) and
//! [`sfq`](super::sfq), which differ only in the tag they read.
//!
//! Both give packet `k` of flow `i`, of `L` work, arriving at `a`, a start and a finish tag,
//!
//! ```text
//! S_k = max(V(a), F_{k-1})        F_k = S_k + L / w_i
//! ```
//!
//! serve the smallest tag of one kind, and take as `V` that tag of the packet in service. Here only the head-of-line
//! packet of a flow has tags: a packet that arrives while its predecessor is queued or in service finds
//! `V(a) <= F_{k-1}`, because the smallest tag is served first, so that `S_k = F_{k-1}` whatever `V(a)` was.
//!
//! An evicted packet leaves no trace: its successor starts where it would have started. A new weight keeps the work
//! that the flow is ahead of its share, `(S - V)·w_i`, and applies to the head-of-line packet at once.

use core::{fmt, marker::PhantomData};

use super::tags::{keeps_resource, prefetch_next, rescaled, work};
use crate::{
    Evicted, Feedback, FlowHeap, FlowId, Interest, Nanos, Packet, Policy, PolicyError, Queues, Stage, Weight,
    entry::Knobs, flow::FlowMap,
};

/// Which tag orders packets and is the clock.
pub trait TagClock: fmt::Debug + Send {
    /// The policy's name.
    const NAME: &'static str;

    /// The tag.
    fn tag(start: f64, finish: f64) -> f64;

    /// Whether tags can lie ahead of the clock when nothing waits, so that only the end of service ends a busy period.
    const RUNS_BEHIND: bool;
}

/// Self-clocked fair queueing by the tag that `C` names.
#[derive(Debug)]
pub struct SelfClocked<C> {
    resource: usize,
    virtual_time: f64,
    // Tags of an earlier busy period are void.
    period: u64,
    in_service: u64,
    flows: FlowMap<Flow>,
    heads: FlowHeap,
    clock: PhantomData<C>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    // Start tag of the head packet; of a flow with none waiting, the finish tag of its last.
    start: f64,
    period: u64,
}

impl<C: TagClock> SelfClocked<C> {
    /// Orders by work on `resource`, counted from 0 and below the pipeline's length.
    #[must_use]
    pub fn new(resource: usize) -> Self {
        Self {
            resource,
            virtual_time: 0.0,
            period: 0,
            in_service: 0,
            flows: FlowMap::new(),
            heads: FlowHeap::new(),
            clock: PhantomData,
        }
    }

    /// Files the flow under the tag of its head packet, if it has one.
    #[inline]
    fn file(&mut self, queues: &Queues, flow: FlowId) {
        let Some(head) = queues.head(flow) else { return self.heads.remove(flow) };
        let start = self.flows.at(flow).start;
        let tag = C::tag(start, start + work(head, self.resource) / queues.weight(flow));
        // Rounding in a new weight's tags must not turn the clock back.
        self.heads.set(flow, tag.max(self.virtual_time));
    }
}

impl<C: TagClock> Policy for SelfClocked<C> {
    fn resource(&self) -> Option<usize> {
        Some(self.resource)
    }

    fn interest(&self) -> Interest {
        if C::RUNS_BEHIND { Interest::of(Stage::Finished, self.resource) } else { Interest::NONE }
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.len(flow) != 1 {
            return;
        }
        if queues.backlog().packets == 1 && self.in_service == 0 {
            self.period += 1;
            self.virtual_time = 0.0;
        }
        let before = *self.flows.at(flow);
        let start = if before.period == self.period { before.start.max(self.virtual_time) } else { self.virtual_time };
        *self.flows.at(flow) = Flow { start, period: self.period };
        self.file(queues, flow);
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<(Packet, u64)> {
        let (flow, tag) = self.heads.peek()?;
        self.virtual_time = tag;
        let packet = queues.pop(flow);
        self.flows.at(flow).start += packet.demand.times()[self.resource].as_f64() / queues.weight(flow);
        self.file(queues, flow);
        self.in_service += u64::from(C::RUNS_BEHIND);
        prefetch_next(&self.heads, queues, &self.flows);
        Some((packet, 0))
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        self.file(queues, flow);
    }

    #[inline]
    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, _now: Nanos) {
        if event.settles(Stage::Finished, self.resource) {
            self.in_service = self.in_service.saturating_sub(1);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, old: Weight) {
        let now = self.virtual_time;
        let state = self.flows.at(flow);
        state.start = rescaled(state.start, now, old.as_f64() / queues.weight(flow));
        self.file(queues, flow);
    }

    fn retune(&mut self, queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        keeps_resource(C::NAME, self.resource, queues, knobs)
    }

    fn forget(&mut self, flow: FlowId) {
        self.flows.reset(flow);
    }
}
