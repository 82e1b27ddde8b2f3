//! The packets that took longest.

use std::{cmp::Reverse, collections::BinaryHeap};

use dovetail_sched::Nanos;

use super::parts::Parts;

/// A packet, and where its time went.
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
    /// How long it waited for each column's cause, its own flow's service left out.
    pub causes: Vec<Nanos>,
}

/// As many of the slowest as are wanted; of equally slow ones those that came first.
#[derive(Debug)]
pub(super) struct Slowest {
    wanted: usize,
    // The quickest of them on top.
    heap: BinaryHeap<Ranked>,
}

#[derive(Debug)]
struct Ranked {
    rank: Reverse<(Nanos, Reverse<u64>)>,
    packet: SlowPacket,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl Slowest {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, heap: BinaryHeap::new() }
    }

    #[inline]
    pub(super) fn offer(&mut self, parts: &Parts<'_>, label: &str) {
        let rank = Reverse((parts.latency, Reverse(parts.packet)));
        let is_full = self.heap.len() >= self.wanted;
        if is_full && self.heap.peek().is_none_or(|quickest| quickest.rank <= rank) {
            return;
        }
        if is_full {
            self.heap.pop();
        }
        let packet = SlowPacket {
            packet: parts.packet,
            flow: label.to_owned(),
            arrival: parts.arrival,
            latency: parts.latency,
            own: parts.own.to_vec(),
            same_flow: parts.same_flow,
            causes: parts.causes.to_vec(),
        };
        self.heap.push(Ranked { rank, packet });
    }

    /// The slowest first.
    pub(super) fn finish(self) -> Vec<SlowPacket> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| ranked.packet).collect()
    }
}
