//! `atfq`: active time fairness queueing.
//!
//! Zhang, Qi, Guo, Li, Li and Jin, *ATFQ: a fair and efficient packet scheduling method in multi-resource
//! environments*, IEEE Transactions on Network and Service Management 12(4), 2015.
//!
//! **Fairness.** Each packet has a finish tag `F`, the *active time* of its flow when it is finished: the one that
//! [`nowait`](super::nowait) computes, divided by the flow's weight packet by packet,
//!
//! ```text
//! F(k+1) = F(k) + active_increment(k, k+1) / w                                     (eqs. 2–5)
//! ```
//!
//! A newly backlogged flow starts at the largest tag among the packets in process, `V`, or at 0 in an empty box (eq. 1). In the
//! paper that is all, and it can be exploited: a flow that sends its next packet when its last has just been released is newly
//! backlogged every time, finds its own last tag in process, gets it again, and never advances; all others starve. Here the
//! flow's own recursion also counts, as long as the box has not been empty since:
//!
//! ```text
//! F = max(V, F(last) + active_increment(last, first) / w)
//! ```
//!
//! Eq. 1 also leaves open which `V` applies while packets are queued and none is in process, between the finish of one and the
//! start of the next: here it is the tag of the last released packet.
//!
//! **Efficiency.** Packets are served loop by loop. A loop holds the `x` packets with the smallest tags over all flows, several
//! of one flow if need be (`batch=x`), or those whose tags lie in one *time domain* `[T, T + D)` (`domain=D`; the domains tile
//! time, empty ones are skipped, and 4096 packets fill a loop). Within it they go in the order that leaves the first resource
//! idle least, including the gap after the previous loop's last packet: `E = Σ L(p,1) + Σ gap` (eq. 6). For two resources that
//! order is exact, for more it is the best that a bounded search finds; see the module `sequencer`. The counter
//! `gap_over_bound_percent` is how much longer `E` was, over all loops, than a lower bound on every order: for two resources it
//! is 0 unless flows with unequal packets have several in one loop, whose order must be kept.
//!
//! Since loops take the smallest tags there are, the tags that two backlogged flows have reached differ at the end of a loop by
//! at most what one packet adds, and within a domain by less than `D` more. A flow's first packet has the tag at which the flow
//! begins, so its own time is in no tag: the active times over weights that two flows have received differ by up to one first
//! packet's whole time through the box, over its flow's weight, more than that. `batch=1` serves strictly by tags. (The paper
//! states no bound.)
//!
//! A new flow starts at `V`, so while new flows arrive as fast as they are served, an established flow waits. With
//! `new-flows=shared` the first packets of all new flows share the tags of a single flow, which the recursion above gives, so
//! that all of them together get no more active time than one flow does. See the module `new_flows`.
//!
//! O(log n) per packet for the n backlogged flows, and O(log x) for the order of two resources. If an order must be searched
//! for, blocks of `b <= 64` packets take O(b) per packet in general and O(b²) at worst, plus `effort` states per packet. The
//! whole loop is formed when its first packet is requested. Dropping a queued packet costs up to O(x).
//!
//! # Worked example
//!
//! The paper's Fig. 1: flow 0 needs 4 units of both resources, flow 1 two of the first and one of the second. Strict fairness
//! alternates one packet of flow 0 with two of flow 1, and the first resource idles for 2 units after each of flow 0's, 20 % of
//! the time. A loop of six groups packets that fit:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let order = |policy: &str| -> Result<Vec<u32>, Box<dyn core::error::Error>> {
//!     let mut atfq = policy.parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
//!     for handle in 0..20 {
//!         for (flow, times) in [(0, [Nanos(4), Nanos(4)]), (1, [Nanos(2), Nanos(1)])] {
//!             let demand = Demand::new(&times)?;
//!             let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!             atfq.enqueue(&packet, Nanos::ZERO);
//!         }
//!     }
//!     Ok(core::iter::from_fn(|| atfq.dequeue(Nanos::ZERO)).take(12).map(|sent| sent.packet.flow.0).collect())
//! };
//! assert_eq!(order("atfq:batch=1")?, [0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]);
//! // Ends with flow 0, so that the next loop can begin with it: one gap in two loops.
//! assert_eq!(order("atfq:batch=6")?, [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod assignment;
mod gilmore_gomory;
mod matrix;
mod merge;
mod sequencer;

use alloc::{boxed::Box, vec::Vec};

