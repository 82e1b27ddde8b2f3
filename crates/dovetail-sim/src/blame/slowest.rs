//! The slowest packets.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use dovetail_sched::Nanos;

use super::parts::Parts;

/// A packet, and how its time is divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowPacket {
    /// Its number.
    pub packet: u64,
    /// The label of its flow.
    pub flow: String,
    /// When it arrived.
    pub arrival: Nanos,
    /// From arrival to the end on the last resource.
    pub latency: Nanos,
    /// How long each resource processed it.
    pub own: Vec<Nanos>,
    /// How long it waited while its own flow was served.
    pub same_flow: Nanos,
    /// How long it waited for each column's cause, excluding its own flow's service.
    pub causes: Vec<Nanos>,
}

/// The slowest packets, up to a given number, with data for each; of equally slow ones the earliest are kept.
#[derive(Debug)]
pub(super) struct Slowest<T> {
    wanted: usize,
    // The fastest of them on top.
    heap: BinaryHeap<Ranked<T>>,
}

#[derive(Debug)]
struct Ranked<T> {
    rank: Reverse<(Nanos, Reverse<u64>)>,
    // `None` only while it is replaced.
    known: Option<T>,
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<T> Slowest<T> {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, heap: BinaryHeap::new() }
    }

    /// Adds a packet if it is slow enough; `known` is called only then. It receives the data of a packet that was displaced,
    /// so that its memory can be reused.
    #[inline]
    pub(super) fn keep(&mut self, latency: Nanos, packet: u64, known: impl FnOnce(Option<T>) -> T) {
        let rank = Reverse((latency, Reverse(packet)));
        let is_full = self.heap.len() >= self.wanted;
        if is_full && self.heap.peek().is_none_or(|quickest| quickest.rank <= rank) {
            return;
        }
        if !is_full {
            self.heap.push(Ranked { rank, known: Some(known(None)) });
        } else if let Some(mut quickest) = self.heap.peek_mut() {
            let before = quickest.known.take();
            *quickest = Ranked { rank, known: Some(known(before)) };
        }
    }

    /// Changes the data of all packets.
    pub(super) fn change(&mut self, mut change: impl FnMut(&mut T)) {
        let mut all = std::mem::take(&mut self.heap).into_vec();
        all.iter_mut().filter_map(|ranked| ranked.known.as_mut()).for_each(&mut change);
        self.heap = all.into();
    }

    /// The packets' data, slowest first.
    pub(super) fn finish(self) -> Vec<T> {
        self.heap.into_sorted_vec().into_iter().filter_map(|ranked| ranked.known).collect()
    }
}

impl Slowest<SlowPacket> {
    /// Adds a packet's parts if it is slow enough.
    pub(super) fn offer(&mut self, parts: &Parts<'_>, label: &str) {
        self.keep(parts.latency, parts.packet, |_| SlowPacket {
            packet: parts.packet,
            flow: label.to_owned(),
            arrival: parts.arrival,
            latency: parts.latency,
            own: parts.own.to_vec(),
            same_flow: parts.same_flow,
            causes: parts.causes.to_vec(),
        });
    }
}
