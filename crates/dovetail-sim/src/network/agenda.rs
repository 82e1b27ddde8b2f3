//! What happens next.

use std::{cmp::Ordering, collections::BinaryHeap};

use dovetail_sched::Nanos;
use slab::Slab;

use super::packets::EndId;

/// Something that happens at a time; `E` is what the model of users' access foresees.
#[derive(Debug, Clone, Copy)]
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

/// Where an event is among others, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: Nanos,
    /// In which order it was foreseen, above all of what links have sent where it is something else.
    order: u64,
    event: usize,
}

/// What is not what a link has sent.
const LATER: u64 = 1 << 63;

impl Entry {
    /// In one number, which is compared without a branch.
    #[inline]
    fn key(self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(self.order)
    }
}

/// The first is the greatest.
impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events by time; at one time what links have sent comes first, as feedback does before arrivals, and the rest in the
/// order in which it was foreseen.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    // Events lie apart, so that less is moved about.
    heap: BinaryHeap<Entry>,
    events: Slab<Event<E>>,
    foreseen: u64,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), events: Slab::new(), foreseen: 0 }
    }

    pub(super) fn add(&mut self, at: Nanos, event: Event<E>) {
        let order = if matches!(event, Event::Sent { .. }) { self.foreseen } else { LATER | self.foreseen };
        self.foreseen += 1;
        let event = self.events.insert(event);
        self.heap.push(Entry { at, order, event });
    }

    /// When the next event is; the end of time if there is none.
    pub(super) fn next_at(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |entry| entry.at)
    }

    pub(super) fn pop(&mut self) -> Option<(Nanos, Event<E>)> {
        let Entry { at, event, .. } = self.heap.pop()?;
        Some((at, self.events.remove(event)))
    }
}
