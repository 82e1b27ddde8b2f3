//! The event queue.

use std::{cmp::Ordering, collections::BinaryHeap};

use dovetail_sched::Nanos;
use slab::Slab;

use super::packets::EndId;

/// An event at some time; `E` are the events of the model of users' access.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event<E> {
    /// A link has finished sending a packet.
    Sent { link: usize },
    /// A link's scheduler asked to be polled again.
    Ask { link: usize },
    /// A packet arrives at a node.
    Arrives { at: usize, packet: usize },
    /// A connection's end has something to do.
    Wake { end: EndId },
    /// Traffic has something to start or to send.
    Traffic { at: usize },
    /// An event of users' access.
    Access(E),
}

/// An event's rank, and where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: Nanos,
    /// Order of scheduling; events other than those of links that sent a packet have the high bit set.
    order: u64,
    event: usize,
}

/// The high bit: not the end of a transmission.
const LATER: u64 = 1 << 63;

impl Entry {
    /// One number, compared without a branch.
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

/// Events by time. At the same time, links that finished sending come first, as feedback precedes arrivals; the rest follow
/// in the order in which they were scheduled.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    // Events are stored separately, so that less is moved.
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

    /// Time of the next event; the maximum if there is none.
    pub(super) fn next_at(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |entry| entry.at)
    }

    pub(super) fn pop(&mut self) -> Option<(Nanos, Event<E>)> {
        let Entry { at, event, .. } = self.heap.pop()?;
        Some((at, self.events.remove(event)))
    }
}
