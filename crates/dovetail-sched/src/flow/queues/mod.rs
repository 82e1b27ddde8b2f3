//! Per-flow first-in-first-out queues in one pool of packets.
//!
//! A queued packet is a 32-byte node in a pool, never on two cache lines, linked to the next of its flow. The node includes the
//! packet's demand, so that a packet that is in no cache needs one fetch; if a pipeline has more than two resources, or once a
//! packet takes 4.3 s of one, demands are stored in a table beside the pool. So is what not every policy needs: tags of
//! policies that write any, and backward links if youngest packets may be evicted. Freed nodes are reused last in, first out,
//! while they are warm. Once the pool has grown to the largest backlog, nothing allocates.
//!
//! A flow's queue takes 16 bytes, a quarter of a cache line. Weights are stored in a separate table once one is not 1.

mod limits;
mod longest;
mod prefetching;
mod tags;
#[cfg(test)]
mod tests;
mod waiting;

use alloc::{collections::BTreeMap, vec::Vec};

pub(crate) use self::limits::Full;
pub use self::waiting::{Place, Waiting};
use super::{DropPolicy, FlowId, Limits, Weight};
use crate::{Backlog, Demand, IndexedHeap, MAX_RESOURCES, Nanos, Packet};

const NIL: u32 = u32::MAX;

/// The largest number of resources of most pipelines.
const SHORT: usize = 2;

/// The queues of all flows, with their weights and limits.
#[derive(Debug)]
pub struct Queues {
    resources: usize,
    flows: Vec<Flow>,
    // By flow, up to the last that was given one; flows beyond have weight 1.
    weights: Vec<f64>,
    // The upper halves of byte counts: multiples of 2^32 bytes queued of a flow, if not 0.
    carries: BTreeMap<FlowId, u32>,
    nodes: Vec<Node>,
    // The policy's tags, once it writes one.
    tags: Vec<u64>,
    // Whether any of the following fields is in use; mostly none is.
    has_more: bool,
    // The previous node of each in its queue, meaningless for a head; kept only if youngest packets are evicted.
    before: Option<Vec<u32>>,
    // Whether demands are stored in rows of their own, one per node, because some do not fit into a node.
    has_long_demands: bool,
    long_demands: Vec<Nanos>,
    free: u32,
    backlog: Backlog,
    limits: Limits,
    has_limits: bool,
    // By bytes queued, inverted so that the longest is first; kept only if drops need it.
    by_length: Option<IndexedHeap<FlowId, u64>>,
}

// Never on two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
struct Flow {
    head: u32,
    tail: u32,
    packets: u32,
    // The lower half; the upper half is in `carries`.
    bytes: u32,
}

/// A flow's memory here, whether or not packets of it are queued.
#[cfg(test)]
pub(crate) const BYTES_A_QUEUE: usize = size_of::<Flow>();

const NEW_FLOW: Flow = Flow { head: NIL, tail: NIL, packets: 0, bytes: 0 };

// Fields that are adjacent in a packet are not adjacent here: otherwise one wide load would copy them, and stall on the two
// stores that have only just written the packet.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Node {
    arrival: Nanos,
    next: u32,
    bytes: u32,
    handle: u64,
    // Of constant length, so that it is copied without a call.
    demand: [u32; SHORT],
}

/// The times in half the bytes, and whether they fit.
#[inline(always)]
fn halved(times: [Nanos; SHORT]) -> ([u32; SHORT], bool) {
    (times.map(|time| time.0 as u32), times[0].0 | times[1].0 <= u64::from(u32::MAX))
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

    /// The number of resources of the pipeline.
    #[inline]
    #[must_use]
    pub fn resources(&self) -> usize {
        self.resources
    }

    /// The packets and bytes queued in total.
    #[inline]
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The packets and bytes queued of one flow.
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

    /// The number of packets queued of the flow.
    #[inline]
    #[must_use]
    pub fn len(&self, flow: FlowId) -> u32 {
        self.flows.get(flow.index()).map_or(0, |queue| queue.packets)
    }

    /// Whether no packet of the flow is queued.
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

    /// Moves demands to a table beside the pool. O(nodes), once.
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

    /// Adds a free node.
    #[cold]
    fn grow(&mut self) {
        let node = Node { next: NIL, bytes: 0, arrival: Nanos::ZERO, handle: 0, demand: [0; SHORT] };
        self.free = self.nodes.len() as u32;
        self.nodes.push(node);
        if self.has_long_demands {
            self.long_demands.resize(self.long_demands.len() + self.resources, Nanos::ZERO);
        }
    }

    /// Sets the flow's weight and returns the old one; `None` if the flow's id is over the limit.
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
}
