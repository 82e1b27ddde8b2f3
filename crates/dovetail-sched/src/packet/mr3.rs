//! `mr3`: multi-resource round robin.
//!
//! Wang, Li and Liang, *Multi-resource round robin: a low complexity packet scheduler with dominant resource fairness*, ICNP
//! 2013: elastic round robin (Kanhere, Sethu and Parekh, 2002) on the time that packets take on their dominant resource, and a
//! limit on flows that run ahead in the pipeline.
//!
//! Backlogged flows take turns; a round gives one to each. A flow may overshoot its allowance, by `E_i(r)` in round `r`; its
//! allowance in the next round makes up the difference to the flow that overshot most:
//!
//! ```text
//! B = max_k E_k(r-1) - E_i(r-1);   while backlogged and B >= 0:  send p,  B <- B - max_j s_j(p) / w_i;   E_i(r) = max(0, -B)
//! ```
//!
//! So each turn sends at least one packet, and a packet's cost need not be known before it is sent. A flow that empties leaves
//! the round with `E_i = 0`; its overshoot still counts in the maximum, as in elastic round robin. A new flow joins at the tail
//! and waits for the next round.
//!
//! *Progress control.* With buffers between the resources, flows that are light on the first one would be released far ahead of
//! their work on the last, and a newly backlogged flow would wait behind them. A flow's turn in round `r` begins only when its
//! packets of earlier rounds have all started on the last resource; until then everything waits (`dequeue` returns `None`). One
//! resource needs no such limit. With three or more, a single flow leaves the first idle while its packet crosses those
//! between.
//!
//! # Bounds
//!
//! For constant weights, let `l_i` be the flow's largest dominant time over its weight and `l` the largest `l_i`. The cumulative normalised service
//! of flow `i` after its turn `r` is `P(r) + E_i(r)`, `P` being the sum of the rounds' maxima, the same for all; and
//! `0 <= E_i <= l_i`. Of two flows that stay backlogged the first in the ring is ahead by `-l_k` to `l + l_i`, so over every
//! interval the service *released* differs by at most
//!
//! ```text
//! |T_i/w_i - T_k/w_k| <= l + l_i + l_k <= 3 l
//! ```
//!
//! as in elastic round robin. Progress control extends that to what is *processed* in a pipeline with unbounded buffers, for
//! flows that keep their dominant resource: the processed service of `i` during or after its turn `r` lies between
//! `P(r-1) - l_i` and `P(r) + l_i`, so the difference is at most `3 l + 2 l_i + 2 l_k <= 7 l`. The second bound is our
//! derivation and not the paper's theorem.
//!
//! O(1) per packet. A newly backlogged flow waits up to a round, which grows with the number of flows and with `1/w` of
//! the lightest: see [`gmr3`](super::gmr3) where weights are uneven.
//!
//! # New weights
//!
//! A light flow's overshoot makes a round long, and it must not stay so once the flow is heavy. Let a flow's *level* be what it
//! has received, relative to where the round takes every flow: `E_i(r)` after its turn, `E_i(r-1) - max_k E_k(r-1)` before, `-B`
//! during. A new weight preserves the work that the flow is ahead of the one in front, or behind it. If it is heavier, the round
//! then ends as soon as it has brought every flow to the highest level among that flow and those still to have their turn. Those
//! that have had it remain as far ahead as they were, and the next round makes up for it. O(n) for n backlogged flows. A flow that
//! becomes heavier while it is itself in front of the round does not end it: the others still get what the round was made for.
//!
//! # Worked example
//!
//! Flow 0 sends packets of `<1,3>` µs, flow 1 of `<2,1>` µs. In the first round each sends one and overshoots, by 3 and
//! by 2. In the second, flow 0 is allowed 0, sends one and overshoots by 3 again; flow 1 is allowed 1, sends one and
//! overshoots by 1. In the third flow 0 sends one more and flow 1, allowed 2, sends two: 9 µs of dominant time and 8.
//!
//! ```
//! use dovetail_sched::{Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Stage};
//!
//! let mut mr3 = "mr3".parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
//! let us = Nanos::from_micros;
//! for handle in 0..9 {
//!     for (flow, demand) in [(0, [us(1), us(3)]), (1, [us(2), us(1)])] {
//!         let demand = Demand::new(&demand)?;
//!         let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!         mr3.enqueue(&packet, Nanos::ZERO);
//!     }
//! }
//! let mut order = Vec::new();
//! for _ in 0..7 {
//!     let sent = mr3.dequeue(Nanos::ZERO).expect("the packets before have started on the link");
//!     let flow = sent.packet.flow;
//!     order.push(flow.0);
//!     let started = Feedback { flow, ticket: sent.ticket, resource: 1, stage: Stage::Started, took: Nanos::ZERO };
//!     mr3.feedback(&started, Nanos::ZERO);
//! }
//! assert_eq!(order, [0, 1, 0, 1, 0, 1, 1]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, collections::VecDeque};

