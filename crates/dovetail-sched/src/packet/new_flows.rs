//! New flows as one flow: protection against floods of one-packet flows.
//!
//! If packets go in order of start tags, a new flow starts at the virtual time `V`. While new flows arrive as fast as they are
//! served, `V` stands still, and an established flow, whose next packet starts at the end of its last, waits for as long as
//! they arrive (`docs/flood.md`). With `new-flows=shared` the first packets of all new flows are served as if they were one
//! flow's: they wait in one line, and its head has the tags that the line's recursion gives it,
//!
//! ```text
//! S_g(k) = max(V, F_g(k-1))        F_g(k) = S_g(k) + L_k / w
//! ```
//!
//! `V` being that of the moment at which the line began to wait, and `w` the weight of the flow whose packet it is. A flow is
//! new until its first packet is released, and again once the environment has [forgotten](crate::Policy::forget) it. With its
//! first packet it is established: its next one starts at that packet's finish tag, as usual, and no earlier than `V`.
//!
//! # Argument
//!
//! The policy sees the established flows and one more flow, the line. All have tags by the policy's own recursion, so its
//! theorems apply to them unchanged, whatever flows are in the line: over any interval in which the established flows `i` and
//! `j` stay backlogged, `|W_i/w_i - W_j/w_j|` is bounded as published, and so is `W_g/w_g - W_i/w_i`, `W_g/w_g` being the sum
//! of `L/w` over the new flows that were served. However many arrive, they take no more from `i` than one backlogged flow does.
//! When a flow leaves the line and becomes a flow of its own, nothing changes for `i`: it starts at a tag that is not below
//! `V`, like any flow that becomes backlogged then. An attacker gains the number of flows that it establishes, and each has to
//! go through the line.
//!
//! The price is delay for flows that are new during a flood, since their first packet waits for the line. Without a flood there
//! is none.
//!
//! A line that is served as one flow holds what the buffer lets it. With tail drop it would fill the buffer and all others
//! would lose packets too, so the policy has a rule: the flow with most bytes queued loses its youngest packet, and the line
//! counts as one flow.
//!
//! O(1) amortised per packet, and O(log n) if a buffer is shared. Evicted packets leave a gap in the line; gaps are closed as
//! soon as they are more than half of it, so it has at most two places for each flow that waits in it.

use alloc::collections::VecDeque;

use crate::{
    FlowHeap, FlowId, Packet, PolicyError, Queues,
    entry::{Knob, Knobs},
    flow::FlowMap,
};

/// The knob.
pub(crate) const NEW_FLOWS: Knob = Knob {
    key: "new-flows",
    default: "each",
    meaning: "each: every new flow is a flow; shared: the first packets of all new flows count as one flow",
    retunable: false,
};

/// Whether the first packets of new flows share the service of one flow.
pub(crate) fn are_shared(knobs: &Knobs<'_>) -> Result<bool, PolicyError> {
    match knobs.text(NEW_FLOWS.key) {
        "each" => Ok(false),
        "shared" => Ok(true),
        _ => Err(knobs.wrong(NEW_FLOWS.key, format_args!("each or shared"))),
    }
}

/// The flows that have not been served yet, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct NewFlows {
    /// Flows and the tickets that they wait under; a ticket that does not match its flow's is a gap.
    line: VecDeque<(FlowId, u64)>,
    gaps: usize,
    tickets: u64,
    flows: FlowMap<Standing>,
    /// Bytes of the flows in the line.
    bytes: u64,
    /// Established flows by bytes queued, the longest first; kept if a buffer is shared.
    lengths: FlowHeap,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    New,
    /// In the line under this ticket.
    InLine(u64),
    Established,
}

impl NewFlows {
    /// Whether the flow's first packet is in the line.
    #[inline]
    pub(crate) fn has(&self, flow: FlowId) -> bool {
        matches!(self.flows.peek(flow), Some(Standing::InLine(_)))
    }

    /// Records an arrival of `flow`. Returns whether the flow has just joined the line.
    pub(crate) fn enqueued(&mut self, queues: &Queues, flow: FlowId) -> bool {
        let bytes = queues.tail(flow).map_or(0, |tail| u64::from(tail.bytes()));
        match *self.flows.at(flow) {
            Standing::Established => {
                self.measure(queues, flow);
                false
            }
            Standing::InLine(_) => {
                self.bytes += bytes;
                false
            }
            Standing::New => {
                self.tickets += 1;
                *self.flows.at(flow) = Standing::InLine(self.tickets);
                self.line.push_back((flow, self.tickets));
                self.bytes += queues.flow_backlog(flow).bytes;
                true
            }
        }
    }

    /// The first flow in the line.
    pub(crate) fn first(&self) -> Option<FlowId> {
        // Gaps at the head are closed immediately.
        self.line.front().map(|&(flow, _)| flow)
    }

    /// Records that the packet was taken from its queue. A flow in the line is established by it.
    pub(crate) fn released(&mut self, queues: &Queues, packet: &Packet) {
        if self.has(packet.flow) {
            self.bytes -= u64::from(packet.bytes);
            self.establish(queues, packet.flow);
        } else {
            self.measure(queues, packet.flow);
        }
    }

    /// Makes a flow that is in the line an established one.
    pub(crate) fn establish(&mut self, queues: &Queues, flow: FlowId) {
        self.bytes -= queues.flow_backlog(flow).bytes;
        *self.flows.at(flow) = Standing::Established;
        self.gaps += 1;
        self.close();
        self.measure(queues, flow);
    }

