//! `drfq`: dominant resource fair queueing.
//!
//! Ghodsi, Sekar, Zaharia and Stoica, *Multi-resource fair queueing for packet processing*, SIGCOMM 2012: start-time fair
//! queueing in which every resource has its own virtual time. Packet `p` of flow `i` takes `s_j(p)` on resource `j`; `prev` is
//! the previous packet of `i`, and
//! ```text
//! S(p,j) = max(V(t,j), F(prev,j))      F(p,j) = S(p,j) + s_j(p) / w_i
//! V(t,j) = the largest S(q,j) among the packets q in service at time t
//! ```
//!
//! The flow whose head-of-line packet has the smallest `max_j S(p,j)` is served; ties go to the lower flow id.
//!
//! `V` matters only when a flow *becomes* backlogged. While it stays so, the start tags of its head-of-line packet are its own
//! last finish tags: a flow that has used 5 ms of CPU and 3 ms of link has a credit of 2 ms of link, and raising its link tag
//! to the `V` of link-bound flows would cancel that credit at every packet. Using it is *dovetailing*: link-heavy packets of a
//! flow fit in beside its CPU-heavy ones at no extra charge. `dovetail=D` bounds the credit: after each packet, a tag that lies
//! more than `D` below the flow's largest is raised to `max_j F(p,j) - D`.
//!
//! - `0`, *memoryless*: all tags are one, and a packet costs its largest demand.
//! - `inf`, *strict*: tags are sums, and a flow pays for the larger of its sums. A flow whose dominant resource changes is then
//!   served on credit until its sums have changed sides (ATFQ, figure 5), at the expense of the others.
//! - A time bounds how long that can last. It is in units of the tags, time at weight 1.
//!
//! Here `V` also never falls: `V(t,j)` is the largest `S(q,j)` of all packets released in the busy period. With one resource it
//! cannot fall anyway. With several resources and few packets in service it would depend on whose packets they are: a flow that
//! joins while only a CPU-bound packet is in service would start with that flow's low link tag, and so with all the link credit
//! that the other flow has gathered. It also defines `V` when packets are queued and nothing is in service.
//!
//! A busy period ends when nothing is queued and nothing is in service; in the next one all tags start at 0, so that no flow is
//! charged for what it used while no other flow wanted it.
//!
//! A new weight preserves work, and applies at once: the tags of a backlogged flow move towards the largest start tag released,
//! or away from it, so that `(M_i - v)·w_i` and the differences between its tags times `w_i` stay what they were. An idle flow
//! keeps the work that it is ahead of `V` on each resource.
//!
//! # Bounds
//!
//! Let `M_i` be the largest tag of a backlogged flow, `s_i` its largest demand, `T_ij` the time on `j` of its packets released
//! in some interval, and `D_i` the sum of the largest demands of those packets. Released keys never fall, so at all times
//! `v <= M_i <= v + s_i/w_i`, `v` being the key released last. Hence, as in start-time fair queueing, over every interval in
//! which flows `i` and `k` stay backlogged
//!
//! ```text
//! max_j T_ij/w_i - D_k/w_k  <=  s_i/w_i + s_k/w_k + D      and with D = 0:   |D_i/w_i - D_k/w_k| <= s_i/w_i + s_k/w_k
//! ```
//!
//! because `M_i` grows by no more than `D_i/w_i`, and by no less than any `T_ij/w_i - D`. With `inf` and both backlogged
//! since the busy period began, `M_i = max_j T_ij/w_i`, and two such flows differ by at most `max(s_i/w_i, s_k/w_k)`.
//!
//! A new flow starts at `V`, so while new flows arrive as fast as they are served, an established flow waits. With
//! `new-flows=shared` the first packets of all new flows share the tags of a single flow, computed as above, and the bounds for
//! two flows hold for an established one and all new flows together. A flow that the line has established starts at no less
//! than `V` on every resource: the line's credit is not its own. See the module `new_flows`.
//!
//! O(log n) per packet for n backlogged flows, plus O(m) for m resources; a flow's tags are `8m` bytes.
//!
//! # Worked example
//!
//! Packets of flow 0 take `<4,1>` and `<1,4>` µs alternately, those of flow 1 `<4,4>`. Memoryless, both cost 4 a
//! packet. With dovetailing two packets of flow 0 cost 5 together:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let order = |policy: &str| -> Result<String, Box<dyn core::error::Error>> {
//!     let mut drfq = policy.parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
//!     let us = Nanos::from_micros;
//!     for handle in 0..9 {
//!         let (a, b) = if handle % 2 == 0 { (us(4), us(1)) } else { (us(1), us(4)) };
//!         for (flow, demand) in [(0, [a, b]), (1, [us(4), us(4)])] {
//!             let demand = Demand::new(&demand)?;
//!             let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!             drfq.enqueue(&packet, Nanos::ZERO);
//!         }
//!     }
//!     let sent = core::iter::from_fn(|| drfq.dequeue(Nanos::ZERO)).take(10);
//!     Ok(sent.map(|sent| sent.packet.flow.to_string()).collect())
//! };
//! assert_eq!(order("drfq:dovetail=0")?, "0101010101");
//! assert_eq!(order("drfq")?, "0101010010");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, vec::Vec};

