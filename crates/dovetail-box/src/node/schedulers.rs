//! The policy in force, and earlier ones until their packets are gone.
//!
//! When a policy is replaced, queued packets stay with the old one, which keeps choosing until it is empty; arrivals go to
//! the new one. So no packet is lost, and none overtakes another of its flow.

use std::collections::VecDeque;

use dovetail_sched::{Admission, Backlog, Dispatch, Feedback, FlowId, Nanos, Packet, Scheduler, Stage};

use super::passing::Passing;

/// Generations from the oldest to the one in force; never empty.
#[derive(Debug)]
pub(super) struct Schedulers {
    generations: VecDeque<Generation>,
    in_force: u64,
}

#[derive(Debug)]
struct Generation {
    number: u64,
    scheduler: Box<dyn Scheduler>,
    lets_lone_pass: bool,
    /// Packets that it chose and that have not ended.
    passing: u64,
}

impl Generation {
    fn new(number: u64, scheduler: Box<dyn Scheduler>) -> Self {
        Self { number, lets_lone_pass: scheduler.lets_lone_pass(), scheduler, passing: 0 }
    }

    fn is_over(&self) -> bool {
        self.passing == 0 && self.scheduler.backlog().packets == 0
    }
}

impl Schedulers {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self { generations: VecDeque::from([Generation::new(0, scheduler)]), in_force: 0 }
    }

    pub(super) fn replace(&mut self, scheduler: Box<dyn Scheduler>) {
        self.in_force += 1;
        self.generations.retain(|generation| !generation.is_over());
        self.generations.push_back(Generation::new(self.in_force, scheduler));
    }

    pub(super) fn in_force(&mut self) -> &mut dyn Scheduler {
        let last = self.generations.len() - 1;
        &mut *self.generations[last].scheduler
    }

    pub(super) fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        self.in_force().enqueue(packet, now)
    }

    pub(super) fn poll_evicted(&mut self) -> Option<Packet> {
        self.in_force().poll_evicted()
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.generations.iter().fold(Backlog::default(), |sum, one| sum + one.scheduler.backlog())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.generations.iter().all(|one| one.scheduler.backlog().packets == 0)
    }

    /// Whether the policy in force chooses a packet whenever there is one.
    pub(super) fn let_lone_pass(&self) -> bool {
        self.generations.back().is_some_and(|last| last.lets_lone_pass)
    }

    pub(super) fn forget(&mut self, flow: FlowId) -> bool {
        self.generations.iter_mut().all(|one| one.scheduler.forget(flow))
    }

    /// When to call `dequeue` again after it returned no packet.
    pub(super) fn poll_at(&self) -> Option<Nanos> {
        self.generations.iter().find(|one| one.scheduler.backlog().packets > 0)?.scheduler.poll_at()
    }

    /// The next packet, and the generation that chose it.
    pub(super) fn dequeue(&mut self, now: Nanos) -> Option<(Dispatch, u64)> {
        let turn = self.generations.iter_mut().find(|one| one.scheduler.backlog().packets > 0)?;
        let dispatch = turn.scheduler.dequeue(now)?;
        turn.passing += 1;
        Some((dispatch, turn.number))
    }

    fn of(&mut self, packet: &Passing) -> Option<&mut Generation> {
        self.generations.iter_mut().find(|one| one.number == packet.generation)
    }

    /// Gives feedback to the generation that chose the packet, if it wants any.
    pub(super) fn tell(&mut self, packet: &Passing, resource: u8, stage: Stage, took: Nanos, now: Nanos) {
        let event = Feedback { flow: packet.passage.flow, ticket: packet.ticket, resource, stage, took };
        if let Some(one) = self.of(packet)
            && one.scheduler.interest().has(stage, resource.into())
        {
            one.scheduler.feedback(&event, now);
        }
    }

    /// A packet has ended. A scheduler that is no longer in force is dropped with its last one.
    pub(super) fn ended(&mut self, packet: &Passing) {
        let in_force = self.in_force;
        if let Some(one) = self.of(packet) {
            one.passing -= 1;
            if one.number != in_force && one.is_over() {
                self.generations.retain(|one| one.number == in_force || !one.is_over());
            }
        }
    }
}