    /// Records that a queued packet was lost; a flow with none left leaves the line.
    pub(crate) fn evicted(&mut self, queues: &Queues, lost: &Packet) {
        let flow = lost.flow;
        if !self.has(flow) {
            return self.measure(queues, flow);
        }
        self.bytes -= u64::from(lost.bytes);
        if queues.is_empty(flow) {
            *self.flows.at(flow) = Standing::New;
            self.gaps += 1;
            self.close();
        }
    }

    /// Forgets the flow; its id will be reused.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        self.flows.reset(flow);
        self.lengths.remove(flow);
    }

    /// The flow that loses its youngest packet when `arriving` finds the buffer full; `None` refuses it.
    pub(crate) fn victim(&self, arriving: &Packet) -> Option<FlowId> {
        let longest = self.lengths.peek().map(|(flow, key)| (flow, ABOVE_ANY - key));
        match longest {
            Some((flow, bytes)) if bytes >= self.bytes as f64 && bytes > 0.0 => Some(flow),
            _ if self.flows.peek(arriving.flow) != Some(&Standing::Established) => None,
            _ => self.line.iter().rev().find(|&&(flow, ticket)| self.is(flow, ticket)).map(|&(flow, _)| flow),
        }
    }

    fn is(&self, flow: FlowId, ticket: u64) -> bool {
        self.flows.peek(flow) == Some(&Standing::InLine(ticket))
    }

    fn measure(&mut self, queues: &Queues, flow: FlowId) {
        if !queues.limits().has_buffer() {
            return;
        }
        match queues.flow_backlog(flow).bytes {
            0 => self.lengths.remove(flow),
            bytes => self.lengths.set(flow, ABOVE_ANY - bytes as f64),
        }
    }

    /// Removes gaps: those at the head, and all if they are more than half of the line.
    fn close(&mut self) {
        let Self { line, gaps, flows, .. } = self;
        let is = |&(flow, ticket): &(FlowId, u64)| flows.peek(flow) == Some(&Standing::InLine(ticket));
        while line.front().is_some_and(|place| !is(place)) {
            line.pop_front();
            *gaps -= 1;
        }
        if *gaps * 2 > line.len() {
            line.retain(is);
            *gaps = 0;
        }
    }
}

/// An integer above any queue's bytes: the longest queue has the least difference to it.
const ABOVE_ANY: f64 = (1u64 << 53) as f64;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{Demand, Limits, Nanos};

    fn packet(flow: u32) -> Packet {
        let demand = Demand::new(&[Nanos(1)]).expect("one resource");
        Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand }
    }

    fn push_into(queues: &mut Queues, flow: u32) {
        queues.admit(&packet(flow)).expect("few flows");
        queues.push(&packet(flow));
    }

    #[test]
    fn a_line_keeps_its_order_and_closes_its_gaps() {
        let mut queues =
            Queues::new(1, Limits { packets: Some(1000), on_full: crate::DropPolicy::Policy, ..Limits::UNLIMITED });
        let mut new_flows = NewFlows::default();
        for flow in 0..100 {
            push_into(&mut queues, flow);
            assert!(new_flows.enqueued(&queues, FlowId(flow)));
            push_into(&mut queues, flow);
            assert!(!new_flows.enqueued(&queues, FlowId(flow)));
        }
        assert_eq!((new_flows.bytes, new_flows.first()), (20_000, Some(FlowId(0))));
        let lose = |new_flows: &mut NewFlows, queues: &mut Queues, flow: u32| {
            for _ in 0..2 {
                let lost = queues.pop_tail(FlowId(flow));
                new_flows.evicted(queues, &lost);
            }
        };
        for flow in (0..100).filter(|flow| flow % 10 != 7) {
            lose(&mut new_flows, &mut queues, flow);
            assert!(new_flows.line.len() <= 2 * (new_flows.line.len() - new_flows.gaps), "{new_flows:?}");
        }
        assert_eq!(new_flows.bytes, 2_000);
        // A flow that arrives again is at the end, once.
        push_into(&mut queues, 3);
        assert!(new_flows.enqueued(&queues, FlowId(3)));
        let mut order = Vec::new();
        while let Some(flow) = new_flows.first() {
            let sent = queues.pop(flow);
            new_flows.released(&queues, &sent);
            order.push(flow.0);
        }
        assert_eq!(order, [7, 17, 27, 37, 47, 57, 67, 77, 87, 97, 3]);
        assert_eq!(new_flows.bytes, 0);
        // One packet is left of each flow that had two; those are established now, and equally long.
        assert!(new_flows.victim(&packet(500)).is_some());
        new_flows.forget(FlowId(7));
        queues.pop(FlowId(7));
        push_into(&mut queues, 7);
        assert!(new_flows.enqueued(&queues, FlowId(7)));
    }

    #[test]
    fn the_longest_loses() {
        let mut queues =
            Queues::new(1, Limits { packets: Some(9), on_full: crate::DropPolicy::Policy, ..Limits::UNLIMITED });
        let mut new_flows = NewFlows::default();
        let mut push = |new_flows: &mut NewFlows, flow: u32| {
            push_into(&mut queues, flow);
            new_flows.enqueued(&queues, FlowId(flow));
        };
        push(&mut new_flows, 0);
        *new_flows.flows.at(FlowId(0)) = Standing::Established;
        new_flows.line.clear();
        new_flows.bytes = 0;
        for flow in [0, 0, 1, 2] {
            push(&mut new_flows, flow);
        }
        // Three packets of flow 0 against two of new flows.
        assert_eq!(new_flows.victim(&packet(9)), Some(FlowId(0)));
        for flow in [3, 4] {
            push(&mut new_flows, flow);
        }
        assert_eq!((new_flows.victim(&packet(9)), new_flows.victim(&packet(0))), (None, Some(FlowId(4))));
    }
}
