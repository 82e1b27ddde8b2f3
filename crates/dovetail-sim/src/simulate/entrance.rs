//! Arrivals, drops and releases at the first resource.

use std::sync::atomic::Ordering;

use dovetail_sched::{Dispatch, Nanos, Packet, Scheduler, cost::ProgramId};

use super::{
    next::Next,
    outcome::{Options, Outcome, Progress, SimulateError},
    truths::Truths,
};
use crate::{
    Observer, Profile,
    workload::{Arrival, Workload},
};

/// Limit of packets that backlogged flows send without time advancing: more than any pipeline has places.
const MAX_AT_ONCE: u64 = 1 << 20;

/// How often progress is reported, in arrivals.
const PROGRESS_EVERY: u64 = 1 << 16;

/// How often a run checks whether to stop, in turns of its loop: every few milliseconds at most.
const STOP_EVERY: u32 = 1 << 12;

pub(super) struct Entrance<'a, O> {
    pub(super) scheduler: &'a mut dyn Scheduler,
    pub(super) observer: &'a mut O,
    pub(super) outcome: Outcome,
    /// Packets that wait for the first resource.
    pub(super) waiting: u64,
    /// Whether the scheduler chose no packet and nothing has happened since.
    pub(super) held: bool,
    truths: Truths,
    /// Turns of the loop since the last check whether to stop.
    turns: u32,
    /// Number of packets that replaced others at the same time, and that time.
    refilled: (Nanos, u64),
    // The program last reported to the scheduler for each flow; `None` before the flow's first packet.
    programs: Vec<Option<ProgramId>>,
}

impl<'a, O: Observer> Entrance<'a, O> {
    pub(super) fn new(scheduler: &'a mut dyn Scheduler, observer: &'a mut O) -> Self {
        let truths = Truths::for_scheduler(scheduler);
        let (outcome, programs) = (Outcome::default(), Vec::new());
        Self {
            scheduler,
            observer,
            outcome,
            waiting: 0,
            held: false,
            truths,
            turns: 0,
            refilled: (Nanos::ZERO, 0),
            programs,
        }
    }

    /// Processes all arrivals up to `now`, `next` being the first; it becomes the one after them.
    #[inline]
    pub(super) fn arrive_until(
        &mut self,
        workload: &mut dyn Workload,
        next: &mut Next,
        now: Nanos,
        options: &mut Options<'_>,
    ) -> Result<(), SimulateError> {
        while let Some(arrival) = next.by(now) {
            self.arrive(workload, arrival, now);
            next.advance(workload, self.outcome.arrived)?;
            if self.outcome.arrived.is_multiple_of(PROGRESS_EVERY) {
                self.tell_progress(options, now);
            }
            self.go_on(options, now)?;
        }
        Ok(())
    }

    /// Called on each turn of a loop: fails once the run is to stop.
    #[inline]
    pub(super) fn go_on(&mut self, options: &Options<'_>, now: Nanos) -> Result<(), SimulateError> {
        self.turns += 1;
        if self.turns < STOP_EVERY {
            return Ok(());
        }
        self.turns = 0;
        match options.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(SimulateError::Stopped { now }),
            _ => Ok(()),
        }
    }

    pub(super) fn tell_progress(&self, options: &mut Options<'_>, now: Nanos) {
        if let Some(progress) = &mut options.progress {
            progress(Progress { arrived: self.outcome.arrived, now });
        }
    }

    #[inline]
    fn arrive(&mut self, workload: &dyn Workload, arrival: &Arrival, now: Nanos) {
        let Arrival { at, flow, bytes, demand, program, .. } = *arrival;
        let mut packet = Packet { flow, bytes, arrival: at, handle: self.outcome.arrived, demand };
        if flow.index() >= self.programs.len() {
            self.programs.resize(flow.index() + 1, None);
        }
        if self.programs[flow.index()] != Some(program) {
            if self.programs[flow.index()].is_none() {
                self.appear(workload, arrival);
            }
            self.programs[flow.index()] = Some(program);
            if let Some(learning) = self.scheduler.learning() {
                learning.set_program(flow, program);
            }
        }
        self.outcome.arrived += 1;
        self.waiting += 1;
        self.held = false;
        self.observer.arrived(&packet);
        self.truths.hide(&mut packet, arrival);
        let admission = self.scheduler.enqueue(&packet, now);
        if admission.evicted {
            self.evicted(now);
        }
        if !admission.is_queued() {
            self.drop(packet, now);
        }
    }

    #[cold]
    fn appear(&mut self, workload: &dyn Workload, arrival: &Arrival) {
        let flow = arrival.flow;
        let profile =
            Profile { weight: workload.weight(flow), label: &workload.label(flow), class: workload.class(flow) };
        self.scheduler.set_weight(flow, profile.weight);
        if let Some(weights) = workload.resource_weights(flow) {
            self.scheduler.set_resource_weights(flow, weights);
        }
        self.observer.appeared(flow, &profile);
    }

    fn evicted(&mut self, now: Nanos) {
        while let Some(packet) = self.scheduler.poll_evicted() {
            self.drop(packet, now);
        }
    }

    #[cold]
    fn drop(&mut self, mut packet: Packet, now: Nanos) {
        self.truths.reveal(&mut packet);
        self.outcome.dropped += 1;
        self.waiting -= 1;
        self.observer.dropped(&packet, now);
    }

    /// The packet to send next, with its true costs, and the scheduler's note on it.
    #[inline]
    pub(super) fn release(&mut self, now: Nanos) -> Option<Dispatch> {
        let mut released = self.scheduler.dequeue(now);
        match &mut released {
            Some(dispatch) => {
                self.outcome.sent += 1;
                self.waiting -= 1;
                self.truths.reveal(&mut dispatch.packet);
            }
            None => self.held = true,
        }
        released
    }

    /// A packet of a permanently backlogged flow replaces the one that left.
    #[inline]
    pub(super) fn refill(
        &mut self,
        workload: &mut dyn Workload,
        left: &Packet,
        now: Nanos,
    ) -> Result<(), SimulateError> {
        if let Some(arrival) = workload.refill(left.flow, now) {
            self.refilled = if self.refilled.0 == now { (now, self.refilled.1 + 1) } else { (now, 1) };
            if self.refilled.1 > MAX_AT_ONCE {
                return Err(SimulateError::Timeless { flow: workload.label(left.flow), now });
            }
            self.arrive(workload, &arrival, now);
        }
        Ok(())
    }

    /// When to poll the scheduler for the next packet, if the first resource is free from `ready` on.
    #[inline]
    pub(super) fn ask_at(&self, ready: Nanos, now: Nanos) -> Nanos {
        if self.waiting == 0 {
            Nanos::MAX
        } else if self.held {
            // A policy that keeps answering "now" would never let time advance.
            self.scheduler.poll_at().map_or(Nanos::MAX, |at| at.max(now + Nanos(1)).max(ready))
        } else {
            ready.max(now)
        }
    }

    /// Permits polling a scheduler again at `now` that released nothing.
    #[inline]
    pub(super) fn ask_again(&mut self, now: Nanos) {
        if self.held && self.scheduler.poll_at().is_some_and(|at| at <= now) {
            self.held = false;
        }
    }
}
