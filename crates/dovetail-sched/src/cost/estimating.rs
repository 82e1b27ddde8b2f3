//! A scheduler that runs on estimated costs.
//!
//! When a packet of flow `i` and program `a` arrives, its cost `P` on the first resource is estimated and fixed; on every later
//! resource the cost at its length on arrival is multiplied by the expansion factor learnt so far. When the packet leaves a
//! resource, feedback reports what it really took, and both the estimator of (program, flow) and that of the program learn from
//! it.
//!
//! # Settling
//!
//! An estimate is fixed at arrival, so a sender that knows how it is computed can have cheap packets measured and then queue
//! expensive ones at the price of cheap ones. With `settle=yes` each flow has an account on every resource: what its packets
//! took beyond their estimates. The next packet that arrives is charged its estimate plus the account's balance, or less by the
//! account's credit; credit is capped at one packet's estimate, so none can be saved up while no other flow competes. At any
//! time, with `Q` packets of the flow queued or in service, each of cost `P_max` at most,
//!
//! ```text
//! service received  <=  service charged for  +  (Q + 1)·P_max
//! ```
//!
//! since packets that are not measured yet owe what the account does not hold yet, and the account itself is what a batch of at
//! most `Q` packets left behind, charged with the next packet. The bound does not grow with time. With `settle=no`, as in the
//! paper, there is no such bound for senders that time their packets; for others see [`Smoothing`] and [`LeastSquares`].
//!
//! A measurement is capped at the time since the packet was dispatched: a processor's clock may step, the environment's does
//! not.
//!
//! [`Smoothing`]: super::Smoothing
//! [`LeastSquares`]: super::LeastSquares

use super::{
    Estimation, Estimator, Method, ProgramId, ProgramTable,
    accounts::Accounts,
    knowledge::Knowledge,
    pending::{Pending, Pendings},
    references::References,
};
use crate::{
    Admission, Demand, Dispatch, Feedback, FlowId, Interest, LaterStages, Learning, MAX_RESOURCES, Nanos, Packet,
    PolicyError, Scheduler, Setup, Stage, entry::Knobs, forward_scheduler, heap::AHEAD,
};

/// Wraps a scheduler `S` so that it sees estimated costs. Adds O(m) per packet, and O(1) memory for each packet that is queued
/// or in service.
///
/// The environment must report the end of every packet on every resource, and for a packet that leaves the pipeline early (a
/// network function drops it, or a link goes down) where that happened.
#[derive(Debug)]
pub struct Estimating<S> {
    inner: S,
    estimation: Estimation,
    resources: usize,
    most_flows: u32,
    knowledge: Knowledge,
    references: References,
    accounts: Accounts,
    pendings: Pendings,
    errors: Errors,
}

/// Errors of the estimates on the first resource, as sums over packets.
#[derive(Debug, Default)]
struct Errors {
    packets: u64,
    took: f64,
    over: f64,
    absolute: f64,
}

impl<S: Scheduler> Estimating<S> {
    /// Wraps `inner`, which was built for `setup`.
    #[must_use]
    pub fn new(inner: S, estimation: Estimation, setup: &Setup) -> Self {
        Self {
            inner,
            estimation,
            resources: setup.resources,
            most_flows: setup.limits.flows,
            knowledge: Knowledge::new(&setup.programs),
            references: References::default(),
            accounts: Accounts::new(setup.resources),
            pendings: Pendings::new(setup.resources),
            errors: Errors::default(),
        }
    }

    /// The estimated cost on the first resource of a packet of `bytes` of `flow` that arrived now.
    #[must_use]
    pub fn estimate(&self, flow: FlowId, bytes: u32) -> Nanos {
        let (program, estimator) = self.references.current(flow);
        Nanos::from_f64(self.first(program, estimator, bytes))
    }

    /// Prefetches what the next packets need here: the state of each packet and of its flow, then the flow's estimator.
    #[inline]
    fn prefetch_next(&self) {
        let Some((flow, handle)) = self.inner.upcoming(AHEAD / 2) else { return };
        self.pendings.prefetch(handle);
        self.references.prefetch_flow(flow);
        self.accounts.prefetch(flow);
        if let Some((flow, _)) = self.inner.upcoming(AHEAD / 4) {
            self.references.prefetch_latest(flow);
        }
    }

