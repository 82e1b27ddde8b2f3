//! Frames that the box holds.

use slab::Slab;

use super::sys::LONGEST;
use crate::wire::offload::Offload;

/// A frame on its way through.
#[derive(Debug)]
pub(super) struct Frame {
    /// From the addresses on, tags in their places, checksums filled in.
    pub bytes: Vec<u8>,
    /// As it came, where functions may make it too long for the interface behind, and its sender has to be told; else empty.
    pub as_it_came: Vec<u8>,
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
    /// Of long frames: a short one must not keep so much.
    long: Vec<Vec<u8>>,
}

/// What is longer has a buffer of its own kind, in bytes: a frame that is several packets' worth of a stream.
const LONG: usize = 1 << 14;
/// Buffers for such frames that are kept, of 64 KiB at most: as many as leave in one call.
const MOST_LONG: usize = 64;

impl Frames {
    /// The handle that the next frame will have.
    pub(super) fn next_handle(&self) -> u64 {
        self.held.vacant_key() as u64
    }

    /// An empty buffer for a frame of this length.
    pub(super) fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        if bytes <= LONG {
            return self.spare.pop().unwrap_or_default();
        }
        // As much as any takes, so that it can be exchanged for the one that a socket has read into.
        self.long.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST))
    }

    /// A buffer that is no longer needed.
    pub(super) fn give_back(&mut self, mut buffer: Vec<u8>) {
        let is_long = buffer.capacity() > LONG;
        let (kept, most) =
            if is_long { (&mut self.long, MOST_LONG) } else { (&mut self.spare, self.held.capacity() + 1) };
        if kept.len() < most {
            buffer.clear();
            kept.push(buffer);
        }
    }

    /// Keeps a copy of a frame as it came.
    pub(super) fn keep(&mut self, handle: u64) {
        let Some(bytes) = self.get_mut(handle).map(|frame| frame.bytes.len()) else { return };
        let mut copy = self.buffer(bytes);
        if let Some(frame) = self.get_mut(handle) {
            copy.extend_from_slice(&frame.bytes);
            frame.as_it_came = copy;
        }
    }

    /// Gives up the copy of a frame as it came, if there is one.
    pub(super) fn let_go(&mut self, handle: u64) {
        if let Some(frame) = self.get_mut(handle)
            && !frame.as_it_came.is_empty()
        {
            let copy = std::mem::take(&mut frame.as_it_came);
            self.give_back(copy);
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

    /// Class `c` is `moved[c]` from now on.
    pub(super) fn change_classes(&mut self, moved: &[u16]) {
        for (_, frame) in &mut self.held {
            frame.class = moved[usize::from(frame.class)];
        }
    }

    /// Forgets all of them; the class and the number of each are told.
    pub(super) fn clear(&mut self, mut lost: impl FnMut(u16, u64)) {
        for (_, frame) in &self.held {
            lost(frame.class, frame.number);
        }
        *self = Self::default();
    }
}
