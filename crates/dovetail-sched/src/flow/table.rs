//! From a packet's headers to a dense flow id.
//!
//! Keys come from the network, so they are hashed with a secret key that the environment provides (SipHash-1-3): an attacker
//! cannot choose flows that collide. Flows are kept in order of their last packet, and each lookup retires at most two that
//! have been silent for the timeout, which is O(1) and still faster than flows can appear. When the table is full, the flow
//! that has been silent longest is evicted; evictions are counted. An id is reused only after its flow has been retired and the
//! environment told, so that the scheduler can forget it first.

use alloc::vec::Vec;
use core::{
    fmt,
    hash::{Hash, Hasher},
};

use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

use crate::{FlowId, Nanos};

/// Protocol, addresses and ports: one direction of a connection. IPv4 addresses are IPv4-mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// IP protocol number.
    pub protocol: u8,
    /// Source address.
    pub source: [u8; 16],
    /// Destination address.
    pub destination: [u8; 16],
    /// Source port, 0 if the protocol has none.
    pub source_port: u16,
    /// Destination port, 0 if the protocol has none.
    pub destination_port: u16,
}

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<K> {
    key: K,
    hash: u64,
    seen: Nanos,
    older: u32,
    younger: u32,
    live: bool,
}

/// Flows by key, with a timeout and a maximum number.
pub struct FlowTable<K> {
    index: HashTable<u32>,
    slots: Vec<Slot<K>>,
    free: Vec<FlowId>,
    oldest: u32,
    youngest: u32,
    timeout: Nanos,
    most: u32,
    hash_key: [u8; 16],
    evictions: u64,
}

/// The result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The flow's id.
    pub flow: FlowId,
    /// Whether the flow is new.
    pub new: bool,
}

/// The table's size is 0, or larger than ids can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableError;

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a flow table holds 1 to 2^31 flows")
    }
}

impl core::error::Error for TableError {}

impl<K: Hash + Eq> FlowTable<K> {
    /// A table of at most `most` flows (1 to 2^31), each retired `timeout` after its last packet. `hash_key` should be secret
    /// and random if keys come from a network.
    ///
    /// # Errors
    /// [`TableError`] if `most` is out of range.
    pub fn new(most: u32, timeout: Nanos, hash_key: [u8; 16]) -> Result<Self, TableError> {
        if !(1..=1 << 31).contains(&most) {
            return Err(TableError);
        }
        Ok(Self {
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NIL,
            youngest: NIL,
            timeout,
            most,
            hash_key,
            evictions: 0,
        })
    }

    /// The number of known flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether no flow is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The number of flows evicted before their timeout.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The key of a live flow.
    #[must_use]
    pub fn key(&self, flow: FlowId) -> Option<&K> {
        self.slots.get(flow.index()).filter(|slot| slot.live).map(|slot| &slot.key)
    }

    /// Returns the flow of `key`, which has a packet at `now`; adds it if it is new. Flows that have timed out or must be
    /// evicted are offered to `retire` first, which returns whether the id may be reused (a scheduler's
    /// [`forget`](crate::Scheduler::forget) answers that). A flow that may not be retired counts as seen now. `None`: the table
    /// is full, and none of the 64 flows that had been silent longest could be retired; the next call offers others.
    ///
    /// O(1) amortised, one hash of the key.
    pub fn lookup(&mut self, key: K, now: Nanos, mut retire: impl FnMut(FlowId) -> bool) -> Option<Lookup> {
        let hash = self.hash(&key);
        if let Some(&at) = self.index.find(hash, |&at| self.slots[at as usize].key == key) {
            self.touch(at, now);
            return Some(Lookup { flow: FlowId(at), new: false });
        }
        // Two examined per new flow: the table shrinks even while flows keep arriving.
        for _ in 0..2 {
            let timed_out = |slot: &Slot<K>| now > slot.seen + self.timeout;
            if self.slots.get(self.oldest as usize).is_none_or(|slot| !timed_out(slot))
                || !self.retire(&mut retire, now)
            {
                break;
            }
        }
        if self.free.is_empty() && self.slots.len() >= self.most as usize {
            if !self.retire_any(&mut retire, now) {
                return None;
            }
            self.evictions += 1;
        }
        Some(Lookup { flow: self.insert(key, hash, now), new: true })
    }

