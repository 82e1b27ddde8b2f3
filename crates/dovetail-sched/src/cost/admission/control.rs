//! The admitted flows, and the decision on each new one.

use alloc::collections::BTreeMap;

use super::{
    amount::Amount,
    amounts::Amounts,
    delay::{Block, Bound},
    flow::{Admitted, Flow, UnknownFlow},
    handle::FlowHandle,
    largest::{Costliest, Slacks},
    node::Node,
    refusal::{Broken, Refusal, Whose},
    reservation::Reservation,
};
use crate::{MAX_RESOURCES, Nanos};

/// Admission control of one node: the rules of the [module](super).
#[derive(Debug, Clone)]
pub struct Admission {
    node: Node,
    by: Bound,
    flows: BTreeMap<FlowHandle, Flow>,
    next: u64,
    reserved_per_s: Amounts,
    costliest: Costliest,
    slacks: Slacks,
    best_effort_flows: u32,
}

impl Admission {
    /// Creates admission control for a node without flows; rule 2 uses eq. 14.
    #[must_use]
    pub fn new(node: Node) -> Self {
        Self::going_by(node, Bound::default())
    }

    /// Creates admission control for a node without flows; rule 2 uses the given formula.
    #[must_use]
    pub fn going_by(node: Node, by: Bound) -> Self {
        let always = Block::of(&node.best_effort().packets, node.capacity_per_s());
        Self {
            by,
            flows: BTreeMap::new(),
            next: 0,
            reserved_per_s: node.capacity_per_s().nothing(),
            costliest: Costliest::new(node.resources().len(), always),
            slacks: Slacks::default(),
            best_effort_flows: 0,
            node,
        }
    }

    /// The node.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// The formula that rule 2 uses.
    #[must_use]
    pub const fn by(&self) -> Bound {
        self.by
    }

    /// The number of admitted flows with a reservation.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The number of admitted best-effort flows.
    #[must_use]
    pub const fn best_effort_flows(&self) -> u32 {
        self.best_effort_flows
    }

    /// Admits a flow with a reservation, by rules 1 and 2. O(m log n).
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn admit(&mut self, asked: &Reservation) -> Result<Admitted, Refusal> {
        let ahead = Block::ahead(&self.node, asked).map_err(Refusal::Resources)?;
        self.rates(asked.rate_per_s())?;
        let before = self.costliest.block();
        let block = before.max(&ahead);
        let term = block.term(self.by);
        let flow = Flow {
            rate_per_s: *asked.rate_per_s(),
            ahead,
            own_composite: Bound::Composite.own(asked),
            own_separate: Bound::Separate.own(asked),
            most_delay: asked.most_delay(),
            priority: asked.priority(),
        };
        let own = flow.own(self.by);
        if let Some(most) = flow.most_delay
            && most.0.checked_sub(own.0).is_none_or(|slack| term.0 > slack)
        {
            return Err(Refusal::Delay(Broken { whose: Whose::New, by: self.by, bound: own + term, most }));
        }
        if let Some(broken) = self.broken(self.slacks.least_at(flow.priority), term) {
            return Err(Refusal::Delay(broken));
        }
        let raised = term > before.term(self.by);
        let elsewhere = self.slacks.least_elsewhere(flow.priority).filter(|_| raised);
        let breaks = self.broken(elsewhere, term);
        let handle = self.insert(flow);
        let mut exhausts = [false; MAX_RESOURCES];
        for (last, (&left, &asked)) in
            exhausts.iter_mut().zip(self.left().as_slice().iter().zip(asked.rate_per_s().as_slice()))
        {
            *last = left == Amount::ZERO && asked > Amount::ZERO;
        }
        Ok(Admitted { flow: handle, exhausts, breaks })
    }

    /// Removes a flow and frees its reservation. O(m log n).
    ///
    /// # Errors
    /// [`UnknownFlow`] if it is not admitted.
    pub fn release(&mut self, flow: FlowHandle) -> Result<(), UnknownFlow> {
        let gone = self.flows.remove(&flow).ok_or(UnknownFlow)?;
        self.reserved_per_s = self.reserved_per_s.join(&gone.rate_per_s, Amount::minus);
        self.costliest.remove(flow, &gone.ahead);
        if let Some(slack) = gone.slack(self.by) {
            self.slacks.remove(flow, gone.priority, slack);
        }
        Ok(())
    }