use super::tags::rescaled;
use crate::{
    Dispatch, Evicted, Feedback, FlowId, Interest, Nanos, Packet, Policy, PolicyError, Queued, Queues, Stage, Weight,
    entry::{Entry, Knobs, NO_CAUTION},
    flow::{FlowMap, per_weight},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "mr3",
    summary: "elastic round robin on dominant processing time",
    knobs: &[],
    cost: "O(1)",
    source: "Wang, Li & Liang, ICNP 2013",
    build: |_, setup| Ok(Box::new(Queued::new(Mr3::new(setup.resources), setup.resources, setup.limits))),
    caution: NO_CAUTION,
};

#[derive(Debug, Clone, Default)]
struct State {
    // E_i of the flow's last turn, in nanoseconds at weight 1; negative if a new weight has left it something to make up for.
    overshoot: f64,
    // Released packets that have not started on the last resource.
    ahead: u32,
    // Whether the flow is in the ring. It may be there without a packet: see `evicted`.
    listed: bool,
}

/// Multi-resource round robin.
#[derive(Debug)]
pub struct Mr3 {
    resources: usize,
    // The flow whose turn it is is in front; those that joined in this round are behind the first `left`.
    ring: VecDeque<FlowId>,
    // The number of flows whose turn in this round has not ended.
    left: usize,
    in_turn: bool,
    balance: f64,
    // Largest overshoot of the previous round and, so far, of this one.
    allowed: f64,
    largest: f64,
    flows: FlowMap<State>,
}

impl Mr3 {
    /// For `resources` resources.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        Self {
            resources,
            ring: VecDeque::new(),
            left: 0,
            in_turn: false,
            balance: 0.0,
            allowed: 0.0,
            largest: 0.0,
            flows: FlowMap::new(),
        }
    }

    /// Begins the turn of `flow`, which is in front, unless progress control holds it back; returns whether it began.
    #[inline]
    fn begin_turn(&mut self, queues: &Queues, flow: FlowId) -> bool {
        if self.left == 0 {
            self.left = self.ring.len();
            self.allowed = self.largest;
            self.largest = 0.0;
        }
        let state = self.flows.at(flow);
        if state.ahead > 0 && !queues.is_empty(flow) {
            return false;
        }
        self.balance = self.allowed - state.overshoot;
        self.in_turn = true;
        // Prefetches the next flows: first their queues, later their head packets.
        if let Some(&later) = self.ring.get(6) {
            queues.prefetch_flow(later);
            self.flows.prefetch(later);
        }
        if let Some(&soon) = self.ring.get(3) {
            queues.prefetch_head(soon);
        }
        true
    }

    /// Ends the turn of `flow`, which is in front and goes to the tail or leaves.
    #[inline]
    fn end_turn(&mut self, flow: FlowId, leaves: bool) {
        let overshoot = (-self.balance).max(0.0);
        self.largest = self.largest.max(overshoot);
        self.ring.pop_front();
        self.left -= 1;
        self.in_turn = false;
        let state = self.flows.at(flow);
        state.listed = !leaves;
        state.overshoot = if leaves { 0.0 } else { overshoot };
        if !leaves {
            self.ring.push_back(flow);
        } else if self.ring.is_empty() {
            self.largest = 0.0;
        }
    }

    /// The levels of the flows whose turn in this round has not begun, and of the flow in front.
    fn levels_before_turns(&self) -> impl Iterator<Item = f64> + '_ {
        let in_turn = usize::from(self.in_turn);
        let waiting = self.ring.iter().take(self.left).skip(in_turn);
        let of = |flow: &FlowId| self.flows.peek(*flow).map_or(0.0, |state| state.overshoot - self.allowed);
        self.in_turn.then_some(-self.balance).into_iter().chain(waiting.map(of))
    }

    /// Lowers the level to which this round takes every flow to the highest among `level` and those of the flows that are still
    /// to have or to end their turn.
    fn shorten_round(&mut self, level: f64) {
        let goal = self.levels_before_turns().fold(level, f64::max);
        if goal >= 0.0 {
            return;
        }
        self.balance += goal;
        self.allowed += goal;
        for &flow in self.ring.iter().skip(self.left) {
            let overshoot = &mut self.flows.at(flow).overshoot;
            // No turn ends with exactly 0: this flow has joined, and begins where the round ends.
            if *overshoot != 0.0 {
                *overshoot -= goal;
            }
        }
    }
}

