//! A scheduler in front of every resource.
//!
//! Packets may overtake each other between resources, so passages do not follow from a recursion: this is an event loop. At
//! the same instant, later resources are processed before earlier ones, since packets make room for one another.

use dovetail_sched::{Dispatch, Feedback, Interest, Nanos, Packet, Scheduler, Stage};
use slab::Slab;

use super::{
    entrance::Entrance,
    in_order::InOrder,
    next::Next,
    outcome::{Options, Outcome, SimulateError},
};
use crate::{Observer, Passage, workload::Workload};

/// A packet in the pipeline, identified by its handle in the schedulers of later resources.
struct Travelling {
    packet: Packet,
    ticket: u64,
    passage: Passage,
    /// Number in order of release.
    number: u64,
}

/// A resource and the packets that wait for it.
#[derive(Clone, Default)]
struct Place {
    /// The packet on it, and when it ends.
    serving: Option<(usize, Nanos)>,
    /// The packet that ended here and finds no place in front of the next resource.
    blocked: Option<usize>,
    /// Number of packets queued in its scheduler.
    waiting: u64,
}

impl Place {
    fn is_free(&self) -> bool {
        self.serving.is_none() && self.blocked.is_none()
    }
}

struct Stages {
    places: Vec<Place>,
    travelling: Slab<Travelling>,
    interest: Interest,
    /// Places in front of each later resource.
    room: u64,
}

pub(super) fn run<O: Observer>(
    workload: &mut dyn Workload,
    scheduler: &mut dyn Scheduler,
    room: u64,
    observer: &mut InOrder<'_, O>,
    mut options: Options<'_>,
) -> Result<Outcome, SimulateError> {
    let resources = workload.resources().len();
    let interest = scheduler.interest();
    let mut stages = Stages { places: vec![Place::default(); resources], travelling: Slab::new(), interest, room };
    let mut entrance = Entrance::new(scheduler, observer);
    let stop_at = options.stop_at.unwrap_or(Nanos::MAX);
    let mut next = Next::first(workload)?;
    let mut now = Nanos::ZERO;
    loop {
        let ready = if stages.places[0].is_free() { now } else { Nanos::MAX };
        let entering = entrance.ask_at(ready, now).min(next.at);
        let entering = if entering >= stop_at { Nanos::MAX } else { entering };
        now = match stages.next_event(&mut entrance, now).min(entering) {
            Nanos::MAX if stages.served().is_some() => {
                return Err(SimulateError::ClockEnds { packet: stages.served().unwrap_or_default() });
            }
            Nanos::MAX if entrance.waiting > 0 && stop_at == Nanos::MAX => {
                return Err(SimulateError::Stuck { packets: entrance.waiting, now });
            }
            Nanos::MAX => break,
            at => at,
        };
        entrance.go_on(&options, now)?;
        while stages.next_event(&mut entrance, now) <= now {
            stages.go_on(&mut entrance, now);
        }
        entrance.ask_again(now);
        if now >= stop_at {
            continue;
        }
        entrance.arrive_until(workload, &mut next, now, &mut options)?;
        if entrance.waiting > 0
            && !entrance.held
            && stages.places[0].is_free()
            && let Some(Dispatch { packet, ticket }) = entrance.release(now)
        {
            let number = entrance.observer.released(&packet);
            let passage = Passage::new(resources, now);
            let job = stages.travelling.insert(Travelling { packet, ticket, passage, number });
            stages.serve(&mut entrance, 0, job, now);
            entrance.refill(workload, &packet, now)?;
        }
    }
    entrance.outcome.left = entrance.waiting;
    entrance.tell_progress(&mut options, now);
    Ok(entrance.outcome)
}

impl Stages {
    /// The number of the packet on a resource.
    fn served(&self) -> Option<u64> {
        let (job, _) = self.places.iter().find_map(|place| place.serving)?;
        Some(self.travelling[job].packet.handle)
    }

