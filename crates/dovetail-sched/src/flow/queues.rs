//! Per-flow first-in-first-out queues in one pool of packets.
//!
//! A queued packet is a 48-byte node in a pool, linked to the next of its flow. Its demand is in it, so that a packet of
//! which nothing is in a cache is one place to fetch; where a pipeline has more than two resources, demands lie beside the
//! pool. Where the youngest packets may be evicted, backward links lie beside the pool too. Freed nodes are reused last
//! in, first out, while they are warm. Once the pool has grown to the largest backlog, nothing allocates.

use alloc::vec::Vec;

use super::{DropPolicy, FlowId, Limits, Weight};
use crate::{Backlog, Demand, DropReason, FlowHeap, MAX_RESOURCES, Nanos, Packet, prefetch::prefetch};

const NIL: u32 = u32::MAX;

/// Most pipelines are no longer than this.
const SHORT: usize = 2;

/// The queues of all flows, with their weights and limits.
#[derive(Debug)]
pub struct Queues {
    resources: usize,
    flows: Vec<Flow>,
    nodes: Vec<Node>,
    // The node before each in its queue, meaningless for a head; kept only when youngest packets are evicted.
    before: Option<Vec<u32>>,
    // A row a node, where a demand does not fit into that.
    long_demands: Vec<Nanos>,
    free: u32,
    backlog: Backlog,
    limits: Limits,
    has_limits: bool,
    // By bytes waiting, negated into an order of the longest first; kept only when drops need it.
    by_length: Option<FlowHeap>,
}

// Never on two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Flow {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
    weight: f64,
}

/// What a flow costs here whether packets of it wait or not.
#[cfg(test)]
pub(crate) const BYTES_A_QUEUE: usize = size_of::<Flow>();

const NEW_FLOW: Flow = Flow { head: NIL, tail: NIL, packets: 0, bytes: 0, weight: 1.0 };

#[derive(Debug, Clone, Copy)]
struct Node {
    next: u32,
    bytes: u32,
    arrival: Nanos,
    handle: u64,
    tag: u64,
    // Of a known length, so that it is copied without a call.
    demand: [Nanos; SHORT],
}

/// Names a waiting packet across calls that change other things; means nothing once that packet has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place(u32);

/// A packet that waits in its flow's queue.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    queues: &'a Queues,
    node: u32,
}

impl<'a> Waiting<'a> {
    /// Length on the wire, in bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.queues.nodes[self.node as usize].bytes
    }

    /// When it arrived.
    #[inline]
    #[must_use]
    pub fn arrival(self) -> Nanos {
        self.queues.nodes[self.node as usize].arrival
    }

    /// Processing time on each resource.
    #[inline]
    #[must_use]
    pub fn demand(self) -> &'a [Nanos] {
        self.queues.demand(self.node)
    }

    /// The number that the policy wrote on it; 0 before.
    #[inline]
    #[must_use]
    pub fn tag(self) -> u64 {
        self.queues.nodes[self.node as usize].tag
    }

    /// Its name, to find it again by [`Queues::waiting`].
    #[inline]
    #[must_use]
    pub fn place(self) -> Place {
        Place(self.node)
    }

    /// The packet behind it in the same queue.
    #[inline]
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let next = self.queues.nodes[self.node as usize].next;
        (next != NIL).then_some(Self { node: next, ..self })
    }
}

/// Which limit an arriving packet meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Flow,
    Buffer,
}

impl Queues {
    pub(crate) fn new(resources: usize, limits: Limits) -> Self {
        assert!((1..=MAX_RESOURCES).contains(&resources), "a pipeline has 1 to {MAX_RESOURCES} resources");
        Self {
            resources,
            flows: Vec::new(),
            nodes: Vec::new(),
            before: matches!(limits.on_full, DropPolicy::Longest | DropPolicy::Policy).then(Vec::new),
            long_demands: Vec::new(),
            free: NIL,
            backlog: Backlog::default(),
            limits,
            has_limits: limits.flow_packets.is_some()
                || limits.flow_bytes.is_some()
                || limits.packets.is_some()
                || limits.bytes.is_some(),
            by_length: (limits.on_full == DropPolicy::Longest).then(FlowHeap::new),
        }
    }

    /// How many resources the pipeline has.
    #[inline]
    #[must_use]
    pub fn resources(&self) -> usize {
        self.resources
    }

    /// All that waits.
    #[inline]
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// What waits of one flow.
    #[must_use]
    pub fn flow_backlog(&self, flow: FlowId) -> Backlog {
        self.flows
            .get(flow.index())
            .map_or(Backlog::default(), |queue| Backlog { packets: queue.packets.into(), bytes: queue.bytes })
    }

    /// How many packets of the flow wait.
    #[inline]
    #[must_use]
    pub fn len(&self, flow: FlowId) -> u32 {
        self.flows.get(flow.index()).map_or(0, |queue| queue.packets)
    }