    /// Offers flows that have been silent for the timeout at `now` to `retire`, those that have been silent longest first and
    /// at most `most` of them; returns how many were retired. The others count as seen now: they are offered again after
    /// another timeout. O(`most`).
    pub fn expire(&mut self, now: Nanos, most: usize, mut retire: impl FnMut(FlowId) -> bool) -> usize {
        let mut gone = 0;
        for _ in 0..most {
            if self.slots.get(self.oldest as usize).is_none_or(|slot| now <= slot.seen + self.timeout) {
                break;
            }
            gone += usize::from(self.retire(&mut retire, now));
        }
        gone
    }

    fn retire_any(&mut self, retire: &mut impl FnMut(FlowId) -> bool, now: Nanos) -> bool {
        // A flow that cannot be retired moves to the young end, so that a few busy ones do not block all others.
        const TRIES: usize = 64;
        (0..TRIES.min(self.len())).any(|_| self.retire(retire, now))
    }

    /// Offers the oldest flow; if it cannot be retired, it counts as seen now.
    fn retire(&mut self, retire: &mut impl FnMut(FlowId) -> bool, now: Nanos) -> bool {
        let at = self.oldest;
        if at == NIL {
            return false;
        }
        if !retire(FlowId(at)) {
            self.touch(at, now);
            return false;
        }
        self.unlink(at);
        let slot = &mut self.slots[at as usize];
        slot.live = false;
        if let Ok(entry) = self.index.find_entry(slot.hash, |&other| other == at) {
            entry.remove();
        }
        self.free.push(FlowId(at));
        true
    }

    fn insert(&mut self, key: K, hash: u64, now: Nanos) -> FlowId {
        let slot = Slot { key, hash, seen: now, older: NIL, younger: NIL, live: true };
        let at = match self.free.pop() {
            Some(flow) => {
                self.slots[flow.index()] = slot;
                flow.0
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.index.insert_unique(hash, at, |&other| self.slots[other as usize].hash);
        self.link_youngest(at);
        FlowId(at)
    }

    fn touch(&mut self, at: u32, now: Nanos) {
        // A clock that runs backwards must not make a flow older than it was.
        let slot = &mut self.slots[at as usize];
        slot.seen = slot.seen.max(now);
        if self.youngest != at {
            self.unlink(at);
            self.link_youngest(at);
        }
    }

    fn unlink(&mut self, at: u32) {
        let Slot { older, younger, .. } = self.slots[at as usize];
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.younger = younger,
            None => self.oldest = younger,
        }
        match self.slots.get_mut(younger as usize) {
            Some(slot) => slot.older = older,
            None => self.youngest = older,
        }
    }

    fn link_youngest(&mut self, at: u32) {
        let before = self.youngest;
        let slot = &mut self.slots[at as usize];
        slot.older = before;
        slot.younger = NIL;
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.younger = at,
            None => self.oldest = at,
        }
        self.youngest = at;
    }

    fn hash(&self, key: &K) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.hash_key);
        key.hash(&mut hasher);
        hasher.finish()
    }
}

