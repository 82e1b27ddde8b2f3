//! The loop between workload, scheduler and pipeline.
//!
//! At one instant feedback comes first, then arrivals, then the question who is next, as the scheduler crate asks of an
//! environment. A scheduler that answers "nobody" with packets waiting is asked again when it said, or after the next
//! feedback or arrival.

use std::collections::VecDeque;

use dovetail_sched::{Admission, Feedback, FlowId, MAX_RESOURCES, Nanos, Packet, Scheduler, Stage};

use crate::{
    Observer, Passage, Pipeline, PipelineMode, Profile,
    workload::{Arrival, Workload, WorkloadError},
};

/// How to run.
#[derive(Default)]
pub struct Options<'a> {
    /// Release nothing at or after this time; what waits then is left.
    pub stop_at: Option<Nanos>,
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Packets that arrived so far.
    pub arrived: u64,
    /// The virtual time.
    pub now: Nanos,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that crossed the pipeline.
    pub sent: u64,
    /// Packets that were refused or evicted.
    pub dropped: u64,
    /// Packets that still waited when the run was stopped.
    pub left: u64,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The workload could not be read on.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The policy holds packets back and nothing is to come that could change its mind.
    #[error("the policy holds {packets} packets back for ever at {now}: that is a fault of the policy")]
    Stuck {
        /// How many wait.
        packets: u64,
        /// Since when.
        now: Nanos,
    },
}

/// How often progress is told, in arrivals.
const PROGRESS_EVERY: u64 = 1 << 16;

/// Runs `workload` through `scheduler` and a pipeline in `mode` until all is sent.
///
/// # Errors
/// [`SimulateError`]: the workload ends in an error, or the policy never lets its packets go.
pub fn simulate<O: Observer>(
    workload: &mut dyn Workload,
    scheduler: &mut dyn Scheduler,
    mode: PipelineMode,
    observer: &mut O,
    mut options: Options<'_>,
) -> Result<Outcome, SimulateError> {
    let resources = workload.resources().len();
    let mut run = Run {
        scheduler,
        observer,
        pipeline: Pipeline::new(mode, resources),
        notifier: Notifier::default(),
        seen: Vec::new(),
        outcome: Outcome::default(),
        waiting: 0,
        held: false,
    };
    run.notifier = Notifier::new(run.scheduler, resources);
    let stop_at = options.stop_at.unwrap_or(Nanos::MAX);
    let mut next = workload.next()?;
    let mut now = Nanos::ZERO;
    loop {
        let arrival = next.as_ref().map_or(Nanos::MAX, |arrival| arrival.at);
        now = match run.next_event(now).min(arrival) {
            Nanos::MAX if run.waiting > 0 => return Err(SimulateError::Stuck { packets: run.waiting, now }),
            at if at >= stop_at || at == Nanos::MAX => break,
            at => at,
        };
        run.tell(now);
        while let Some(arrival) = next.as_ref().filter(|arrival| arrival.at <= now) {
            run.arrive(workload, arrival, now);
            next = workload.next()?;
            if run.outcome.arrived.is_multiple_of(PROGRESS_EVERY)
                && let Some(progress) = &mut options.progress
            {
                progress(Progress { arrived: run.outcome.arrived, now });
            }
        }
        if run.waiting > 0 && !run.held && run.pipeline.ready() <= now {
            run.release(workload, now);
        }
    }
    run.outcome.left = run.waiting;
    if let Some(progress) = &mut options.progress {
        progress(Progress { arrived: run.outcome.arrived, now });
    }
    Ok(run.outcome)
}

struct Run<'a, O> {
    scheduler: &'a mut dyn Scheduler,
    observer: &'a mut O,
    pipeline: Pipeline,
    notifier: Notifier,
    seen: Vec<bool>,
    outcome: Outcome,
    waiting: u64,
    held: bool,
}