impl Policy for Mr3 {
    fn interest(&self) -> Interest {
        match self.resources {
            1 => Interest::NONE,
            resources => Interest::of(Stage::Started, resources - 1),
        }
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.len(flow) > 1 {
            return;
        }
        let state = self.flows.at(flow);
        if !state.listed {
            state.listed = true;
            self.ring.push_back(flow);
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        loop {
            let flow = *self.ring.front()?;
            if !self.in_turn && !self.begin_turn(queues, flow) {
                return None;
            }
            if queues.is_empty(flow) {
                self.end_turn(flow, true);
                continue;
            }
            let packet = queues.pop(flow);
            self.balance -= per_weight(packet.demand.dominant().as_f64(), queues.weight(flow));
            if self.resources > 1 {
                let state = self.flows.at(flow);
                state.ahead = state.ahead.saturating_add(1);
            }
            let emptied = queues.is_empty(flow);
            if emptied || self.balance < 0.0 {
                self.end_turn(flow, emptied);
            }
            return Some(Dispatch::plain(packet));
        }
    }

    /// A flow that loses its last packet keeps its place and leaves in its turn, so that no drop searches the ring.
    fn evicted(&mut self, _queues: &mut Queues, _lost: &Packet, _end: Evicted) {}

    #[inline]
    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, _now: Nanos) {
        if self.resources > 1
            && event.settles(Stage::Started, self.resources - 1)
            && let Some(state) = self.flows.peek_mut(event.flow)
        {
            state.ahead = state.ahead.saturating_sub(1);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, old: Weight) {
        let ratio = old.as_f64() / queues.weight(flow);
        let Some(state) = self.flows.peek(flow).filter(|state| state.listed) else { return };
        if self.left > 0 && self.ring.front() == Some(&flow) {
            // It may still send as much as before, and if it is lighter, no more for that.
            let kept = ratio.min(1.0);
            if self.in_turn {
                self.balance *= kept;
            } else {
                self.flows.at(flow).overshoot = self.allowed - (self.allowed - state.overshoot) * kept;
            }
            return;
        }
        let waits = self.ring.iter().take(self.left).any(|&other| other == flow);
        let goal = if waits { self.allowed } else { 0.0 };
        let front = self.levels_before_turns().next().unwrap_or(0.0);
        let mut level = rescaled(state.overshoot - goal, front, ratio);
        if waits {
            // Less than a packet is forgiven: it would have no turn otherwise.
            level = level.min(0.0);
        }
        self.flows.at(flow).overshoot = level + goal;
        if ratio < 1.0 {
            self.shorten_round(level);
        }
        let had_turns = self.ring.iter().skip(self.left);
        self.largest =
            had_turns.filter_map(|&flow| self.flows.peek(flow)).fold(0.0, |most, state| state.overshoot.max(most));
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)
    }

    fn forget(&mut self, flow: FlowId) {
        // Its place in the ring and its packets in the pipeline remain.
        if let Some(state) = self.flows.peek_mut(flow) {
            state.overshoot = 0.0;
        }
    }
}