impl<K> fmt::Debug for FlowTable<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowTable")
            .field("flows", &self.index.len())
            .field("timeout", &self.timeout)
            .field("most", &self.most)
            .field("evictions", &self.evictions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    const KEY: [u8; 16] = *b"a key for a test";

    #[test]
    fn ids_are_dense_and_come_back_after_the_timeout() {
        let mut table = FlowTable::new(10, Nanos::from_secs(1), KEY).expect("in range");
        let a = table.lookup("a", Nanos(0), |_| true).expect("room");
        let b = table.lookup("b", Nanos(0), |_| true).expect("room");
        assert_eq!((a.flow, b.flow, a.new), (FlowId(0), FlowId(1), true));
        assert!(!table.lookup("a", Nanos::from_millis(900), |_| true).expect("known").new);
        let c = table.lookup("c", Nanos::from_millis(1500), |_| true).expect("room");
        assert_eq!(c.flow, b.flow, "b was silent for over a second");
        assert_eq!(table.key(c.flow), Some(&"c"));
        assert_eq!(table.evictions(), 0);
    }

    #[test]
    fn a_full_table_evicts_the_oldest_that_may_go() {
        let mut table = FlowTable::new(2, Nanos::from_secs(100), KEY).expect("in range");
        table.lookup(1, Nanos(1), |_| true);
        table.lookup(2, Nanos(2), |_| true);
        let third = table.lookup(3, Nanos(3), |flow| flow != FlowId(0)).expect("the second may go");
        assert_eq!(third.flow, FlowId(1));
        assert_eq!(table.evictions(), 1);
        assert_eq!(table.lookup(4, Nanos(4), |_| false), None);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn flows_that_must_stay_do_not_block_those_that_may_go() {
        let mut table = FlowTable::new(200, Nanos::from_secs(1), KEY).expect("in range");
        for key in 0..100 {
            table.lookup(key, Nanos(0), |_| true);
        }
        let later = Nanos::from_secs(2);
        let busy = |flow: FlowId| flow.0 >= 3;
        assert_eq!(table.expire(later, 4, busy), 1, "three of four were refused");
        assert_eq!(table.expire(later, usize::MAX, busy), 96);
        assert_eq!(table.expire(later, usize::MAX, |_| true), 0, "those that stayed count as seen");
        assert_eq!(table.expire(Nanos::from_secs(4), usize::MAX, |_| true), 3);
    }

    #[test]
    fn a_full_table_gives_up_after_64_refusals() {
        let mut table = FlowTable::new(100, Nanos::from_secs(100), KEY).expect("in range");
        for key in 0..100 {
            table.lookup(key, Nanos(0), |_| true);
        }
        let mut offered = Vec::new();
        let mut refuse = |flow: FlowId| {
            offered.push(flow.0);
            false
        };
        assert_eq!(table.lookup(100, Nanos(1), &mut refuse), None);
        assert_eq!(table.lookup(100, Nanos(2), &mut refuse), None);
        assert_eq!(offered, (0..100).chain(0..28).collect::<Vec<_>>(), "the second call began with others");
    }

    #[test]
    fn a_slot_of_a_conversation_is_64_bytes() {
        assert_eq!(size_of::<Slot<FiveTuple>>(), 64);
    }

    #[test]
    fn zero_flows_is_an_error() {
        assert_eq!(FlowTable::<u8>::new(0, Nanos(1), KEY).err(), Some(TableError));
    }

    proptest! {
        #[test]
        fn never_two_live_keys_with_one_id(keys in prop::collection::vec((0u8..30, 0u64..50), 1..400)) {
            let mut table = FlowTable::new(8, Nanos(100), KEY).expect("in range");
            let mut live: HashMap<u32, u8> = HashMap::new();
            let mut now = 0;
            for (key, step) in keys {
                now += step;
                let mut gone = Vec::new();
                let found = table.lookup(key, Nanos(now), |flow| { gone.push(flow.0); true }).expect("all may go");
                for flow in gone {
                    live.remove(&flow);
                }
                match live.insert(found.flow.0, key) {
                    None => prop_assert!(found.new),
                    Some(before) => { prop_assert_eq!(before, key); prop_assert!(!found.new); }
                }
                prop_assert!(table.len() <= 8);
                prop_assert_eq!(table.len(), live.len());
            }
        }
    }
}