    /// The delay bound of an admitted flow among those admitted now, by either formula; `None` if it is not admitted.
    #[must_use]
    pub fn delay(&self, flow: FlowHandle, by: Bound) -> Option<Nanos> {
        Some(self.flows.get(&flow)?.own(by) + self.costliest.block().term(by))
    }

    /// The delay bound that a flow would have if it were admitted now; `None` if the reservation is for another number of
    /// resources.
    #[must_use]
    pub fn delay_if_admitted(&self, asked: &Reservation, by: Bound) -> Option<Nanos> {
        let ahead = Block::ahead(&self.node, asked).ok()?;
        Some(by.own(asked) + self.costliest.block().max(&ahead).term(by))
    }

    /// Admits a best-effort flow, by rule 3.
    ///
    /// # Errors
    /// [`Refusal::BestEffortFlows`] if their number is at the limit.
    pub fn admit_best_effort(&mut self) -> Result<(), Refusal> {
        let most = self.node.best_effort().most_flows;
        if self.best_effort_flows >= most {
            return Err(Refusal::BestEffortFlows { most });
        }
        self.best_effort_flows += 1;
        Ok(())
    }

    /// Removes a best-effort flow.
    ///
    /// # Errors
    /// [`UnknownFlow`] if there is none.
    pub fn release_best_effort(&mut self) -> Result<(), UnknownFlow> {
        self.best_effort_flows = self.best_effort_flows.checked_sub(1).ok_or(UnknownFlow)?;
        Ok(())
    }

    /// Decides by rule 4 whether a best-effort flow with `waiting` queued packets may queue another.
    ///
    /// # Errors
    /// [`Refusal::Queue`] if the queue is at its limit.
    pub fn admit_packet(&self, waiting: u32) -> Result<(), Refusal> {
        let most = self.node.best_effort().queue_packets;
        if waiting < most { Ok(()) } else { Err(Refusal::Queue { waiting, most }) }
    }

    /// The reserved rate of each resource, in units per second.
    #[must_use]
    pub const fn reserved_per_s(&self) -> &Amounts {
        &self.reserved_per_s
    }

    /// The part of each resource's target that is not reserved, in units per second.
    #[must_use]
    pub fn left(&self) -> Amounts {
        self.node.reservable_per_s().join(&self.reserved_per_s, Amount::minus)
    }

    /// Eqs. 3 and 4: the share of a resource for each best-effort flow, in units per second, rounded down to a billionth.
    /// `None` while there is no best-effort flow, and for a resource that the node does not have.
    #[must_use]
    pub fn best_effort_share(&self, resource: usize) -> Option<Amount> {
        self.left().as_slice().get(resource)?.split(self.best_effort_flows)
    }

    /// Rule 1; the error names the first resource of which too much is requested.
    fn rates(&self, asked: &Amounts) -> Result<(), Refusal> {
        for (resource, (&requested_per_s, &left_per_s)) in
            asked.as_slice().iter().zip(self.left().as_slice()).enumerate()
        {
            if requested_per_s > left_per_s {
                return Err(Refusal::Rate { resource, requested_per_s, left_per_s });
            }
        }
        Ok(())
    }

    /// Checks whether a packet ahead that takes `term` breaks the bound of the flow with the least slack.
    fn broken(&self, least: Option<(Nanos, FlowHandle)>, term: Nanos) -> Option<Broken> {
        let (_, handle) = least.filter(|&(slack, _)| term > slack)?;
        let flow = self.flows.get(&handle)?;
        let (bound, most) = (flow.own(self.by) + term, flow.most_delay?);
        Some(Broken { whose: Whose::Admitted(handle), by: self.by, bound, most })
    }

    fn insert(&mut self, flow: Flow) -> FlowHandle {
        let handle = FlowHandle(self.next);
        self.next += 1;
        self.reserved_per_s = self.reserved_per_s.join(&flow.rate_per_s, Amount::plus);
        self.costliest.add(handle, &flow.ahead);
        if let Some(slack) = flow.slack(self.by) {
            self.slacks.add(handle, flow.priority, slack);
        }
        self.flows.insert(handle, flow);
        handle
    }
}