    /// Whether no packet of the flow waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self, flow: FlowId) -> bool {
        self.len(flow) == 0
    }

    /// The flow's weight.
    #[inline]
    #[must_use]
    pub fn weight(&self, flow: FlowId) -> f64 {
        self.flows.get(flow.index()).map_or(1.0, |queue| queue.weight)
    }

    /// The flow's oldest waiting packet.
    #[inline]
    #[must_use]
    pub fn head(&self, flow: FlowId) -> Option<Waiting<'_>> {
        let node = self.flows.get(flow.index())?.head;
        (node != NIL).then_some(Waiting { queues: self, node })
    }

    /// The waiting packet at `place`, which must have been asked of it while it waited.
    ///
    /// # Panics
    /// May panic if that packet has left.
    #[inline]
    #[must_use]
    pub fn waiting(&self, place: Place) -> Waiting<'_> {
        debug_assert!((place.0 as usize) < self.nodes.len());
        Waiting { queues: self, node: place.0 }
    }

    /// The flow's youngest waiting packet.
    #[inline]
    #[must_use]
    pub fn tail(&self, flow: FlowId) -> Option<Waiting<'_>> {
        let node = self.flows.get(flow.index())?.tail;
        (node != NIL).then_some(Waiting { queues: self, node })
    }

    /// Writes a number of the policy's on the flow's youngest waiting packet.
    #[inline]
    pub fn tag_tail(&mut self, flow: FlowId, tag: u64) {
        let tail = self.flows[flow.index()].tail;
        if let Some(node) = self.nodes.get_mut(tail as usize) {
            node.tag = tag;
        }
    }

    /// Rewrites the policy's numbers on all the flow's waiting packets. O(packets of the flow).
    pub fn retag(&mut self, flow: FlowId, mut new: impl FnMut(u64) -> u64) {
        let mut at = self.flows.get(flow.index()).map_or(NIL, |queue| queue.head);
        while let Some(node) = self.nodes.get_mut(at as usize) {
            node.tag = new(node.tag);
            at = node.next;
        }
    }

    /// Takes the flow's oldest packet.
    ///
    /// # Panics
    /// If the flow has none.
    #[inline(always)]
    pub fn pop(&mut self, flow: FlowId) -> Packet {
        let queue = &mut self.flows[flow.index()];
        let at = queue.head;
        assert!(at != NIL, "flow {flow} has no packet");
        let node = self.nodes[at as usize];
        queue.head = node.next;
        if node.next == NIL {
            queue.tail = NIL;
        }
        self.release(flow, at, node)
    }

    /// Takes the flow's youngest packet. O(1).
    ///
    /// # Panics
    /// If the flow has none, or the limits' drop policy never evicts youngest packets.
    pub(crate) fn pop_tail(&mut self, flow: FlowId) -> Packet {
        let Flow { head, tail, .. } = self.flows[flow.index()];
        assert!(tail != NIL, "flow {flow} has no packet");
        if head == tail {
            return self.pop(flow);
        }
        let Some(predecessors) = &self.before else { panic!("this drop policy keeps no way back") };
        let before = predecessors[tail as usize];
        self.nodes[before as usize].next = NIL;
        self.flows[flow.index()].tail = before;
        let node = self.nodes[tail as usize];
        self.release(flow, tail, node)
    }

    #[inline(always)]
    fn release(&mut self, flow: FlowId, at: u32, node: Node) -> Packet {
        let queue = &mut self.flows[flow.index()];
        queue.packets -= 1;
        queue.bytes -= u64::from(node.bytes);
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(node.bytes);
        let demand =
            if self.resources <= SHORT { Demand::short(self.resources, node.demand) } else { self.long_demand(at) };
        self.nodes[at as usize].next = self.free;
        self.free = at;
        self.order_by_length(flow);
        Packet { flow, bytes: node.bytes, arrival: node.arrival, handle: node.handle, demand }
    }

    #[cold]
    #[inline(never)]
    fn long_demand(&self, at: u32) -> Demand {
        Demand::copied(self.demand(at))
    }

    /// Checks that the packet can be held at all, and knows its flow from here on.
    #[inline]
    pub(crate) fn admit(&mut self, packet: &Packet) -> Result<(), DropReason> {
        if packet.demand.times().len() != self.resources {
            return Err(DropReason::WrongDemand);
        }
        if !self.know(packet.flow) {
            return Err(DropReason::TooManyFlows);
        }
        // Node indices are 32 bits, and the last is the end of a list.
        if self.backlog.packets >= u64::from(NIL) {
            return Err(DropReason::BufferFull);
        }
        Ok(())
    }

    /// The limit that the packet would meet if nothing else waited.
    pub(crate) fn too_long_for(&self, packet: &Packet) -> Option<Full> {
        let too_long = |limit: Option<u64>| limit.is_some_and(|most| u64::from(packet.bytes) > most);
        if too_long(self.limits.flow_bytes) {
            return Some(Full::Flow);
        }
        too_long(self.limits.bytes).then_some(Full::Buffer)
    }

    #[inline]
    fn know(&mut self, flow: FlowId) -> bool {
        flow.index() < self.flows.len() || self.learn(flow)
    }

    #[cold]
    fn learn(&mut self, flow: FlowId) -> bool {
        let fits = flow.0 < self.limits.flows;
        if fits {
            self.flows.resize(flow.index() + 1, NEW_FLOW);
        }
        fits
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, packet: &Packet) {
        if self.free == NIL {
            self.grow();
        }
        let at = self.free;
        let node = &mut self.nodes[at as usize];
        self.free = node.next;
        *node = Node {
            next: NIL,
            bytes: packet.bytes,
            arrival: packet.arrival,
            handle: packet.handle,
            tag: 0,
            demand: packet.demand.first_two(),
        };
        if self.resources > SHORT {
            let start = at as usize * self.resources;
            self.long_demands[start..][..self.resources].copy_from_slice(packet.demand.times());
        }
        let queue = &mut self.flows[packet.flow.index()];
        if let Some(before) = &mut self.before {
            match before.get_mut(at as usize) {
                Some(before) => *before = queue.tail,
                None => before.push(queue.tail),
            }
        }
        if queue.tail == NIL {
            queue.head = at;
        } else {
            self.nodes[queue.tail as usize].next = at;
        }
        queue.tail = at;
        queue.packets += 1;
        queue.bytes += u64::from(packet.bytes);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.bytes);
        self.order_by_length(packet.flow);
    }

    /// Another node, free.
    #[cold]
    fn grow(&mut self) {
        let demand = [Nanos::ZERO; SHORT];
        let node = Node { next: NIL, bytes: 0, arrival: Nanos::ZERO, handle: 0, tag: 0, demand };
        self.free = self.nodes.len() as u32;
        self.nodes.push(node);
        if self.resources > SHORT {
            self.long_demands.resize(self.long_demands.len() + self.resources, Nanos::ZERO);
        }
    }

    #[inline(always)]
    fn order_by_length(&mut self, flow: FlowId) {
        if self.by_length.is_some() {
            self.order_by_length_now(flow);
        }
    }

    #[cold]
    fn order_by_length_now(&mut self, flow: FlowId) {
        let Some(by_length) = &mut self.by_length else { return };
        let queue = &self.flows[flow.index()];
        if queue.packets == 0 {
            by_length.remove(flow);
        } else {
            // Lengths stay far below 2^53, so the longest has the least of these non-negative keys, exactly.
            by_length.set(flow, ((1u64 << 53) - queue.bytes.min(1 << 53)) as f64);
        }
    }

    /// The flow with the most bytes waiting, if the limits' drop policy keeps track of it.
    #[must_use]
    pub fn longest(&self) -> Option<FlowId> {
        self.by_length.as_ref()?.peek().map(|(flow, _)| flow)
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    #[inline]
    pub(crate) fn has_limits(&self) -> bool {
        self.has_limits
    }

    /// The limit that keeps `packet` out, if any.
    pub(crate) fn full_for(&self, packet: &Packet) -> Option<Full> {
        fn over<T: PartialOrd>(after: T, limit: Option<T>) -> bool {
            limit.is_some_and(|limit| after > limit)
        }
        let bytes = u64::from(packet.bytes);
        let flow = self.flow_backlog(packet.flow);
        let limits = &self.limits;
        if over(flow.packets + 1, limits.flow_packets.map(u64::from)) || over(flow.bytes + bytes, limits.flow_bytes) {
            return Some(Full::Flow);
        }
        let all = self.backlog;
        if over(all.packets + 1, limits.packets.map(u64::from)) || over(all.bytes + bytes, limits.bytes) {
            return Some(Full::Buffer);
        }
        None
    }

    /// Sets the flow's weight and gives back the old one; `None` if the flow's id is over the limit.
    pub(crate) fn set_weight(&mut self, flow: FlowId, weight: Weight) -> Option<Weight> {
        if !self.know(flow) {
            return None;
        }
        let old = core::mem::replace(&mut self.flows[flow.index()].weight, weight.as_f64());
        Weight::new(old)
    }

    pub(crate) fn forget(&mut self, flow: FlowId) {
        if let Some(queue) = self.flows.get_mut(flow.index()) {
            debug_assert_eq!(queue.packets, 0);
            *queue = NEW_FLOW;
        }
    }

    /// Asks the processor to load the flow's queue.
    #[inline]
    pub fn prefetch_flow(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
    }

    /// Asks the processor to load the flow's head packet; its queue should have been asked for before.
    #[inline]
    pub fn prefetch_head(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        self.prefetch_place(Place(queue.head));
    }

    /// Asks the processor to load the packet at `place`.
    #[inline]
    pub fn prefetch_place(&self, place: Place) {
        prefetch(&self.nodes, place.0 as usize);
        if self.resources > SHORT {
            prefetch(&self.long_demands, place.0 as usize * self.resources);
        }
    }

    /// Asks the processor to load the flow's second packet; its head should have been asked for before.
    #[inline]
    pub fn prefetch_second(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        let Some(head) = self.nodes.get(queue.head as usize) else { return };
        self.prefetch_place(Place(head.next));
    }

    #[inline]
    fn demand(&self, node: u32) -> &[Nanos] {
        if self.resources <= SHORT {
            return &self.nodes[node as usize].demand[..self.resources];
        }
        let start = node as usize * self.resources;
        &self.long_demands[start..start + self.resources]
    }
}
