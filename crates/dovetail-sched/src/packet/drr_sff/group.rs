//! One of the two groups: its turns, its deficit, and its contents.

use core::hint::{black_box, select_unpredictable};

use slab::Slab;

use super::{
    lengths::Lengths,
    ring::{Active, Ring, TURN},
};

/// The group of short flows, or that of long ones.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) turns: Ring<TURN>,
    pub(super) flows: usize,
    pub(super) deficit_bytes: f64,
    // The current round: the mark of flows that had a visit in it or joined since it began, its quantum, and the largest
    // overshoot of such a flow, both for weight 1.
    round: bool,
    quantum_bytes: f64,
    pub(super) over_bytes: f64,
    pub(super) sent_bytes: u64,
    pub(super) evicted: u64,
    /// Kept if the buffer is bounded.
    pub(super) held: Option<Held>,
}

/// The queued packets of a group.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) lengths: Lengths,
}

impl Group {
    pub(super) fn new(bounded: bool) -> Self {
        let held = bounded.then(|| Held { packets: 0, bytes: 0, lengths: Lengths::new() });
        Self {
            turns: Ring::EMPTY,
            flows: 0,
            deficit_bytes: 0.0,
            round: false,
            quantum_bytes: 0.0,
            over_bytes: 0.0,
            sent_bytes: 0,
            evicted: 0,
            held,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Adds `at`, with `packets` of `bytes` queued; its turn comes last.
    #[inline]
    pub(super) fn join(&mut self, active: &mut Slab<Active>, at: u32, packets: u32, bytes: u64) {
        active[at as usize].round = self.round;
        self.turns.push_back(active, at);
        self.flows += 1;
        if let Some(held) = &mut self.held {
            held.change(active, at, (0, packets), (0, bytes));
        }
    }

    /// Visits the first flow, which earns its quantum, at least `least_bytes` for weight 1, unless it has credit left. If it
    /// needs one and has already been visited in this round, begins another round. Returns the addition to its deficit.
    #[inline]
    pub(super) fn visit(&mut self, first: &mut Active, weight: f64, least_bytes: f64) -> f64 {
        let earns = first.deficit_bytes <= 0.0;
        // Each of these is unpredictable, and both together are rare: hidden from the compiler, which would branch on each.
        if black_box(earns & (first.round == self.round)) {
            self.round = !self.round;
            self.quantum_bytes = least_bytes.max(self.over_bytes);
            self.over_bytes = 0.0;
        }
        // A selection instead of a branch: whether the last visit ended is unpredictable.
        let earned = select_unpredictable(earns, self.quantum_bytes * weight, 0.0);
        // A flow that came from the other group with credit has not been visited here yet.
        first.round = self.round;
        earned
    }

    /// A flow's deficit is this far below zero, for weight 1, and must be positive after the next quantum.
    #[inline]
    pub(super) fn went_over(&mut self, bytes: f64) {
        self.over_bytes = self.over_bytes.max(bytes);
    }

    /// Removes `at`, with `packets` of `bytes` queued.
    #[inline]
    pub(super) fn leave(&mut self, active: &mut Slab<Active>, at: u32, packets: u32, bytes: u64) {
        self.turns.remove(active, at);
        self.flows -= 1;
        if let Some(held) = &mut self.held {
            held.change(active, at, (packets, 0), (bytes, 0));
        }
    }
}

impl Held {
    /// Changes the packets and bytes that `at` has queued from the first of each pair to the second.
    #[inline(never)]
    pub(super) fn change(&mut self, active: &mut Slab<Active>, at: u32, packets: (u32, u32), bytes: (u64, u64)) {
        self.packets = self.packets + u64::from(packets.1) - u64::from(packets.0);
        self.bytes = self.bytes + bytes.1 - bytes.0;
        if packets.0 > 0 {
            self.lengths.remove(active, at, packets.0);
        }
        if packets.1 > 0 {
            self.lengths.insert(active, at, packets.1);
        }
    }
}