    #[inline]
    fn first(&self, program: ProgramId, estimator: Option<&Estimator>, bytes: u32) -> f64 {
        let configured = match self.estimation.method {
            Method::Line { .. } => self.knowledge.configured(program, bytes),
            Method::Smoothing { .. } | Method::LeastSquares { .. } => None,
        };
        let length = self.knowledge.length(program, bytes);
        let learnt = || estimator.and_then(|estimator| estimator.estimate(length));
        configured.or_else(learnt).or_else(|| self.knowledge.seed(program, bytes)).unwrap_or(0.0)
    }

    /// Returns the packet as `inner` is to see it, and stores its original under the handle that it has there.
    fn priced(&mut self, packet: &Packet) -> Packet {
        let (program, slot) = self.references.reference(packet.flow, self.estimation.method, &self.knowledge);
        let estimator = self.references.estimator(slot);
        let mut estimated = [Nanos::ZERO; MAX_RESOURCES];
        estimated[0] = Nanos::from_f64(self.first(program, estimator, packet.bytes));
        let expansion = estimator.map_or(1.0, Estimator::expansion);
        for (estimate, told) in estimated.iter_mut().zip(packet.demand.times()).skip(1) {
            *estimate = if expansion == 1.0 { *told } else { Nanos::from_f64(told.as_f64() * expansion) };
        }
        let estimated = &estimated[..self.resources];
        let mut charged = [Nanos::ZERO; MAX_RESOURCES];
        for (at, (charge, &estimate)) in charged.iter_mut().zip(estimated).enumerate() {
            *charge = if self.estimation.settle { self.accounts.charge(packet.flow, at, estimate) } else { estimate };
        }
        let charged = &charged[..self.resources];
        let pending = Pending::new(packet, program, slot, self.accounts.holder(packet.flow));
        let handle = self.pendings.add(pending, packet.demand.times(), estimated, charged);
        Packet { handle, demand: Demand::copied(charged), ..*packet }
    }

    /// Returns the packet as the environment knows it, when it leaves without having been served.
    fn unpriced(&mut self, packet: Packet) -> Packet {
        let Some(pending) = self.pendings.find(packet.handle) else { return packet };
        let original = self.pendings.original(&packet, pending);
        if self.estimation.settle {
            let (_, estimated, charged) = self.pendings.amounts(packet.handle);
            for (at, (&estimate, &charge)) in estimated.iter().zip(charged).enumerate() {
                self.accounts.give_back(packet.flow, at, estimate, charge);
            }
        }
        self.pendings.release(packet.handle);
        original
    }

    /// The packet left the pipeline at this event. Nothing is learnt about its cost on the remaining resources; its flow's
    /// accounts are settled for what it did take.
    fn write_off(&mut self, event: &Feedback, pending: &Pending, released: Nanos, now: Nanos) {
        if !self.estimation.settle || pending.holder != self.accounts.holder(event.flow) {
            return;
        }
        let first = usize::from(event.resource);
        for at in (first..self.resources).filter(|&at| !pending.has_ended(at)) {
            let took = if at == first && event.stage == Stage::Aborted { event.took } else { Nanos::ZERO };
            let estimate = self.pendings.amounts(event.ticket).1[at];
            self.accounts.settle(event.flow, at, estimate, took.min(now - released));
        }
    }

    fn learn(&mut self, event: &Feedback, pending: &Pending, released: Nanos, now: Nanos) {
        let at = usize::from(event.resource);
        let took = event.took.min(now - released);
        let (told, estimated, _) = self.pendings.amounts(event.ticket);
        let (told, estimate) = (told[at], estimated[at]);
        if at == 0 {
            let length = self.knowledge.length(pending.program, pending.bytes);
            self.knowledge.observe(pending.program, length, took.0);
            if let Some(estimator) = self.references.measured(pending.slot) {
                estimator.observe(length, took.0);
            }
            self.errors.note(estimate, took);
        } else if told > Nanos::ZERO {
            let ratio = took.as_f64() / told.as_f64();
            self.knowledge.observe_expansion(pending.program, ratio);
            if let Some(estimator) = self.references.measured(pending.slot) {
                estimator.observe_expansion(ratio);
            }
        }
        if self.estimation.settle && pending.holder == self.accounts.holder(event.flow) {
            self.accounts.settle(event.flow, at, estimate, took);
        }
    }
}

