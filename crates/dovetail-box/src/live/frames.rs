//! Frames that the box holds.

use slab::Slab;

use crate::wire::offload::Offload;

/// A frame on its way through.
#[derive(Debug)]
pub(super) struct Frame {
    /// From the addresses on, tags in their places, checksums filled in.
    pub bytes: Vec<u8>,
    /// Its class.
    pub class: u16,
    /// What the kernel is to do to it.
    pub offload: Offload,
    /// Which packet it is, counted from 0.
    pub number: u64,
}

/// Frames by handle. Buffers are used again, so that nothing is allocated once they have grown.
#[derive(Debug, Default)]
pub(super) struct Frames {
    held: Slab<Frame>,
    spare: Vec<Vec<u8>>,
}

impl Frames {
    /// The handle that the next frame will have.
    pub(super) fn next_handle(&self) -> u64 {
        self.held.vacant_key() as u64
    }

    /// An empty buffer.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// A buffer that is no longer needed.
    pub(super) fn give_back(&mut self, mut buffer: Vec<u8>) {
        /// Buffers that grew for a whole GSO frame are not worth keeping.
        const WORTH_KEEPING: usize = 1 << 14;
        if buffer.capacity() <= WORTH_KEEPING && self.spare.len() <= self.held.capacity() {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    pub(super) fn hold(&mut self, frame: Frame) -> u64 {
        self.held.insert(frame) as u64
    }

    pub(super) fn get_mut(&mut self, handle: u64) -> Option<&mut Frame> {
        self.held.get_mut(handle as usize)
    }

    pub(super) fn take(&mut self, handle: u64) -> Option<Frame> {
        self.held.try_remove(handle as usize)
    }

    pub(super) fn drop(&mut self, handle: u64) {
        if let Some(frame) = self.take(handle) {
            self.give_back(frame.bytes);
        }
    }

    /// Class `c` is `moved[c]` from now on.
    pub(super) fn change_classes(&mut self, moved: &[u16]) {
        for (_, frame) in &mut self.held {
            frame.class = moved[usize::from(frame.class)];
        }
    }

    /// The numbers of all packets.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.held.iter().map(|(_, frame)| frame.number)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