use self::sequencer::{MAX_PACKETS, Sequencer};
use super::{
    InService,
    new_flows::{NEW_FLOWS, NewFlows, are_shared},
    nowait::active_increment,
    tags::prefetch_next,
};
use crate::{
    Dispatch, Evicted, Feedback, FlowHeap, FlowId, Interest, MAX_RESOURCES, Nanos, Packet, Policy, PolicyError, Queued,
    Queues, Stage, Weight,
    entry::{Entry, Knob, Knobs, NO_CAUTION},
    flow::{FlowMap, Place, Waiting, per_weight},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "atfq",
    summary: "equal active time, packets sequenced in loops to leave the first resource few gaps",
    knobs: &[
        Knob {
            key: "batch",
            default: "20",
            meaning: "packets in a loop, 1 to 4096; more is more efficient, less fair",
            retunable: true,
        },
        Knob {
            key: "domain",
            default: "none",
            meaning: "active time that a loop spans, such as 100us, instead of batch",
            retunable: true,
        },
        Knob {
            key: "effort",
            default: "50",
            meaning: "moves tried per packet to improve a loop's order where no optimum is known, 0 to 10000",
            retunable: true,
        },
        NEW_FLOWS,
    ],
    cost: "O(log n + log batch)",
    source: "Zhang et al., IEEE TNSM 12(4), 2015",
    build: |knobs, setup| {
        let (cut, effort) = (Cut::of(knobs)?, effort(knobs)?);
        let policy = Atfq::new(cut, effort, setup.resources);
        let policy = if are_shared(knobs)? { policy.sharing_new_flows() } else { policy };
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

/// Where one loop ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// After this many packets, from 1 to 4096.
    Batch(usize),
    /// When active time passes a multiple of this, which must not be 0.
    Domain(Nanos),
}

impl Cut {
    fn of(knobs: &Knobs<'_>) -> Result<Self, PolicyError> {
        let batch = knobs.count("batch", 1, MAX_PACKETS as u64)?;
        match knobs.given("domain") {
            None => Ok(Self::Batch(batch as usize)),
            Some(_) if knobs.given("batch").is_some() => {
                Err(knobs.wrong("domain", format_args!("possible beside batch: give one of the two")))
            }
            Some(_) => match knobs.time("domain")? {
                Nanos::ZERO => Err(knobs.wrong("domain", format_args!("more than 0"))),
                domain => Ok(Self::Domain(domain)),
            },
        }
    }
}

fn effort(knobs: &Knobs<'_>) -> Result<u64, PolicyError> {
    knobs.count("effort", 0, 10_000)
}

/// Active time fairness queueing.
#[derive(Debug)]
pub struct Atfq {
    cut: Cut,
    last_resource: usize,
    flows: FlowMap<State>,
    // Flows with packets that are in no loop, by the tag of the first of those.
    waiting: FlowHeap,
    // The current loop: the flow of each packet in order; `played` of them have been released.
    order: Vec<FlowId>,
    played: usize,
    sequencer: Sequencer,
    in_service: InService,
    // Counts transitions of the box from empty to busy.
    busy_period: u64,
    last_tag: f64,
    last_demand: [Nanos; MAX_RESOURCES],
    figures: Figures,
    shared: Option<Shared>,
}

/// The line of new flows, with the state of a single flow.
#[derive(Debug, Default)]
struct Shared {
    line: NewFlows,
    state: State,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    // The tag and the demand of the last packet that was released, in this busy period of the box.
    tag: f64,
    busy_period: u64,
    // Eq. 1 at the time when the flow was last newly backlogged.
    floor: f64,
    // The number of places of the current loop that are the flow's.
    chosen: u32,
    // While a loop is formed: the flow's first packet that is not chosen, and the sequencer's name for its last that is.
    next: Place,
    last_chosen: u16,
    demand: [Nanos; MAX_RESOURCES],
}

impl State {
    /// The tag of the flow's oldest queued packet, which takes `times`.
    #[inline]
    fn head_tag(&self, busy_period: u64, times: &[Nanos], weight: f64) -> f64 {
        if self.busy_period != busy_period {
            return self.floor;
        }
        let increment = active_increment(Some(&self.demand[..times.len()]), times);
        self.floor.max(self.tag + per_weight(increment.as_f64(), weight))
    }
}

#[derive(Debug, Default)]
struct Figures {
    loops: u64,
    busy_ns: f64,
    gap_ns: f64,
    bound_ns: f64,
}

impl Atfq {
    /// Loops end by `cut`; up to `effort` states per packet are searched to improve an order, over `resources` resources.
    #[must_use]
    pub fn new(cut: Cut, effort: u64, resources: usize) -> Self {
        Self {
            cut,
            last_resource: resources.saturating_sub(1),
            flows: FlowMap::new(),
            waiting: FlowHeap::new(),
            order: Vec::new(),
            played: 0,
            sequencer: Sequencer::new(resources, effort),
            in_service: InService::new(1),
            busy_period: 0,
            last_tag: 0.0,
            last_demand: [Nanos::ZERO; MAX_RESOURCES],
            figures: Figures::default(),
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
        let floor = self.newly_busy_tag();
        let Some(shared) = &mut self.shared else { return false };
        let was_empty = shared.line.first().is_none();
        if shared.line.enqueued(queues, flow) && was_empty {
            shared.state.floor = floor;
        }
        shared.line.has(flow)
    }

    /// The line's first flow and its tag.
    fn first_new_flow(&self, queues: &Queues) -> Option<(FlowId, f64)> {
        let shared = self.shared.as_ref()?;
        let flow = shared.line.first()?;
        let head = queues.head(flow)?;
        Some((flow, shared.state.head_tag(self.busy_period, head.demand().times(), queues.weight(flow))))
    }

    /// The flow whose packet has the least tag among those in no loop: a queued one, or the first new flow. With `establish`
    /// the new flow becomes established and takes over the line's tag.
    #[inline]
    fn least(&mut self, queues: &Queues, establish: bool) -> Option<(FlowId, f64)> {
        if self.shared.is_none() { self.waiting.peek() } else { self.least_of_all(queues, establish) }
    }

    fn least_of_all(&mut self, queues: &Queues, establish: bool) -> Option<(FlowId, f64)> {
        let waiting = self.waiting.peek();
        let new_flow = self.first_new_flow(queues);
        let goes_first =
            |&(flow, tag): &(FlowId, f64)| waiting.is_none_or(|(other, least)| (tag, flow) < (least, other));
        let Some((flow, tag)) = new_flow.filter(goes_first) else { return waiting };
        if let Some(shared) = self.shared.as_mut().filter(|_| establish) {
            shared.line.establish(queues, flow);
            (shared.state.tag, shared.state.busy_period) = (tag, self.busy_period);
            if let Some(head) = queues.head(flow) {
                remember(&mut shared.state.demand, head.demand().times());
            }
            self.flows.at(flow).floor = tag;
        }
        new_flow
    }

    /// The box was empty: tags restart from 0.
    fn begin_busy_period(&mut self) {
        self.busy_period += 1;
        self.last_tag = 0.0;
        // Packets of the last loop may have been dropped.
        for &flow in &self.order[self.played..] {
            self.flows.at(flow).chosen = 0;
        }
        self.order.clear();
        self.played = 0;
    }

    /// Eq. 1 at this moment.
    fn newly_busy_tag(&self) -> f64 {
        self.in_service.largest(0).unwrap_or(self.last_tag)
    }

    /// Orders the flow by its first packet that is in no loop, or removes it if there is none. Walks over the flow's packets in
    /// the loop, at most once a flow among the arrivals between two loops.
    fn file(&mut self, queues: &Queues, flow: FlowId) {
        if self.shared.as_ref().is_some_and(|shared| shared.line.has(flow)) {
            return;
        }
        let state = self.flows.at(flow);
        let Some(mut packet) = queues.head(flow).filter(|_| queues.len(flow) > state.chosen) else {
            self.waiting.remove(flow);
            return;
        };
        let weight = queues.weight(flow);
        let mut tag = state.head_tag(self.busy_period, packet.demand().times(), weight);
        for _ in 0..state.chosen {
            let Some(next) = packet.next() else { break };
            tag += step(packet, next, weight);
            packet = next;
        }
        self.waiting.set(flow, tag);
    }

    /// Chooses the packets of the next loop and orders them.
    fn form_loop(&mut self, queues: &Queues) {
        self.sequencer.clear();
        self.played = 0;
        let (end, most) = match self.cut {
            Cut::Batch(packets) => (f64::INFINITY, packets),
            Cut::Domain(length) => {
                let least = self.least(queues, false).map_or(0.0, |(_, tag)| tag);
                let domain = (least / length.as_f64()) as u64;
                ((domain as f64 + 1.0) * length.as_f64(), MAX_PACKETS)
            }
        };
        let mut busy = Nanos::ZERO;
        while let Some((_, tag)) = self.least(queues, false) {
            let chosen = self.sequencer.len();
            // The first is taken even if tags are so large that adding a domain does not change them.
            if chosen >= most || (tag >= end && chosen > 0) {
                break;
            }
            let Some((flow, _)) = self.least(queues, true) else { break };
            let state = self.flows.at(flow);
            let (packet, previous) = match state.chosen {
                0 => (queues.head(flow), None),
                _ => (Some(queues.waiting(state.next)), Some(state.last_chosen)),
            };
            let Some(packet) = packet else {
                debug_assert!(false, "flow {flow} is in order without a packet");
                self.waiting.remove(flow);
                continue;
            };
            state.chosen += 1;
            state.last_chosen = self.sequencer.push(flow, packet.demand().times(), previous);
            busy += packet.time(0);
            match packet.next() {
                Some(next) => {
                    state.next = next.place();
                    self.waiting.set(flow, tag + step(packet, next, queues.weight(flow)));
                }
                None => self.waiting.remove(flow),
            }
            prefetch_next(&self.waiting, queues, |flow| self.flows.prefetch(flow));
        }
        let mut before = [Nanos::ZERO; MAX_RESOURCES];
        if !self.in_service.is_empty() {
            before = self.last_demand;
        }
        let outcome = self.sequencer.finish(&before[..queues.resources()], &mut self.order);
        self.figures.loops += 1;
        self.figures.busy_ns += busy.as_f64();
        self.figures.gap_ns += outcome.gaps as f64;
        self.figures.bound_ns += outcome.bound as f64;
    }
}

/// The difference between the tag of a queued packet and that of the next.
#[inline]
fn step(packet: Waiting<'_>, next: Waiting<'_>, weight: f64) -> f64 {
    let increment = if packet.is_short() {
        // One resource counts as two, with no time on the second.
        active_increment(Some(&packet.first_two()), &next.first_two())
    } else {
        active_increment(Some(packet.demand().times()), next.demand().times())
    };
    per_weight(increment.as_f64(), weight)
}

/// Copies a packet's times; two of them, the usual case, without a call.
#[inline]
fn remember(demand: &mut [Nanos; MAX_RESOURCES], times: &[Nanos]) {
    match *times {
        [first, second] => (demand[0], demand[1]) = (first, second),
        _ => demand[..times.len()].copy_from_slice(times),
    }
}

impl Policy for Atfq {
    fn interest(&self) -> Interest {
        Interest::of(Stage::Finished, self.last_resource)
    }

    fn has_drop_rule(&self) -> bool {
        self.shared.is_some()
    }

    fn victim(&self, _queues: &Queues, arriving: &Packet, _now: Nanos) -> Option<FlowId> {
        self.shared.as_ref()?.line.victim(arriving)
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        let packets = queues.len(flow);
        if packets == 1 {
            if queues.backlog().packets == 1 && self.in_service.is_empty() {
                self.begin_busy_period();
            }
            let floor = self.newly_busy_tag();
            let state = self.flows.at(flow);
            // A flow that still has places in the loop, whose packets were dropped, was not idle.
            if state.chosen == 0 {
                state.floor = floor;
            }
        }
        if self.shared.is_some() && self.lines_up(queues, flow) {
            return;
        }
        if packets == self.flows.at(flow).chosen + 1 {
            self.file(queues, flow);
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        loop {
            let Some(&flow) = self.order.get(self.played) else {
                self.least(queues, false)?;
                self.form_loop(queues);
                continue;
            };
            self.played += 1;
            let state = self.flows.at(flow);
            // The place of a flow that was forgotten, or whose packets were dropped.
            if state.chosen == 0 {
                continue;
            }
            state.chosen -= 1;
            if queues.is_empty(flow) {
                continue;
            }
            let weight = queues.weight(flow);
            let packet = queues.pop(flow);
            let times = packet.demand.times();
            let tag = state.head_tag(self.busy_period, times, weight);
            state.tag = tag;
            state.busy_period = self.busy_period;
            remember(&mut state.demand, times);
            remember(&mut self.last_demand, times);
            self.last_tag = tag;
            if let Some(shared) = &mut self.shared {
                shared.line.released(queues, &packet);
            }
            return Some(Dispatch { packet, ticket: self.in_service.release([tag]) });
        }
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
        if event.settles(Stage::Finished, self.last_resource) {
            self.in_service.finish(event.ticket);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        self.file(queues, flow);
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        let (cut, effort) = (Cut::of(knobs)?, effort(knobs)?);
        knobs.keeps(NEW_FLOWS.key, are_shared(knobs)? == self.shared.is_some())?;
        // The loop already formed is played to its end.
        self.cut = cut;
        self.sequencer.set_effort(effort);
        Ok(())
    }

    fn forget(&mut self, flow: FlowId) {
        if let Some(shared) = &mut self.shared {
            shared.line.forget(flow);
        }
        self.flows.reset(flow);
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let Figures { loops, busy_ns, gap_ns, bound_ns } = self.figures;
        let shortest = busy_ns + bound_ns;
        report("loops", loops as f64);
        report("gap_us", gap_ns / 1e3);
        report("gap_bound_us", bound_ns / 1e3);
        report("gap_over_bound_percent", if shortest > 0.0 { 100.0 * (gap_ns - bound_ns) / shortest } else { 0.0 });
    }
}
