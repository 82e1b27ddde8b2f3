//! Pending feedback to the scheduler.

use std::collections::VecDeque;

use dovetail_sched::{Feedback, FlowId, MAX_RESOURCES, Nanos, Scheduler, Stage};

use crate::Passage;

/// Pending feedback. Resources serve in order, so a queue per kind is in order of time.
pub(super) struct Notifier {
    streams: Vec<Stream>,
    // The maximum of time if none is pending.
    next_at: Nanos,
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
    pub(super) fn new(scheduler: &dyn Scheduler, resources: usize) -> Self {
        let interest = scheduler.interest();
        // Ends come before starts, and later resources before earlier ones, since packets make room for one another.
        let kinds = (0..resources.min(MAX_RESOURCES))
            .rev()
            .flat_map(|resource| [Stage::Finished, Stage::Started].map(|stage| (stage, resource)));
        let streams = kinds
            .filter(|&(stage, resource)| interest.has(stage, resource))
            .map(|(stage, resource)| Stream { stage, resource, due: VecDeque::new() })
            .collect();
        Self { streams, next_at: Nanos::MAX }
    }

    #[inline]
    pub(super) fn next_at(&self) -> Nanos {
        self.next_at
    }

    #[inline]
    pub(super) fn expect(&mut self, flow: FlowId, ticket: u64, passage: &Passage) {
        for stream in &mut self.streams {
            let (start, end) = (passage.start()[stream.resource], passage.end()[stream.resource]);
            let (at, took) = if stream.stage == Stage::Started { (start, Nanos::ZERO) } else { (end, end - start) };
            stream.due.push_back(Due { at, flow, ticket, took });
            self.next_at = self.next_at.min(at);
        }
    }

    pub(super) fn tell(&mut self, scheduler: &mut dyn Scheduler, now: Nanos) {
        loop {
            let (mut next_at, mut which) = (Nanos::MAX, 0);
            for (at, stream) in self.streams.iter().enumerate() {
                if let Some(due) = stream.due.front()
                    && due.at < next_at
                {
                    (next_at, which) = (due.at, at);
                }
            }
            self.next_at = next_at;
            if next_at > now {
                return;
            }
            let stream = &mut self.streams[which];
            let Some(due) = stream.due.pop_front() else { return };
            let event = Feedback {
                flow: due.flow,
                ticket: due.ticket,
                resource: stream.resource as u8,
                stage: stream.stage,
                took: due.took,
            };
            scheduler.feedback(&event, due.at);
        }
    }
}
