//! Per-flow first-in-first-out queues in one pool of packets.
//!
//! A queued packet is a 32-byte node in a pool, never on two cache lines, linked to the next of its flow. Its demand is in
//! it, so that a packet of which nothing is in a cache is one place to fetch; where a pipeline has more than two resources,
//! or once a packet takes 4.3 s of one, demands lie beside the pool. What not every policy needs lies beside the pool too:
//! the numbers of policies that write any, and backward links where the youngest packets may be evicted. Freed nodes are
//! reused last in, first out, while they are warm. Once the pool has grown to the largest backlog, nothing allocates.
//!
//! A flow's queue takes 16 bytes, a quarter of a cache line. Weights lie beside the queues once one is not 1.

use alloc::{collections::BTreeMap, vec::Vec};

use super::{DropPolicy, FlowId, Limits, Weight};
use crate::{Backlog, Demand, DropReason, IndexedHeap, MAX_RESOURCES, Nanos, Packet, prefetch::prefetch};

const NIL: u32 = u32::MAX;

/// Most pipelines are no longer than this.
const SHORT: usize = 2;

/// The queues of all flows, with their weights and limits.
#[derive(Debug)]
pub struct Queues {
    resources: usize,
    flows: Vec<Flow>,
    // For each flow up to the last that was given one; the others weigh 1.
    weights: Vec<f64>,
    // How many times 2^32 bytes of a flow wait, where that is not 0.
    carries: BTreeMap<FlowId, u32>,
    nodes: Vec<Node>,
    // The policy's numbers, once it writes one.
    tags: Vec<u64>,
    // Whether there is any of what follows, of which most have nothing.
    has_more: bool,
    // The node before each in its queue, meaningless for a head; kept only when youngest packets are evicted.
    before: Option<Vec<u32>>,
    // A row a node, where a demand does not fit into that.
    has_long_demands: bool,
    long_demands: Vec<Nanos>,
    free: u32,
    backlog: Backlog,
    limits: Limits,
    has_limits: bool,
    // By bytes waiting, negated into an order of the longest first; kept only when drops need it.
    by_length: Option<IndexedHeap<FlowId, u64>>,
}

// Never on two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
struct Flow {
    head: u32,
    tail: u32,
    packets: u32,
    // The lower half: the upper one is among the carries.
    bytes: u32,
}

/// What a flow costs here whether packets of it wait or not.
#[cfg(test)]
pub(crate) const BYTES_A_QUEUE: usize = size_of::<Flow>();

const NEW_FLOW: Flow = Flow { head: NIL, tail: NIL, packets: 0, bytes: 0 };

// What lies side by side in a packet does not here: it would be copied at once, by a load that has to wait where the packet was
// only just written, in two stores.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Node {
    arrival: Nanos,
    next: u32,
    bytes: u32,
    handle: u64,
    // Of a known length, so that it is copied without a call.
    demand: [u32; SHORT],
}

