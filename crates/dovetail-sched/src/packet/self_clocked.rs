//! Fair queueing that takes its virtual time from the packet in service: the mechanism of [`scfq`](super::scfq) and
//! [`sfq`](super::sfq), which differ only in the tag that they use.
//!
//! Both give packet `k` of flow `i`, of `L` work, arriving at `a`, a start and a finish tag,
//!
//! ```text
//! S_k = max(V(a), F_{k-1})        F_k = S_k + L / w_i
//! ```
//!
//! serve the smallest tag of one kind, and take as `V` that tag of the packet in service. Here only the head-of-line packet of
//! a flow has tags: a packet that arrives while its predecessor is queued or in service finds `V(a) <= F_{k-1}`, because the
//! smallest tag is served first, so that `S_k = F_{k-1}` whatever `V(a)` was.
//!
//! An evicted packet leaves no trace: its successor starts where it would have started. A new weight preserves the work that
//! the flow is ahead of its share, `(S - V)·w_i`, and applies to the head-of-line packet at once.

use core::{fmt, marker::PhantomData};

use super::{
    new_flows::{NEW_FLOWS, NewFlows, are_shared},
    tags::{keeps_resource, prefetch_next, rescaled, work},
};
use crate::{
    Dispatch, Evicted, Feedback, FlowHeap, FlowId, Interest, Nanos, Packet, Policy, PolicyError, Queues, Stage, Weight,
    entry::Knobs,
    flow::{FlowMap, per_weight},
};

/// The tag that orders packets and serves as the clock.
pub trait TagClock: fmt::Debug + Send {
    /// The policy's name.
    const NAME: &'static str;

    /// The tag.
    fn tag(start: f64, finish: f64) -> f64;

    /// Whether tags can be ahead of the clock when nothing is queued, so that only the end of service ends a busy period.
    const RUNS_BEHIND: bool;

    /// Whether the policy has the knob `new-flows`.
    const TAKES_NEW_FLOWS: bool;
}

/// Self-clocked fair queueing by the tag that `C` selects.
#[derive(Debug)]
pub struct SelfClocked<C> {
    resource: usize,
    virtual_time: f64,
    // The current busy period; tags of earlier ones are void.
    period: u64,
    in_service: u64,
    flows: FlowMap<Flow>,
    heads: FlowHeap,
    shared: Option<Shared>,
    clock: PhantomData<C>,
}

/// The line of new flows and its tags; to the clock it is one flow.
#[derive(Debug, Default)]
struct Shared {
    line: NewFlows,
    tags: Flow,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    // Start tag of the head packet; for a flow with none queued, the finish tag of its last.
    start: f64,
    period: u64,
}

impl Flow {
    /// The tags of a flow that becomes backlogged.
    #[inline]
    fn begun(self, period: u64, virtual_time: f64) -> Self {
        let start = if self.period == period { self.start.max(virtual_time) } else { virtual_time };
        Self { start, period }
    }
}

impl<C: TagClock> SelfClocked<C> {
    /// Orders by work on `resource`, numbered from 0 and less than the pipeline's length.
    #[must_use]
    pub fn new(resource: usize) -> Self {
        Self {
            resource,
            virtual_time: 0.0,
            period: 0,
            in_service: 0,
            flows: FlowMap::new(),
            heads: FlowHeap::new(),
            shared: None,
            clock: PhantomData,
        }
    }

    /// Makes the first packets of all new flows share the tags of a single flow.
    #[must_use]
    pub fn sharing_new_flows(self) -> Self {
        Self { shared: Some(Shared::default()), ..self }
    }

    /// Adds `flow` to the line if it is new; returns whether its packet waits in the line.
    fn lines_up(&mut self, queues: &Queues, flow: FlowId) -> bool {
        let Some(shared) = &mut self.shared else { return false };
        let was_empty = shared.line.first().is_none();
        if shared.line.enqueued(queues, flow) && was_empty {
            shared.tags = shared.tags.begun(self.period, self.virtual_time);
        }
        shared.line.has(flow)
    }

    /// The line's first flow and its tag.
    fn first_new_flow(&self, queues: &Queues) -> Option<(FlowId, f64)> {
        let shared = self.shared.as_ref()?;
        let flow = shared.line.first()?;
        let start = shared.tags.start;
        let tag = C::tag(start, start + per_weight(work(queues.head(flow)?, self.resource), queues.weight(flow)));
        Some((flow, tag.max(self.virtual_time)))
    }

    /// Orders the flow by the tag of its head packet, if it has one.
    #[inline]
    fn file(&mut self, queues: &Queues, flow: FlowId) {
        if self.shared.as_ref().is_some_and(|shared| shared.line.has(flow)) {
            return;
        }
        let Some(head) = queues.head(flow) else { return self.heads.remove(flow) };
        let start = self.flows.at(flow).start;
        let tag = C::tag(start, start + per_weight(work(head, self.resource), queues.weight(flow)));
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

    fn has_drop_rule(&self) -> bool {
        self.shared.is_some()
    }

    fn victim(&self, _queues: &Queues, arriving: &Packet, _now: Nanos) -> Option<FlowId> {
        self.shared.as_ref()?.line.victim(arriving)
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.backlog().packets == 1 && self.in_service == 0 {
            self.period += 1;
            self.virtual_time = 0.0;
        }
        if (self.shared.is_some() && self.lines_up(queues, flow)) || queues.len(flow) != 1 {
            return;
        }
        let state = self.flows.at(flow);
        *state = state.begun(self.period, self.virtual_time);
        self.file(queues, flow);
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let mut next = self.heads.peek();
        if self.shared.is_some() {
            let new_flow = self.first_new_flow(queues);
            let goes_first =
                |&(flow, tag): &(FlowId, f64)| next.is_none_or(|(other, least)| (tag, flow) < (least, other));
            if let Some((flow, _)) = new_flow.filter(goes_first) {
                // From here on it is an ordinary flow, which starts where the line is.
                *self.flows.at(flow) = self.shared.as_ref()?.tags;
                next = new_flow;
            }
        }
        let (flow, tag) = next?;
        self.virtual_time = tag;
        let packet = queues.pop(flow);
        let state = self.flows.at(flow);
        state.start += per_weight(packet.demand.times()[self.resource].as_f64(), queues.weight(flow));
        if let Some(shared) = &mut self.shared {
            if shared.line.has(flow) {
                shared.tags = *state;
            }
            shared.line.released(queues, &packet);
        }
        self.file(queues, flow);
        self.in_service += u64::from(C::RUNS_BEHIND);
        prefetch_next(&self.heads, queues, |flow| self.flows.prefetch(flow));
        Some(Dispatch::plain(packet))
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        if let Some(shared) = &mut self.shared {
            shared.line.evicted(queues, lost);
        }
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
        if C::TAKES_NEW_FLOWS {
            knobs.of(C::NAME)?;
            knobs.keeps(NEW_FLOWS.key, are_shared(knobs)? == self.shared.is_some())?;
        }
        keeps_resource(C::NAME, self.resource, queues, knobs)
    }

    fn forget(&mut self, flow: FlowId) {
        if let Some(shared) = &mut self.shared {
            shared.line.forget(flow);
        }
        self.flows.reset(flow);
    }
}