impl<S: Scheduler> Learning for Estimating<S> {
    fn set_program(&mut self, flow: FlowId, program: ProgramId) {
        if flow.0 < self.most_flows {
            self.references.set(flow, program, self.estimation.method, &self.knowledge);
        }
    }

    fn learnt(&self) -> ProgramTable {
        self.knowledge.table()
    }
}

impl Errors {
    #[inline]
    fn note(&mut self, estimate: Nanos, took: Nanos) {
        let over = estimate.as_f64() - took.as_f64();
        self.packets += 1;
        self.took += took.as_f64();
        self.over += over;
        self.absolute += over.abs();
    }
}

impl<S: Scheduler> Scheduler for Estimating<S> {
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        if packet.flow.0 >= self.most_flows || packet.demand.times().len() != self.resources {
            return self.inner.enqueue(packet, now);
        }
        let priced = self.priced(packet);
        let admission = self.inner.enqueue(&priced, now);
        if !admission.is_queued() {
            self.unpriced(priced);
        }
        admission
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        let Dispatch { packet, ticket } = self.inner.dequeue(now)?;
        self.prefetch_next();
        let Some(pending) = self.pendings.find_mut(packet.handle) else { return Some(Dispatch { packet, ticket }) };
        pending.ticket = ticket;
        pending.released = Some(now);
        let pending = *pending;
        Some(Dispatch { packet: self.pendings.original(&packet, &pending), ticket: packet.handle })
    }

    fn feedback(&mut self, event: &Feedback, now: Nanos) {
        let Some((pending, released)) = self.pendings.find_released(event.ticket) else { return };
        if usize::from(event.resource) >= self.resources || pending.flow != event.flow {
            return;
        }
        match event.stage {
            Stage::Started => {}
            Stage::Finished => self.learn(event, &pending, released, now),
            Stage::Dropped | Stage::Aborted => self.write_off(event, &pending, released, now),
        }
        if self.inner.interest().has(event.stage, usize::from(event.resource)) {
            self.inner.feedback(&Feedback { ticket: pending.ticket, ..*event }, now);
        }
        match event.stage {
            Stage::Started => {}
            Stage::Finished => self.pendings.ended(event.ticket, usize::from(event.resource)),
            Stage::Dropped | Stage::Aborted => self.pendings.release(event.ticket),
        }
    }

    fn interest(&self) -> Interest {
        (0..self.resources).fold(self.inner.interest(), |interest, at| interest.and(Interest::of(Stage::Finished, at)))
    }

    fn poll_evicted(&mut self) -> Option<Packet> {
        let packet = self.inner.poll_evicted()?;
        Some(self.unpriced(packet))
    }

    fn learning(&mut self) -> Option<&mut dyn Learning> {
        Some(self)
    }

    fn later_stages(&mut self) -> Option<&mut dyn LaterStages> {
        self.inner.later_stages()
    }

    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        knobs.keeps("estimator", Estimation::of(knobs)? == Some(self.estimation))?;
        self.inner.retune(&knobs.with_costs_settled(), now)
    }

    fn forget(&mut self, flow: FlowId) -> bool {
        let forgot = self.inner.forget(flow);
        if forgot {
            self.references.forget(flow);
            self.accounts.forget(flow);
        }
        forgot
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.inner.figures(report);
        let Errors { packets, took, over, absolute } = self.errors;
        report("estimated_packets", packets as f64);
        if took > 0.0 {
            report("cost_error_pct", 100.0 * absolute / took);
            report("cost_bias_pct", 100.0 * over / took);
        }
    }

    forward_scheduler!(inner: poll_at, discard, set_weight, set_resource_weights, backlog, flow_backlog, lets_lone_pass);
}
