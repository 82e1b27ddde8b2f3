//! Chunks that content itself cuts out, and a store of those seen.
//!
//! A gear hash rolls over the bytes; where some of its bits are 0, a chunk ends. Inserting or removing bytes moves the
//! ends near the change only, so content that comes again is cut the same way wherever it stands (Muthitacharoen et
//! al., *A low-bandwidth network file system*, SOSP 2001; Xia et al., *Ddelta*, 2014, for the gear hash). The hash goes
//! on over a chunk's end, and sees the last 32 bytes.
//!
//! The store is a ring: a new chunk takes the place of the oldest, and a place's number is what stands for its chunk.
//! An index by keyed hash (SipHash-1-3) finds a chunk's place; every find is checked byte by byte, so that a collision
//! costs a miss, never wrong content. Both are arrays of fixed size. Two stores of the same size and key that learn the
//! same contents in the same order hold the same chunks in the same places: that is how the two ends of a link agree
//! without a word.

use gearhash::Hasher as Gear;
use siphasher::sip::SipHasher13;
use std::{hash::Hasher, ops::Range};

/// The least bytes of a chunk but for the last; shorter ones are not kept.
pub(super) const SHORTEST: usize = 32;
/// The most bytes of a chunk.
pub(super) const LONGEST: usize = 256;

/// Bits 26 to 31 of the hash: one byte in 64 ends a chunk, and a bit sees as many bytes back as it is high.
const ENDS: u64 = 0xfc00_0000;

/// Cuts `content` into chunks, which are added to `chunks` in order and cover it.
pub(super) fn cut(content: &[u8], chunks: &mut Vec<Range<usize>>) {
    let mut gear = Gear::default();
    let (mut from, mut at) = (0, 0);
    while at < content.len() {
        let longest = content.len().min(from + LONGEST);
        match gear.next_match(&content[at..longest], ENDS) {
            Some(behind) => at += behind,
            None => at = longest,
        }
        if at - from >= SHORTEST || at == content.len() {
            chunks.push(from..at);
            from = at;
        }
    }
}

/// Chunks seen lately.
#[derive(Debug)]
pub(super) struct Store {
    key: [u8; 16],
    // LONGEST bytes a place.
    bytes: Vec<u8>,
    lengths: Vec<u16>,
    // Places by the low bits of the chunks' hashes: the last that was kept.
    index: Vec<u32>,
    next: usize,
}

impl Store {
    /// Room for `chunks` chunks (2 to 2^20, to the next power of two), at 264 to 272 bytes each.
    pub(super) fn new(chunks: usize, key: [u8; 16]) -> Self {
        let places = chunks.clamp(2, 1 << 20).next_power_of_two();
        Self {
            key,
            bytes: vec![0; places * LONGEST],
            lengths: vec![0; places],
            // Twice as many, so that fewer chunks take each other's entry.
            index: vec![0; places * 2],
            next: 0,
        }
    }

    fn entry(&self, chunk: &[u8]) -> usize {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(chunk);
        hasher.finish() as usize & (self.index.len() - 1)
    }

    /// The chunk in a place, if there is such a place and it holds one.
    pub(super) fn get(&self, place: usize) -> Option<&[u8]> {
        let length = usize::from(*self.lengths.get(place)?);
        self.bytes.get(place * LONGEST..)?.get(..length).filter(|chunk| !chunk.is_empty())
    }

    /// The place of a chunk.
    pub(super) fn find(&self, chunk: &[u8]) -> Option<usize> {
        let place = self.index[self.entry(chunk)] as usize;
        (self.get(place)? == chunk).then_some(place)
    }

    /// Keeps the chunks of a content that are new and not too short, in their order.
    pub(super) fn learn(&mut self, content: &[u8], chunks: &[Range<usize>]) {
        for chunk in chunks.iter().filter_map(|range| content.get(range.clone())) {
            let entry = self.entry(chunk);
            if chunk.len() < SHORTEST || self.get(self.index[entry] as usize) == Some(chunk) {
                continue;
            }
            let place = self.next;
            self.next = (place + 1) % self.lengths.len();
            self.bytes[place * LONGEST..][..chunk.len()].copy_from_slice(chunk);
            self.lengths[place] = chunk.len() as u16;
            self.index[entry] = place as u32;
        }
    }
}
