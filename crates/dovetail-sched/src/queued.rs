//! Combines queues and a policy into a scheduler.

use alloc::collections::VecDeque;

use crate::{
    DropPolicy, FlowId, Limits, Nanos, Queues, Weight,
    entry::{Knobs, PolicyError},
    flow::Full,
    policy::{Evicted, Policy},
    scheduler::{
        Admission, Backlog, Dispatch, DropReason, Feedback, Interest, LaterStages, Learning, Packet, Scheduler,
    },
};

/// A [`Scheduler`] made of per-flow queues and a policy `P` over them.
#[derive(Debug)]
pub struct Queued<P> {
    queues: Queues,
    policy: P,
    evicted: VecDeque<Packet>,
}

impl<P: Policy> Queued<P> {
    /// A scheduler over `resources` resources (1 to [`MAX_RESOURCES`](crate::MAX_RESOURCES)).
    ///
    /// # Panics
    /// If `resources` is out of range.
    #[must_use]
    pub fn new(policy: P, resources: usize, limits: Limits) -> Self {
        let on_full = match limits.on_full {
            _ if policy.has_drop_rule() => DropPolicy::Policy,
            DropPolicy::Policy => DropPolicy::Longest,
            asked => asked,
        };
        let limits = Limits { on_full, ..limits };
        Self { queues: Queues::new(resources, limits), policy, evicted: VecDeque::new() }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// Makes room for `packet`, or returns why there is none.
    fn make_room(&mut self, packet: &Packet, now: Nanos) -> Result<(), DropReason> {
        // A packet that would not fit alone evicts nothing.
        if let Some(full) = self.queues.too_long_for(packet) {
            return Err(match full {
                Full::Flow => DropReason::FlowFull,
                Full::Buffer => DropReason::BufferFull,
            });
        }
        while let Some(full) = self.queues.full_for(packet) {
            let (victim, end, reason) = match (full, self.queues.limits().on_full) {
                (Full::Flow, DropPolicy::Head) => (packet.flow, Evicted::Head, DropReason::FlowFull),
                (Full::Flow, _) => return Err(DropReason::FlowFull),
                (Full::Buffer, DropPolicy::Tail) => return Err(DropReason::BufferFull),
                (Full::Buffer, DropPolicy::Head) => (packet.flow, Evicted::Head, DropReason::BufferFull),
                (Full::Buffer, rule) => {
                    let victim = match rule {
                        DropPolicy::Policy => self.policy.victim(&self.queues, packet, now),
                        _ => self.queues.longest(),
                    };
                    (victim.unwrap_or(packet.flow), Evicted::Tail, DropReason::BufferFull)
                }
            };
            if self.queues.is_empty(victim) || (victim == packet.flow && end == Evicted::Tail) {
                return Err(reason);
            }
            self.policy.making_room(&mut self.queues, now);
            self.evict(victim, end);
        }
        Ok(())
    }

    fn evict(&mut self, victim: FlowId, end: Evicted) {
        let lost = match end {
            Evicted::Head => self.queues.pop(victim),
            Evicted::Tail => self.queues.pop_tail(victim),
        };
        self.evicted.push_back(lost);
        self.policy.evicted(&mut self.queues, &lost, end);
    }
}

impl<P: Policy> Scheduler for Queued<P> {
    #[inline]
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        let room = match self.queues.admit(packet) {
            Ok(()) if self.queues.has_limits() => self.make_room(packet, now),
            admitted => admitted,
        };
        if room.is_ok() {
            self.queues.push(packet);
            self.policy.enqueued(&mut self.queues, packet.flow, now);
        }
        Admission { refused: room.err(), evicted: !self.evicted.is_empty() }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        if self.queues.backlog().packets == 0 {
            return None;
        }
        self.policy.dequeue(&mut self.queues, now)
    }

    fn poll_at(&self) -> Option<Nanos> {
        if self.queues.backlog().packets == 0 { None } else { self.policy.poll_at() }
    }

    fn lets_lone_pass(&self) -> bool {
        self.policy.lets_lone_pass()
    }

    #[inline]
    fn feedback(&mut self, event: &Feedback, now: Nanos) {
        self.policy.feedback(&mut self.queues, event, now);
    }

    fn interest(&self) -> Interest {
        self.policy.interest()
    }

    fn poll_evicted(&mut self) -> Option<Packet> {
        self.evicted.pop_front()
    }

    fn discard(&mut self, flow: FlowId) -> bool {
        let any = !self.queues.is_empty(flow);
        while !self.queues.is_empty(flow) {
            let lost = self.queues.pop(flow);
            self.evicted.push_back(lost);
            self.policy.discarded(&mut self.queues, &lost);
        }
        any
    }

    fn set_weight(&mut self, flow: FlowId, weight: Weight) {
        if let Some(old) = self.queues.set_weight(flow, weight)
            && old != weight
        {
            self.policy.weight_changed(&mut self.queues, flow, old);
        }
    }

    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]) {
        if flow.0 < self.queues.limits().flows && weights.len() == self.queues.resources() {
            match self.policy.resource() {
                Some(at) => self.set_weight(flow, weights[at]),
                None => self.policy.resource_weights(&mut self.queues, flow, weights),
            }
        }
    }

    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        self.policy.retune(&mut self.queues, knobs, now)
    }

    fn forget(&mut self, flow: FlowId) -> bool {
        if !self.queues.is_empty(flow) {
            return false;
        }
        self.queues.forget(flow);
        self.policy.forget(flow);
        true
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn flow_backlog(&self, flow: FlowId) -> Backlog {
        self.queues.flow_backlog(flow)
    }

    #[inline]
    fn upcoming(&self, ahead: usize) -> Option<(FlowId, u64)> {
        let flow = self.policy.upcoming(ahead)?;
        Some((flow, self.queues.head(flow)?.handle()))
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.policy.figures(report);
    }

    fn learning(&mut self) -> Option<&mut dyn Learning> {
        None
    }

    fn later_stages(&mut self) -> Option<&mut dyn LaterStages> {
        None
    }
}
