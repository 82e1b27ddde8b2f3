//! What happens next.

use std::{cmp::Reverse, collections::BinaryHeap};

use dovetail_sched::Nanos;

use super::packets::EndId;

/// Something that happens at a time; `E` is what the model of users' access foresees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event<E> {
    /// A link has sent a packet whole.
    Sent { link: usize },
    /// A link's scheduler said to ask again.
    Ask { link: usize },
    /// A packet is at a node.
    Arrives { at: usize, packet: usize },
    /// A connection's end has something to do.
    Wake { end: EndId },
    /// Traffic has something to begin or to send.
    Traffic { at: usize },
    /// Something concerns users' access.
    Access(E),
}

/// When, whether after what links have sent, in which order it was foreseen, and what.
type Entry<E> = (Nanos, bool, u64, Event<E>);

/// Events by time; at one time what links have sent comes first, as feedback does before arrivals, and the rest in the
/// order in which it was foreseen.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    foreseen: u64,
}

impl<E: Copy + Ord> Agenda<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), foreseen: 0 }
    }

    pub(super) fn add(&mut self, at: Nanos, event: Event<E>) {
        let later = !matches!(event, Event::Sent { .. });
        self.heap.push(Reverse((at, later, self.foreseen, event)));
        self.foreseen += 1;
    }

    /// When the next event is; the end of time if there is none.
    pub(super) fn next_at(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(Nanos, Event<E>)> {
        self.heap.pop().map(|Reverse((at, .., event))| (at, event))
    }
}
