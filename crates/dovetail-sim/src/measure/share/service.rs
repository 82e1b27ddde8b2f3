//! When packets are on their dominant resource.
//!
//! A packet's whole passage is known when it is released, often long before it reaches its dominant resource. A resource
//! serves packets in order of release, so one queue per resource holds future service in order of time, and the next
//! beginning or end is at the head of one of them.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, MAX_RESOURCES, Nanos};

/// A beginning or an end of dominant service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Begins(FlowId),
    Ends(FlowId),
}

/// Dominant service in progress or to come.
#[derive(Debug, Default)]
pub(super) struct Service {
    to_come: [VecDeque<Span>; MAX_RESOURCES],
}

#[derive(Debug, Clone, Copy)]
struct Span {
    flow: FlowId,
    // The next event of the two, begin or end, that is still to be returned.
    at: Nanos,
    begun: bool,
    end: Nanos,
}

impl Service {
    /// A packet of `flow` will be on `resource`, its dominant one, from `start` to `end`.
    #[inline]
    pub(super) fn expect(&mut self, resource: usize, flow: FlowId, start: Nanos, end: Nanos) {
        self.to_come[resource].push_back(Span { flow, at: start, begun: false, end });
    }

    /// Time of the next turn.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.to_come.iter().filter_map(|spans| spans.front()).map(|span| span.at).min()
    }

    /// The next turn, if it is at `at`.
    #[inline]
    pub(super) fn take(&mut self, at: Nanos) -> Option<Turn> {
        let spans = self.to_come.iter_mut().find(|spans| spans.front().is_some_and(|span| span.at == at))?;
        let span = spans.front_mut()?;
        let flow = span.flow;
        if span.begun {
            spans.pop_front();
            return Some(Turn::Ends(flow));
        }
        (span.begun, span.at) = (true, span.end);
        Some(Turn::Begins(flow))
    }
}
