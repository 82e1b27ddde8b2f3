//! Content-defined chunks, and a store of the chunks seen.
//!
//! A gear hash rolls over the bytes; a chunk ends where some of its bits are 0. Inserting or removing bytes moves only the
//! boundaries nearby, so repeated content is cut the same way wherever it occurs (Muthitacharoen et al., *A low-bandwidth
//! network file system*, SOSP 2001; Xia et al., *Ddelta*, 2014, for the gear hash). The hash continues across chunk
//! boundaries and covers the last 32 bytes.
//!
//! The store is a ring: a new chunk overwrites the oldest, and a slot's number identifies its chunk. An index by keyed hash
//! (SipHash-1-3) finds a chunk's slot; every hit is compared byte by byte, so that a collision costs a miss, never wrong
//! content. Both are arrays of fixed size. Two stores of the same size and key that learn the same contents in the same
//! order hold the same chunks in the same slots: the two ends of a link stay in step without exchanging messages.

use gearhash::Hasher as Gear;
use siphasher::sip::SipHasher13;
use std::{hash::Hasher, ops::Range};

/// Minimum length of a chunk in bytes, except for the last; shorter ones are not stored.
pub(super) const MIN_BYTES: usize = 32;
/// Maximum length of a chunk in bytes.
pub(super) const MAX_BYTES: usize = 256;

/// Bits 26 to 31 of the hash: one byte in 64 ends a chunk, and bit n depends on the last n + 1 bytes.
const ENDS: u64 = 0xfc00_0000;

/// Cuts `content` into chunks, appended to `chunks` in order; together they cover it.
pub(super) fn cut(content: &[u8], chunks: &mut Vec<Range<usize>>) {
    let mut gear = Gear::default();
    let (mut from, mut at) = (0, 0);
    while at < content.len() {
        let longest = content.len().min(from + MAX_BYTES);
        match gear.next_match(&content[at..longest], ENDS) {
            Some(behind) => at += behind,
            None => at = longest,
        }
        if at - from >= MIN_BYTES || at == content.len() {
            chunks.push(from..at);
            from = at;
        }
    }
}

/// A store of recently seen chunks.
#[derive(Debug)]
pub(super) struct Store {
    key: [u8; 16],
    // MAX_BYTES bytes per slot.
    bytes: Vec<u8>,
    lengths: Vec<u16>,
    // Slots by the low bits of the chunks' hashes: the most recently stored.
    index: Vec<u32>,
    next: usize,
}

impl Store {
    /// Capacity for `chunks` chunks (2 to 2^20, rounded up to a power of two), at 264 to 272 bytes each.
    pub(super) fn new(chunks: usize, key: [u8; 16]) -> Self {
        let places = chunks.clamp(2, 1 << 20).next_power_of_two();
        Self {
            key,
            bytes: vec![0; places * MAX_BYTES],
            lengths: vec![0; places],
            // Twice the slots, so that fewer chunks collide in the index.
            index: vec![0; places * 2],
            next: 0,
        }
    }

    fn entry(&self, chunk: &[u8]) -> usize {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(chunk);
        hasher.finish() as usize & (self.index.len() - 1)
    }

    /// The chunk in a slot, if the slot exists and holds one.
    pub(super) fn get(&self, place: usize) -> Option<&[u8]> {
        let length = usize::from(*self.lengths.get(place)?);
        self.bytes.get(place * MAX_BYTES..)?.get(..length).filter(|chunk| !chunk.is_empty())
    }

    /// The slot of a chunk.
    pub(super) fn find(&self, chunk: &[u8]) -> Option<usize> {
        let place = self.index[self.entry(chunk)] as usize;
        (self.get(place)? == chunk).then_some(place)
    }

    /// Stores the chunks of `content` that are new and not too short, in order.
    pub(super) fn learn(&mut self, content: &[u8], chunks: &[Range<usize>]) {
        for chunk in chunks.iter().filter_map(|range| content.get(range.clone())) {
            let entry = self.entry(chunk);
            if chunk.len() < MIN_BYTES || self.get(self.index[entry] as usize) == Some(chunk) {
                continue;
            }
            let place = self.next;
            self.next = (place + 1) % self.lengths.len();
            self.bytes[place * MAX_BYTES..][..chunk.len()].copy_from_slice(chunk);
            self.lengths[place] = chunk.len() as u16;
            self.index[entry] = place as u32;
        }
    }
}