use super::{
    InService,
    new_flows::{NEW_FLOWS, NewFlows, are_shared},
    tags::{larger, prefetch_next, rescaled},
};
use crate::{
    Dispatch, Evicted, Feedback, FlowHeap, FlowId, Interest, MAX_RESOURCES, Nanos, Packet, Policy, PolicyError, Queued,
    Queues, Stage, Weight,
    entry::{Entry, Knob, Knobs, NO_CAUTION},
    flow::FlowMap,
    prefetch::prefetch,
    units::parse_time,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "drfq",
    summary: "equal time on each flow's dominant resource, by virtual times",
    knobs: &[
        Knob {
            key: "dovetail",
            default: "inf",
            meaning: "how far a flow's tag on one resource may lag its largest: 0 (memoryless; fixed at the start), a time, or inf",
            retunable: true,
        },
        NEW_FLOWS,
    ],
    cost: "O(log n)",
    source: "Ghodsi et al., SIGCOMM 2012",
    build: |knobs, setup| {
        let policy = Drfq::new(setup.resources, dovetail_ns(knobs)?);
        let policy = if are_shared(knobs)? { policy.sharing_new_flows() } else { policy };
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

fn dovetail_ns(knobs: &Knobs<'_>) -> Result<f64, PolicyError> {
    match knobs.text("dovetail") {
        "inf" => Ok(f64::INFINITY),
        text => parse_time(text)
            .map(Nanos::as_f64)
            .map_err(|_| knobs.wrong("dovetail", format_args!("0, inf or a time such as 100us"))),
    }
}

/// Dominant resource fair queueing.
#[derive(Debug)]
pub struct Drfq {
    resources: usize,
    dovetail_ns: f64,
    // Tags per flow: one if memoryless, otherwise one per resource.
    kinds: usize,
    // `kinds` entries per flow: while it is backlogged the start tags of its head, otherwise the finish tags of its last
    // packet.
    tags: Vec<f64>,
    // The busy period that a flow's tags belong to; read only when it becomes backlogged.
    period_of: FlowMap<u64>,
    period: u64,
    // V, one per kind of tag.
    virtual_time: [f64; MAX_RESOURCES],
    // Only for whether it is empty.
    in_service: InService,
    order: FlowHeap,
    shared: Option<Shared>,
}

/// The line of new flows, with the tags of a single flow.
#[derive(Debug, Default)]
struct Shared {
    line: NewFlows,
    tags: [f64; MAX_RESOURCES],
    period: u64,
}

impl Drfq {
    /// For `resources` resources; a tag may lag its flow's largest by `dovetail_ns` nanoseconds at weight 1, from 0 to
    /// infinity.
    #[must_use]
    pub fn new(resources: usize, dovetail_ns: f64) -> Self {
        let kinds = if dovetail_ns > 0.0 { resources } else { 1 };
        Self {
            resources,
            dovetail_ns,
            kinds,
            tags: Vec::new(),
            period_of: FlowMap::new(),
            period: 0,
            virtual_time: [0.0; MAX_RESOURCES],
            in_service: InService::new(0),
            order: FlowHeap::new(),
            shared: None,
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
            if shared.period != self.period {
                (shared.period, shared.tags) = (self.period, [0.0; MAX_RESOURCES]);
            }
            for (tag, &virtual_time) in shared.tags.iter_mut().zip(&self.virtual_time) {
                *tag = tag.max(virtual_time);
            }
        }
        shared.line.has(flow)
    }

    /// The line's first flow and its tag.
    fn first_new_flow(&self) -> Option<(FlowId, f64)> {
        let shared = self.shared.as_ref()?;
        let largest = shared.tags[..self.kinds].iter().copied().fold(0.0, f64::max);
        Some((shared.line.first()?, largest))
    }

    /// Gives the line's first flow the line's tags, raised to `V`: credit that the line has gathered on some resource is not
    /// the flow's.
    fn establish(&mut self, flow: FlowId) {
        let start = flow.index() * self.kinds;
        if self.tags.len() < start + self.kinds {
            self.tags.resize(start + self.kinds, 0.0);
        }
        *self.period_of.at(flow) = self.period;
        let Some(shared) = &self.shared else { return };
        for (tag, (&line, &virtual_time)) in
            self.tags[start..start + self.kinds].iter_mut().zip(shared.tags.iter().zip(&self.virtual_time))
        {
            *tag = line.max(virtual_time);
        }
    }

    /// Charges a released packet to tags: a single one, or one per resource. Returns the largest.
    #[inline]
    fn charge(tags: &mut [f64], packet: &Packet, weight: f64, dovetail_ns: f64) -> f64 {
        if let [tag] = tags {
            *tag += packet.demand.dominant().as_f64() / weight;
            return *tag;
        }
        let mut largest = 0.0;
        for (tag, time) in tags.iter_mut().zip(packet.demand.times()) {
            *tag += time.as_f64() / weight;
            largest = larger(*tag, largest);
        }
        let least = largest - dovetail_ns;
        for tag in tags {
            *tag = larger(*tag, least);
        }
        largest
    }

    /// Sets the start tags of the head packet of a flow that becomes backlogged.
    fn begin(&mut self, flow: FlowId) {
        let start = flow.index() * self.kinds;
        if self.tags.len() < start + self.kinds {
            self.tags.resize(start + self.kinds, 0.0);
        }
        let tags = &mut self.tags[start..start + self.kinds];
        let period = self.period_of.at(flow);
        if *period != self.period {
            *period = self.period;
            tags.fill(0.0);
        }
        let mut largest = 0.0;
        for (tag, &virtual_time) in tags.iter_mut().zip(&self.virtual_time) {
            *tag = larger(*tag, virtual_time);
            largest = larger(*tag, largest);
        }
        self.order.set(flow, largest);
    }
}

impl Policy for Drfq {
    fn interest(&self) -> Interest {
        Interest::of(Stage::Finished, self.resources - 1)
    }

    fn has_drop_rule(&self) -> bool {
        self.shared.is_some()
    }

    fn victim(&self, _queues: &Queues, arriving: &Packet, _now: Nanos) -> Option<FlowId> {
        self.shared.as_ref()?.line.victim(arriving)
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.backlog().packets == 1 && self.in_service.is_empty() {
            self.period += 1;
            self.virtual_time = [0.0; MAX_RESOURCES];
        }
        if (self.shared.is_some() && self.lines_up(queues, flow)) || queues.len(flow) > 1 {
            return;
        }
        self.begin(flow);
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let mut next = self.order.peek();
        let new_flow = self.first_new_flow();
        let goes_first = |&(flow, tag): &(FlowId, f64)| next.is_none_or(|(other, least)| (tag, flow) < (least, other));
        let is_new_flow = new_flow.as_ref().is_some_and(goes_first);
        if let Some((flow, _)) = new_flow.filter(|_| is_new_flow) {
            self.establish(flow);
            next = new_flow;
        }
        let (flow, _) = next?;
        let packet = queues.pop(flow);
        let weight = queues.weight(flow);
        let start = flow.index() * self.kinds;
        let tags = &mut self.tags[start..start + self.kinds];
        for (virtual_time, &tag) in self.virtual_time.iter_mut().zip(&*tags) {
            *virtual_time = larger(tag, *virtual_time);
        }
        let ticket = self.in_service.release([]);
        let largest = Self::charge(tags, &packet, weight, self.dovetail_ns);
        if let Some(shared) = &mut self.shared {
            if is_new_flow {
                Self::charge(&mut shared.tags[..self.kinds], &packet, weight, self.dovetail_ns);
            }
            shared.line.released(queues, &packet);
        }
        if queues.is_empty(flow) {
            self.order.remove(flow);
        } else {
            self.order.set(flow, largest);
        }
        prefetch_next(&self.order, queues, |flow| prefetch(&self.tags, flow.index() * self.kinds));
        Some(Dispatch { packet, ticket })
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        if let Some(shared) = &mut self.shared {
            shared.line.evicted(queues, lost);
        }
        // Tags belong to the flow, whichever packet is at its head.
        if queues.is_empty(flow) {
            self.order.remove(flow);
        }
    }

    #[inline]
    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, _now: Nanos) {
        if event.settles(Stage::Finished, self.resources - 1) {
            self.in_service.finish(event.ticket);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, old: Weight) {
        let waits_in_line = self.shared.as_ref().is_some_and(|shared| shared.line.has(flow));
        if waits_in_line || self.period_of.peek(flow) != Some(&self.period) {
            return;
        }
        let start = flow.index() * self.kinds;
        let Some(tags) = self.tags.get_mut(start..start + self.kinds) else { return };
        let ratio = old.as_f64() / queues.weight(flow);
        if queues.is_empty(flow) {
            for (tag, &virtual_time) in tags.iter_mut().zip(&self.virtual_time) {
                // What is below V will be raised to it anyway.
                if *tag > virtual_time {
                    *tag = rescaled(*tag, virtual_time, ratio);
                }
            }
            return;
        }
        let released = self.virtual_time.iter().copied().fold(0.0, larger);
        let mut largest = released;
        for tag in &mut *tags {
            *tag = rescaled(*tag, released, ratio);
            largest = larger(*tag, largest);
        }
        for tag in tags {
            *tag = larger(*tag, largest - self.dovetail_ns);
        }
        self.order.set(flow, largest);
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        let dovetail_ns = dovetail_ns(knobs)?;
        knobs.keeps(NEW_FLOWS.key, are_shared(knobs)? == self.shared.is_some())?;
        // A memoryless flow has one tag, any other one per resource.
        knobs.keeps("dovetail", (dovetail_ns > 0.0) == (self.dovetail_ns > 0.0))?;
        self.dovetail_ns = dovetail_ns;
        Ok(())
    }

    fn forget(&mut self, flow: FlowId) {
        if let Some(shared) = &mut self.shared {
            shared.line.forget(flow);
        }
        self.period_of.reset(flow);
    }
}