/// The times in half the bytes, and whether they fit.
#[inline(always)]
fn halved(times: [Nanos; SHORT]) -> ([u32; SHORT], bool) {
    (times.map(|time| time.0 as u32), times[0].0 | times[1].0 <= u64::from(u32::MAX))
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

impl Waiting<'_> {
    /// Length on the wire, in bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.queues.nodes[self.node as usize].bytes
    }

    /// What it came with.
    #[inline]
    pub(crate) fn handle(self) -> u64 {
        self.queues.nodes[self.node as usize].handle
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
    pub fn demand(self) -> Demand {
        let node = &self.queues.nodes[self.node as usize];
        self.queues.demand(self.node, node)
    }

    /// Whether there are no more than two resources.
    #[inline]
    pub(crate) fn is_short(self) -> bool {
        self.queues.resources <= SHORT
    }

    /// Processing time on the first two resources; 0 on the second where there is none.
    #[inline]
    pub(crate) fn first_two(self) -> [Nanos; SHORT] {
        if self.queues.has_long_demands {
            let row = &self.queues.long_demands[self.node as usize * self.queues.resources..][..self.queues.resources];
            return [row[0], row.get(1).copied().unwrap_or(Nanos::ZERO)];
        }
        self.queues.nodes[self.node as usize].times()
    }

    /// Processing time on one resource, counted from 0 and below the pipeline's length.
    #[inline]
    #[must_use]
    pub fn time(self, resource: usize) -> Nanos {
        if self.queues.has_long_demands {
            return self.queues.long_demands[self.node as usize * self.queues.resources + resource];
        }
        Nanos(self.queues.nodes[self.node as usize].demand[resource].into())
    }

    /// The number that the policy wrote on it, which says nothing before.
    #[inline]
    #[must_use]
    pub fn tag(self) -> u64 {
        self.queues.tags.get(self.node as usize).copied().unwrap_or(0)
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

impl Node {
    #[inline(always)]
    fn times(&self) -> [Nanos; SHORT] {
        self.demand.map(|time| Nanos(time.into()))
    }
}

impl Queues {
    pub(crate) fn new(resources: usize, limits: Limits) -> Self {
        assert!((1..=MAX_RESOURCES).contains(&resources), "a pipeline has 1 to {MAX_RESOURCES} resources");
        let has_limits = limits.flow_packets.is_some()
            || limits.flow_bytes.is_some()
            || limits.packets.is_some()
            || limits.bytes.is_some();
        let evicts_youngest = has_limits && matches!(limits.on_full, DropPolicy::Longest | DropPolicy::Policy);
        let by_length = (limits.on_full == DropPolicy::Longest).then(IndexedHeap::new);
        Self {
            resources,
            flows: Vec::new(),
            weights: Vec::new(),
            carries: BTreeMap::new(),
            nodes: Vec::new(),
            tags: Vec::new(),
            has_more: resources > SHORT || evicts_youngest || by_length.is_some(),
            before: evicts_youngest.then(Vec::new),
            has_long_demands: resources > SHORT,
            long_demands: Vec::new(),
            free: NIL,
            backlog: Backlog::default(),
            limits,
            has_limits,
            by_length,
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
        self.flows.get(flow.index()).map_or(Backlog::default(), |queue| Backlog {
            packets: queue.packets.into(),
            bytes: self.bytes(flow, queue),
        })
    }

    #[inline]
    fn bytes(&self, flow: FlowId, queue: &Flow) -> u64 {
        let carried = if self.carries.is_empty() { 0 } else { self.carried(flow) };
        carried + u64::from(queue.bytes)
    }

    #[cold]
    #[inline(never)]
    fn carried(&self, flow: FlowId) -> u64 {
        self.carries.get(&flow).map_or(0, |&carry| u64::from(carry) << 32)
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
        self.weights.get(flow.index()).copied().unwrap_or(1.0)
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

    /// Writes a number of the policy's on the flow's youngest waiting packet. A policy that writes any writes one on each.
    #[inline]
    pub fn tag_tail(&mut self, flow: FlowId, tag: u64) {
        let tail = self.flows[flow.index()].tail;
        if tail as usize >= self.tags.len() {
            self.grow_tags();
        }
        if let Some(place) = self.tags.get_mut(tail as usize) {
            *place = tag;
        }
    }

    /// A tag for every node.
    #[cold]
    #[inline(never)]
    fn grow_tags(&mut self) {
        self.tags.resize(self.nodes.len(), 0);
    }

    /// Rewrites the policy's numbers on all the flow's waiting packets. O(packets of the flow).
    pub fn retag(&mut self, flow: FlowId, mut new: impl FnMut(u64) -> u64) {
        let mut at = self.flows.get(flow.index()).map_or(NIL, |queue| queue.head);
        self.grow_tags();
        while let (Some(node), Some(tag)) = (self.nodes.get(at as usize), self.tags.get_mut(at as usize)) {
            *tag = new(*tag);
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
        let borrows;
        (queue.bytes, borrows) = queue.bytes.overflowing_sub(node.bytes);
        if borrows {
            self.borrow(flow);
        }
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(node.bytes);
        self.nodes[at as usize].next = self.free;
        self.free = at;
        let Node { bytes, arrival, handle, .. } = node;
        if self.has_more {
            self.order_by_length(flow);
            if self.has_long_demands {
                return Packet { flow, bytes, arrival, handle, demand: self.long_demand(at) };
            }
        }
        Packet { flow, bytes, arrival, handle, demand: Demand::short(self.resources, node.times()) }
    }

    #[inline(always)]
    fn demand(&self, at: u32, node: &Node) -> Demand {
        if self.has_long_demands { self.long_demand(at) } else { Demand::short(self.resources, node.times()) }
    }

    #[cold]
    #[inline(never)]
    fn long_demand(&self, at: u32) -> Demand {
        Demand::copied(&self.long_demands[at as usize * self.resources..][..self.resources])
    }

    /// Demands lie beside the pool from now on. O(nodes), once.
    #[cold]
    #[inline(never)]
    fn lengthen_demands(&mut self) {
        if self.has_long_demands {
            return;
        }
        (self.has_long_demands, self.has_more) = (true, true);
        let resources = self.resources;
        self.long_demands = self.nodes.iter().flat_map(|node| node.times().into_iter().take(resources)).collect();
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, flow: FlowId) {
        *self.carries.entry(flow).or_insert(0) += 1;
    }

    #[cold]
    #[inline(never)]
    fn borrow(&mut self, flow: FlowId) {
        if let Some(carry) = self.carries.get_mut(&flow) {
            *carry -= 1;
            if *carry == 0 {
                self.carries.remove(&flow);
            }
        }
    }

    /// Checks that the packet can be held at all, and knows its flow from here on.
    #[inline]
    pub(crate) fn admit(&mut self, packet: &Packet) -> Result<(), DropReason> {
        if packet.demand.resources() != self.resources {
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
        let (demand, fits) = halved(packet.demand.first_two());
        if !fits {
            self.lengthen_demands();
        }
        let node = &mut self.nodes[at as usize];
        self.free = node.next;
        *node = Node { next: NIL, bytes: packet.bytes, arrival: packet.arrival, handle: packet.handle, demand };
        let queue = &mut self.flows[packet.flow.index()];
        let tail = queue.tail;
        if tail == NIL {
            queue.head = at;
        } else {
            self.nodes[tail as usize].next = at;
        }
        queue.tail = at;
        queue.packets += 1;
        let carries;
        (queue.bytes, carries) = queue.bytes.overflowing_add(packet.bytes);
        if carries {
            self.carry(packet.flow);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.bytes);
        if self.has_more {
            if let Some(before) = &mut self.before {
                match before.get_mut(at as usize) {
                    Some(before) => *before = tail,
                    None => before.push(tail),
                }
            }
            if self.has_long_demands {
                let start = at as usize * self.resources;
                self.long_demands[start..][..self.resources].copy_from_slice(packet.demand.times());
            }
            self.order_by_length(packet.flow);
        }
    }

    /// Another node, free.
    #[cold]
    fn grow(&mut self) {
        let node = Node { next: NIL, bytes: 0, arrival: Nanos::ZERO, handle: 0, demand: [0; SHORT] };
        self.free = self.nodes.len() as u32;
        self.nodes.push(node);
        if self.has_long_demands {
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
        if !self.carries.is_empty() {
            return self.put_by_length(flow, self.carried(flow));
        }
        self.put_by_length(flow, 0);
    }

    #[inline]
    fn put_by_length(&mut self, flow: FlowId, carried: u64) {
        let Some(by_length) = &mut self.by_length else { return };
        let queue = &self.flows[flow.index()];
        if queue.packets == 0 {
            by_length.remove(flow);
        } else {
            // The longest has the least key; lengths stay below 2^64 - 2^32.
            by_length.set(flow, u64::MAX - u64::from(u32::MAX) - (carried + u64::from(queue.bytes)));
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
    #[inline]
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
        if flow.index() >= self.weights.len() {
            if weight.as_f64() == 1.0 {
                return Some(Weight::ONE);
            }
            self.weights.resize(flow.index() + 1, 1.0);
        }
        let old = core::mem::replace(&mut self.weights[flow.index()], weight.as_f64());
        Weight::new(old)
    }

    pub(crate) fn forget(&mut self, flow: FlowId) {
        if let Some(queue) = self.flows.get_mut(flow.index()) {
            debug_assert_eq!(queue.packets, 0);
            *queue = NEW_FLOW;
        }
        if let Some(weight) = self.weights.get_mut(flow.index()) {
            *weight = 1.0;
        }
    }

    /// Asks the processor to load the flow's queue.
    #[inline]
    pub fn prefetch_flow(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
        prefetch(&self.weights, flow.index());
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
        prefetch(&self.tags, place.0 as usize);
        if self.has_long_demands {
            prefetch(&self.long_demands, place.0 as usize * self.resources);
        }
    }

    /// The same for the youngest as well, behind which the next to arrive will be.
    #[inline]
    pub fn prefetch_ends(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        self.prefetch_place(Place(queue.head));
        prefetch(&self.nodes, queue.tail as usize);
    }

    /// Asks the processor to load the flow's second packet; its head should have been asked for before.
    #[inline]
    pub fn prefetch_second(&self, flow: FlowId) {
        let Some(queue) = self.flows.get(flow.index()) else { return };
        let Some(head) = self.nodes.get(queue.head as usize) else { return };
        self.prefetch_place(Place(head.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Debug, Clone)]
    enum Op {
        Push { flow: u32, bytes: u32, times: [u64; 3] },
        Pop { flow: u32, youngest: bool },
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let bytes = || prop_oneof![Just(1), Just(u32::MAX), any::<u32>()];
        let time =
            || prop_oneof![20 => 0u64..1000, 1 => Just(u64::from(u32::MAX)), 1 => Just(1 << 32), 1 => any::<u64>()];
        let op = prop_oneof![
            3 => (0u32..3, bytes(), [time(), time(), time()])
                .prop_map(|(flow, bytes, times)| Op::Push { flow, bytes, times }),
            2 => (0u32..3, any::<bool>()).prop_map(|(flow, youngest)| Op::Pop { flow, youngest }),
        ];
        prop::collection::vec(op, 1..200)
    }

    proptest! {
        /// Packets of any length and time, more than 2^32 bytes in a queue, against plain queues.
        #[test]
        fn what_waits_is_as_it_came(ops in ops(), resources in 1usize..=3) {
            let limits = Limits { packets: Some(1000), on_full: DropPolicy::Longest, ..Limits::UNLIMITED };
            let mut queues = Queues::new(resources, limits);
            let mut model: [VecDeque<Packet>; 3] = Default::default();
            for (handle, op) in (0..).zip(ops) {
                match op {
                    Op::Push { flow, bytes, times } => {
                        let demand = Demand::new(&times.map(Nanos)[..resources]).expect("1 to 3");
                        let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos(handle * 3), handle, demand };
                        prop_assert_eq!(queues.admit(&packet), Ok(()));
                        queues.push(&packet);
                        queues.tag_tail(FlowId(flow), handle);
                        model[flow as usize].push_back(packet);
                    }
                    Op::Pop { flow, youngest } if !model[flow as usize].is_empty() => {
                        let known = &mut model[flow as usize];
                        let (packet, expected) = if youngest {
                            (queues.pop_tail(FlowId(flow)), known.pop_back())
                        } else {
                            (queues.pop(FlowId(flow)), known.pop_front())
                        };
                        prop_assert_eq!(Some(packet), expected);
                    }
                    Op::Pop { .. } => {}
                }
                let mut longest = None;
                for (flow, known) in (0..).map(FlowId).zip(&model) {
                    let bytes: u64 = known.iter().map(|packet| u64::from(packet.bytes)).sum();
                    prop_assert_eq!(queues.flow_backlog(flow), Backlog { packets: known.len() as u64, bytes });
                    if !known.is_empty() && longest.is_none_or(|(most, _)| bytes > most) {
                        longest = Some((bytes, flow));
                    }
                    let mut waiting = queues.head(flow);
                    for packet in known {
                        let Some(found) = waiting else { panic!("a packet is missing") };
                        prop_assert_eq!((found.bytes(), found.arrival()), (packet.bytes, packet.arrival));
                        prop_assert_eq!((found.demand(), found.tag()), (packet.demand, packet.handle));
                        let times: Vec<Nanos> = (0..resources).map(|resource| found.time(resource)).collect();
                        prop_assert_eq!(&times, packet.demand.times());
                        waiting = found.next();
                    }
                    prop_assert!(waiting.is_none());
                }
                prop_assert_eq!(queues.longest(), longest.map(|(_, flow)| flow));
            }
        }
    }

    #[test]
    fn a_queue_takes_a_quarter_of_a_cache_line_and_a_packet_half_of_one() {
        assert_eq!((size_of::<Flow>(), size_of::<Node>()), (16, 32));
    }
}
