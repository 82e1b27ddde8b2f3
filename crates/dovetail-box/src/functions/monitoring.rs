//! Statistical monitoring: packets and bytes of each flow, and the mean and variance of their sizes.
//!
//! Mean and variance of the sizes are running moments (Welford, *Note on a method for calculating corrected sums of
//! squares and products*, 1962): m ← m + (x - m)/n and s ← s + (x - m)(x - m'), with m' the mean after x.
//!
//! Flows are kept in sets of [`WAYS`] slots, like the lines of a set-associative cache. A keyed hash (SipHash-1-3) of the
//! five-tuple selects the set, so no sender can choose flows that collide. A new flow takes a free slot of its set, or
//! replaces the flow that has been idle for longest, whose counts are added to a common sum. Memory is therefore fixed from
//! the start, a packet costs a lookup in one set, and every packet is included in the totals.

use dovetail_sched::flow::FiveTuple;
use rand_xoshiro::{
    SplitMix64,
    rand_core::{Rng, SeedableRng},
};
use siphasher::sip::SipHasher13;
use std::hash::{Hash, Hasher};

use super::{NetworkFunction, Processing, Verdict, frame::Ip};

/// Its name on the command line.
pub const NAME: &str = "monitoring";

/// Slots per set.
pub const WAYS: usize = 8;

/// Upper bounds of the size bins in bytes; one more bin holds everything larger.
pub const BINS: [u32; 7] = [64, 128, 256, 512, 1024, 1518, 9000];

/// Statistics of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Its five-tuple.
    pub tuple: FiveTuple,
    /// Frames.
    pub packets: u64,
    /// Bytes of its frames.
    pub bytes: u64,
    /// Frames by size: up to each bound of [`BINS`], and above.
    pub sizes: [u64; BINS.len() + 1],
    mean: f64,
    squares: f64,
    seen: u64,
}

impl Flow {
    /// Mean size of a frame in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Variance of the sizes over all its frames, in bytes squared.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.squares / self.packets as f64
    }

    fn new(tuple: FiveTuple) -> Self {
        Self { tuple, packets: 0, bytes: 0, sizes: [0; BINS.len() + 1], mean: 0.0, squares: 0.0, seen: 0 }
    }

    fn count(&mut self, bytes: u32, now: u64) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.sizes[BINS.partition_point(|&end| end < bytes)] += 1;
        let size = f64::from(bytes);
        let before = size - self.mean;
        self.mean += before / self.packets as f64;
        self.squares += before * (size - self.mean);
        self.seen = now;
    }
}

/// Totals over flows, or over frames that belong to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Flows; one that returns after its eviction counts again.
    pub flows: u64,
    /// Frames.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Totals {
    fn add(&mut self, flow: &Flow) {
        self.flows += 1;
        self.packets += flow.packets;
        self.bytes += flow.bytes;
    }
}

/// The monitoring function.
#[derive(Debug)]
pub struct Monitoring {
    key: [u8; 16],
    // Upper halves of the hashes, stored contiguously: most slots are ruled out without reading the flow.
    tags: Vec<[u32; WAYS]>,
    flows: Vec<[Option<Flow>; WAYS]>,
    now: u64,
    forgotten: Totals,
    others: Totals,
}

impl Monitoring {
    /// Room for at least `flows` flows (clamped to 1 to 2^24), hashed with a secret of the caller's.
    #[must_use]
    pub fn new(flows: usize, key: [u8; 16]) -> Self {
        let sets = flows.clamp(1, 1 << 24).div_ceil(WAYS).next_power_of_two();
        let empty = || [const { None }; WAYS];
        Self {
            key,
            tags: vec![[0; WAYS]; sets],
            flows: (0..sets).map(|_| empty()).collect(),
            now: 0,
            forgotten: Totals::default(),
            others: Totals::default(),
        }
    }

    /// Room for 16,384 flows, with a key derived from a seed: for measurements.
    #[must_use]
    pub fn example(seed: u64) -> Self {
        let mut key = [0; 16];
        SplitMix64::seed_from_u64(seed).fill_bytes(&mut key);
        Self::new(1 << 14, key)
    }

    /// Statistics of a flow, if it is tracked.
    #[must_use]
    pub fn flow(&self, tuple: &FiveTuple) -> Option<&Flow> {
        let (set, tag) = self.place(tuple);
        self.flows[set][self.way(set, tag, tuple)?].as_ref()
    }

    /// All flows that are tracked, in no particular order.
    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().flatten().flatten()
    }

    /// Totals of evicted flows.
    #[must_use]
    pub fn forgotten(&self) -> Totals {
        self.forgotten
    }

    /// Totals of frames that belong to no flow: not IP, or malformed.
    #[must_use]
    pub fn others(&self) -> Totals {
        self.others
    }

    fn place(&self, tuple: &FiveTuple) -> (usize, u32) {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        tuple.hash(&mut hasher);
        let hash = hasher.finish();
        (hash as usize & (self.tags.len() - 1), (hash >> 32) as u32)
    }

    fn way(&self, set: usize, tag: u32, tuple: &FiveTuple) -> Option<usize> {
        let is = |way: &usize| {
            self.tags[set][*way] == tag && self.flows[set][*way].as_ref().is_some_and(|flow| flow.tuple == *tuple)
        };
        (0..WAYS).find(is)
    }

    /// A free slot of the set, or the slot of the flow that has been idle for longest.
    fn make_way(&mut self, set: usize) -> usize {
        let silent = |way: &usize| self.flows[set][*way].as_ref().map_or(0, |flow| flow.seen);
        let way = (0..WAYS).min_by_key(silent).unwrap_or(0);
        if let Some(flow) = self.flows[set][way].take() {
            self.forgotten.add(&flow);
        }
        way
    }
}

impl NetworkFunction for Monitoring {
    fn name(&self) -> &str {
        NAME
    }

    fn processing(&self) -> Processing {
        Processing::Header
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let Ok(ip) = Ip::find(frame) else {
            self.others.packets += 1;
            self.others.bytes += u64::from(bytes);
            return Verdict::Untouched;
        };
        self.now += 1;
        let tuple = ip.five_tuple(frame);
        let (set, tag) = self.place(&tuple);
        let way = self.way(set, tag, &tuple).unwrap_or_else(|| self.make_way(set));
        self.tags[set][way] = tag;
        self.flows[set][way].get_or_insert_with(|| Flow::new(tuple)).count(bytes, self.now);
        Verdict::Forward
    }
}

#[cfg(test)]
mod tests;
