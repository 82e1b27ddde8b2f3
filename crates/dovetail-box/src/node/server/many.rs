//! The parts of a node that differ if the CPU consists of several workers.
//!
//! To the policy there is one CPU as fast as all of them: with `n` workers, a packet that took one of them `t` counts as `t
//! / n`. So a flow's share of the CPU, and its dominant resource, are relative to all workers.
//!
//! The end of a packet is reported when the node learns of it, which may be after the end of packets that were chosen later.

use dovetail_sched::{Nanos, Stage};

use super::{CPU, Event, LINK, Node, Wire};
use crate::node::{
    passing::{Action, Outcome, Passing, Work},
    waits::Cause,
    workers::{Begun, Workers},
};

impl Node {
    /// The next event at the workers.
    pub(super) fn next_of(&self, workers: &Workers) -> Option<(Nanos, Event)> {
        let end = workers.next_end().map(|(at, _)| (at, Event::WorkEnds));
        let choice = if !workers.may_choose() {
            None
        } else if workers.kept.is_some() {
            Some(self.at)
        } else {
            self.choice_at()
        };
        let choice = choice.map(|at| (at, Event::Choice));
        match (end, choice) {
            (Some(end), Some(choice)) => Some(end.min(choice)),
            (end, choice) => end.or(choice),
        }
    }

    /// Lets the policy choose another packet, or hands the kept one to its worker.
    pub(super) fn choose_for_workers(&mut self) -> Option<Action> {
        let kept = self.workers.as_mut()?.kept.take();
        if kept.is_some() {
            self.idle_become(Cause::Late, Nanos::MAX);
        }
        let Some(packet) = kept.or_else(|| self.chosen()) else {
            self.is_holding = true;
            self.idle_become(Cause::Held, self.schedulers.poll_at().unwrap_or(Nanos::MAX));
            return None;
        };
        let workers = self.workers.as_mut()?;
        let Some(worker) = workers.place(packet.passage.flow) else {
            workers.keep(packet, self.at);
            self.idle_become(Cause::Held, Nanos::MAX);
            return None;
        };
        let begun = workers.hand_out(worker, packet, self.at);
        self.waits.cpu.ends(packet.class, self.at);
        if let Some(begun) = begun {
            self.begins(worker, &begun);
        }
        let passage = packet.passage;
        Some(Action::Work(Work { flow: passage.flow, handle: passage.handle, start: self.at, worker: worker as u16 }))
    }

    /// Reports the time of the oldest work that this worker has not answered yet.
    pub(super) fn worked_by_one_of_many(&mut self, worker: u16, took: Nanos, outcome: Outcome) {
        let (worker, link) = (usize::from(worker), self.link);
        let Some(workers) = &mut self.workers else { return };
        if let (Some(packet), Outcome::Forward { bytes }) = (workers.unanswered(worker), outcome) {
            packet.passage.bytes = bytes;
            packet.link_time = link.time(bytes);
        }
        workers.answer(worker, took, outcome);
    }

    /// The first packet of a worker has been processed.
    pub(super) fn work_of_worker_ends(&mut self) -> Option<Action> {
        let workers = self.workers.as_ref()?;
        let (_, worker) = workers.next_end()?;
        let (packet, took, outcome) = workers.first(worker)?;
        let (count, others_wait) = (workers.count() as u64, !workers.blocked.is_empty());
        self.figures.worked += 1;
        self.figures.cpu_busy += took;
        self.waits.cpu.served(packet.class, took);
        self.tell(&packet, CPU, Stage::Finished, Nanos(took.0 / count));
        // In excess of its credit, a worker that was not heard from counts as idle.
        let free_at = packet.passage.cpu_end.max(self.credit_from);
        match outcome {
            Outcome::Drop => {
                self.figures.dropped += 1;
                self.tell(&packet, LINK, Stage::Dropped, Nanos::ZERO);
                self.schedulers.ended(&packet);
                self.leaves(worker, &packet, free_at, Cause::Late);
                None
            }
            Outcome::Forward { .. } => {
                self.waits.link.begins(packet.class, packet.passage.cpu_end, self.at);
                match self.wire {
                    Wire::Free => {
                        self.leaves(worker, &packet, free_at, Cause::Late);
                        return Some(self.send_on(packet));
                    }
                    Wire::Taken(_) if self.between.has(self.room) && !others_wait => {
                        self.leaves(worker, &packet, free_at, Cause::Late);
                        self.between.push(packet);
                    }
                    Wire::Taken(_) => {
                        self.workers.as_mut()?.block(worker);
                        self.waits.cpu.becomes(worker, Cause::Stalled, self.at, Nanos::MAX);
                    }
                }
                None
            }
        }
    }

    /// The link has taken a packet from the buffer, or is idle if `None`: unblocks the workers that this makes room for.
    /// Returns the packet to send instead, if it came from a worker.
    pub(super) fn unblock(&mut self, next: Option<&Passing>) -> Option<Passing> {
        let mut is_link_free = next.is_none();
        let mut instead = None;
        while is_link_free || self.between.has(self.room) {
            let worker = self.workers.as_mut()?.blocked.pop_front();
            let Some((worker, (packet, ..))) = worker.and_then(|at| Some((at, self.workers.as_ref()?.first(at)?)))
            else {
                break;
            };
            self.figures.cpu_blocked += self.at - packet.passage.cpu_end;
            self.leaves(worker, &packet, self.at, Cause::Stalled);
            if is_link_free {
                (is_link_free, instead) = (false, Some(packet));
            } else {
                self.between.push(packet);
            }
        }
        instead
    }

    /// A packet leaves its worker, which is free from `free_at` on; from the end of its processing until then the worker
    /// was `meanwhile`.
    fn leaves(&mut self, worker: usize, packet: &Passing, free_at: Nanos, meanwhile: Cause) {
        let begun = self.workers.as_mut().and_then(|workers| workers.leave(worker, free_at));
        let Some(begun) = begun else {
            self.waits.cpu.becomes(worker, Cause::Late, self.at, Nanos::MAX);
            return;
        };
        // Since it was handed out it has waited for this worker, which processed the packets before it.
        let (from, until) = (begun.handed_out, begun.packet.passage.cpu_start);
        let ended = packet.passage.cpu_end.clamp(from, until);
        self.waits.cpu.owes(Cause::Class(packet.class), begun.packet.class, ended - from);
        self.waits.cpu.owes(meanwhile, begun.packet.class, until - ended);
        self.begins(worker, &begun);
    }

    fn begins(&mut self, worker: usize, begun: &Begun) {
        self.waits.cpu.becomes(worker, Cause::Class(begun.packet.class), self.at, Nanos::MAX);
        self.tell(&begun.packet, CPU, Stage::Started, Nanos::ZERO);
    }

    pub(super) fn idle_become(&mut self, cause: Cause, until: Nanos) {
        let Some(workers) = &self.workers else { return };
        for worker in workers.idle() {
            self.waits.cpu.becomes(worker, cause, self.at, until);
        }
    }
}