    /// Time of the next end of a packet, or of the next poll of a later resource's scheduler.
    fn next_event<O: Observer>(&self, entrance: &mut Entrance<'_, InOrder<'_, O>>, now: Nanos) -> Nanos {
        let mut next = Nanos::MAX;
        for (at, place) in self.places.iter().enumerate() {
            if let Some((_, end)) = place.serving {
                next = next.min(end);
            } else if place.blocked.is_none() && place.waiting > 0 {
                let again = entrance.scheduler.later_stages().and_then(|later| later.poll_at_before(at));
                next = next.min(again.map_or(Nanos::MAX, |again| again.max(now + Nanos(1))));
            }
        }
        next
    }

    /// Ends packets that end by `now`, and moves on those that can move.
    fn go_on<O: Observer>(&mut self, entrance: &mut Entrance<'_, InOrder<'_, O>>, now: Nanos) {
        for at in (0..self.places.len()).rev() {
            if let Some((job, end)) = self.places[at].serving
                && end <= now
            {
                self.places[at].serving = None;
                self.tell(entrance, at, job, Stage::Finished, now);
                if at + 1 == self.places.len() {
                    let done = self.travelling.remove(job);
                    entrance.observer.passed(done.number, &done.passage);
                } else {
                    self.places[at].blocked = Some(job);
                }
            }
            // The packet here moves on before the next one starts, and that before packets of earlier resources move.
            if at + 1 < self.places.len() {
                self.advance(entrance, at, now);
            }
            if at > 0 {
                self.start(entrance, at, now);
            }
        }
    }

    /// Moves the packet that ended on `at` to the next resource, if there is a place.
    fn advance<O: Observer>(&mut self, entrance: &mut Entrance<'_, InOrder<'_, O>>, at: usize, now: Nanos) {
        let next = &self.places[at + 1];
        let free = next.waiting < self.room || (next.waiting == 0 && next.is_free());
        let Some(job) = self.places[at].blocked.filter(|_| free) else { return };
        self.places[at].blocked = None;
        self.places[at + 1].waiting += 1;
        self.travelling[job].passage.frees(at, now);
        let packet = Packet { handle: job as u64, ..self.travelling[job].packet };
        if let Some(later) = entrance.scheduler.later_stages() {
            let admission = later.enqueue_before(at + 1, &packet, now);
            debug_assert!(admission.is_queued(), "how much is queued here is the pipeline's to say");
        }
        self.start(entrance, at + 1, now);
    }

    /// Starts the next packet that the scheduler of `at` chooses, if the resource is free.
    fn start<O: Observer>(&mut self, entrance: &mut Entrance<'_, InOrder<'_, O>>, at: usize, now: Nanos) {
        if self.places[at].is_free()
            && self.places[at].waiting > 0
            && let Some(packet) = entrance.scheduler.later_stages().and_then(|later| later.dequeue_before(at, now))
        {
            self.places[at].waiting -= 1;
            self.serve(entrance, at, packet.handle as usize, now);
        }
    }

    fn serve<O: Observer>(&mut self, entrance: &mut Entrance<'_, InOrder<'_, O>>, at: usize, job: usize, now: Nanos) {
        let travelling = &mut self.travelling[job];
        let end = now + travelling.packet.demand.times()[at];
        travelling.passage.takes(at, now, end);
        self.places[at].serving = Some((job, end));
        self.tell(entrance, at, job, Stage::Started, now);
    }

    fn tell<O: Observer>(
        &self,
        entrance: &mut Entrance<'_, InOrder<'_, O>>,
        at: usize,
        job: usize,
        stage: Stage,
        now: Nanos,
    ) {
        if !self.interest.has(stage, at) {
            return;
        }
        let Travelling { packet, ticket, .. } = &self.travelling[job];
        let took = if stage == Stage::Finished { packet.demand.times()[at] } else { Nanos::ZERO };
        let event = Feedback { flow: packet.flow, ticket: *ticket, resource: at as u8, stage, took };
        entrance.scheduler.feedback(&event, now);
        entrance.held = false;
    }
}