impl<O: Observer> Run<'_, O> {
    /// When something can happen next, other than an arrival.
    #[inline]
    fn next_event(&self, now: Nanos) -> Nanos {
        let feedback = self.notifier.next_at();
        if self.waiting == 0 {
            return feedback;
        }
        let ask = if self.held {
            // A policy that says "now" again would never let time pass.
            self.scheduler.poll_at().map_or(Nanos::MAX, |at| at.max(now + Nanos(1)).max(self.pipeline.ready()))
        } else {
            self.pipeline.ready().max(now)
        };
        ask.min(feedback)
    }

    #[inline]
    fn tell(&mut self, now: Nanos) {
        if self.notifier.next_at() <= now {
            self.notifier.tell(self.scheduler, now);
            self.held = false;
        } else if self.held && self.scheduler.poll_at().is_some_and(|at| at <= now) {
            self.held = false;
        }
    }

    #[inline]
    fn arrive(&mut self, workload: &dyn Workload, arrival: &Arrival, now: Nanos) {
        let Arrival { at, flow, bytes, demand } = *arrival;
        let packet = Packet { flow, bytes, arrival: at, handle: self.outcome.arrived, demand };
        if flow.index() >= self.seen.len() {
            self.seen.resize(flow.index() + 1, false);
        }
        if !self.seen[flow.index()] {
            self.seen[flow.index()] = true;
            self.appear(workload, flow);
        }
        self.outcome.arrived += 1;
        self.waiting += 1;
        self.held = false;
        self.observer.arrived(&packet);
        match self.scheduler.enqueue(&packet, now) {
            Admission::Queued => {}
            Admission::Evicted => self.evicted(now),
            Admission::Refused(_) => {
                self.evicted(now);
                self.drop(&packet, now);
            }
        }
    }

    #[cold]
    fn appear(&mut self, workload: &dyn Workload, flow: FlowId) {
        let profile =
            Profile { weight: workload.weight(flow), label: &workload.label(flow), class: workload.class(flow) };
        self.scheduler.set_weight(flow, profile.weight);
        self.observer.appeared(flow, &profile);
    }

    fn evicted(&mut self, now: Nanos) {
        while let Some(packet) = self.scheduler.poll_evicted() {
            self.drop(&packet, now);
        }
    }

    fn drop(&mut self, packet: &Packet, now: Nanos) {
        self.outcome.dropped += 1;
        self.waiting -= 1;
        self.observer.dropped(packet, now);
    }

    #[inline]
    fn release(&mut self, workload: &mut dyn Workload, now: Nanos) {
        let Some(dispatch) = self.scheduler.dequeue(now) else {
            self.held = true;
            return;
        };
        let packet = &dispatch.packet;
        let passage = self.pipeline.admit(now, &packet.demand);
        self.outcome.sent += 1;
        self.waiting -= 1;
        self.observer.sent(packet, passage);
        self.notifier.expect(packet.flow, dispatch.ticket, passage);
        if let Some(arrival) = workload.refill(packet.flow, now) {
            self.arrive(workload, &arrival, now);
        }
    }
}

/// The feedback that is still to be given. Resources serve in order, so a queue for each kind is in order of time.
#[derive(Default)]
struct Notifier {
    streams: Vec<Stream>,
    next_at: Option<Nanos>,
}

struct Stream {
    stage: Stage,
    resource: usize,
    due: VecDeque<Due>,
}

struct Due {
    at: Nanos,
    flow: FlowId,
    ticket: u64,
    took: Nanos,
}

impl Notifier {
    fn new(scheduler: &dyn Scheduler, resources: usize) -> Self {
        let interest = scheduler.interest();
        // What ends comes before what starts, later resources before earlier: as packets make room for one another.
        let kinds = (0..resources.min(MAX_RESOURCES))
            .rev()
            .flat_map(|resource| [Stage::Finished, Stage::Started].map(|stage| (stage, resource)));
        let streams = kinds
            .filter(|&(stage, resource)| interest.has(stage, resource))
            .map(|(stage, resource)| Stream { stage, resource, due: VecDeque::new() })
            .collect();
        Self { streams, next_at: None }
    }

    #[inline]
    fn next_at(&self) -> Nanos {
        self.next_at.unwrap_or(Nanos::MAX)
    }

    #[inline]
    fn expect(&mut self, flow: FlowId, ticket: u64, passage: &Passage) {
        for stream in &mut self.streams {
            let (start, end) = (passage.start()[stream.resource], passage.end()[stream.resource]);
            let (at, took) = match stream.stage {
                Stage::Started => (start, Nanos::ZERO),
                Stage::Finished => (end, end - start),
            };
            stream.due.push_back(Due { at, flow, ticket, took });
            self.next_at = Some(self.next_at.map_or(at, |next| next.min(at)));
        }
    }

    fn tell(&mut self, scheduler: &mut dyn Scheduler, now: Nanos) {
        loop {
            let earliest = self.streams.iter_mut().filter(|stream| !stream.due.is_empty()).min_by_key(|s| s.due[0].at);
            let Some(stream) = earliest else {
                self.next_at = None;
                return;
            };
            let due = &stream.due[0];
            if due.at > now {
                self.next_at = Some(due.at);
                return;
            }
            let event = Feedback {
                flow: due.flow,
                ticket: due.ticket,
                resource: stream.resource as u8,
                stage: stream.stage,
                took: due.took,
            };
            let at = due.at;
            stream.due.pop_front();
            scheduler.feedback(&event, at);
        }
    }
}
