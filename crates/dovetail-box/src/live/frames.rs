//! Storage of the frames that the box holds.
//!
//! While frames are queued, the kernel uses the caches, so the frame that is processed next is not in them. No policy reorders
//! a flow, so each frame's successor within its flow is known, and it is prefetched when the frame before it is processed.

use dovetail_sched::{FlowId, prefetch};

use super::{
    ahead::{LINE, ask_for},
    sys::MAX_FRAME_BYTES,
};
use crate::wire::offload::Offload;

/// A frame in the box.
#[derive(Debug)]
pub(super) struct Frame {
    /// Starting with the addresses, with tags in place and checksums filled in.
    pub bytes: Vec<u8>,
    /// A copy as received, kept if functions may make it too long for the outgoing interface and its sender must be told;
    /// else empty.
    pub as_it_came: Vec<u8>,
    /// Its class.
    pub class: u16,
    /// Offloads for the kernel.
    pub offload: Offload,
    /// Packet number, counted from 0.
    pub number: u64,
}

/// A slot for a frame.
#[derive(Debug)]
struct Place {
    frame: Option<Frame>,
    /// Slot of the next frame of the same flow: a hint, which may refer to another frame by then.
    behind: usize,
}

/// Frames by handle. Buffers are reused, so that nothing is allocated once they have grown.
#[derive(Debug, Default)]
pub(super) struct Frames {
    held: Vec<Place>,
    /// Free slots; the last to become free is reused first.
    vacant: Vec<usize>,
    /// Slot of each flow's last frame.
    youngest: Vec<usize>,
    /// The handle whose slot was prefetched last.
    asked: usize,
    spare: Vec<Vec<u8>>,
    /// Spare buffers of long frames: a short one must not occupy that much.
    long: Vec<Vec<u8>>,
}

/// Frames longer than this, in bytes, use separate buffers: frames that carry several packets of a stream.
const LONG: usize = 1 << 14;
/// Maximum number of spare long buffers, of up to 64 KiB each: as many as leave in one call.
const MAX_SPARE_LONG: usize = 64;

impl Frames {
    /// The handle that the next frame will have.
    pub(super) fn next_handle(&self) -> u64 {
        self.vacant.last().copied().unwrap_or(self.held.len()) as u64
    }

    /// An empty buffer for a frame of this length.
    pub(super) fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        if bytes <= LONG {
            return self.spare.pop().unwrap_or_default();
        }
        // With maximum capacity, so that it can be swapped with the buffer that a socket has read into.
        self.long.pop().unwrap_or_else(|| Vec::with_capacity(MAX_FRAME_BYTES))
    }

    /// Returns a buffer that is no longer needed.
    pub(super) fn give_back(&mut self, mut buffer: Vec<u8>) {
        let is_long = buffer.capacity() > LONG;
        let (kept, most) =
            if is_long { (&mut self.long, MAX_SPARE_LONG) } else { (&mut self.spare, self.held.capacity() + 1) };
        if kept.len() < most {
            buffer.clear();
            kept.push(buffer);
        }
    }

    /// Keeps a copy of a frame as received.
    pub(super) fn keep(&mut self, handle: u64) {
        let Some(bytes) = self.get_mut(handle).map(|frame| frame.bytes.len()) else { return };
        let mut copy = self.buffer(bytes);
        if let Some(frame) = self.get_mut(handle) {
            copy.extend_from_slice(&frame.bytes);
            frame.as_it_came = copy;
        }
    }

    /// Releases the copy of a frame as received, if there is one.
    pub(super) fn let_go(&mut self, handle: u64) {
        if let Some(frame) = self.get_mut(handle)
            && !frame.as_it_came.is_empty()
        {
            let copy = std::mem::take(&mut frame.as_it_came);
            self.give_back(copy);
        }
    }

    /// Number of frames held.
    pub(super) fn count(&self) -> usize {
        self.held.len() - self.vacant.len()
    }

    /// Stores a frame as the last one of its flow.
    pub(super) fn hold(&mut self, frame: Frame, flow: FlowId) {
        let place = Place { frame: Some(frame), behind: usize::MAX };
        let at = match self.vacant.pop() {
            Some(at) => {
                self.held[at] = place;
                at
            }
            None => {
                self.held.push(place);
                self.held.len() - 1
            }
        };
        if self.youngest.len() <= flow.index() {
            self.youngest.resize(flow.index() + 1, usize::MAX);
        }
        let before = std::mem::replace(&mut self.youngest[flow.index()], at);
        if let Some(before) = self.held.get_mut(before).filter(|_| before != at) {
            before.behind = at;
        }
    }

    /// Prefetches the slot of the frame that follows this one in its flow, and the bytes of the frame whose slot was
    /// prefetched before.
    #[inline]
    pub(super) fn ask_ahead(&mut self, handle: u64) {
        if let Some(Place { frame: Some(frame), .. }) = self.held.get(self.asked) {
            ask_for(&frame.bytes, 2 * LINE);
        }
        if let Some(place) = self.held.get(handle as usize) {
            self.asked = place.behind;
            prefetch(&self.held, self.asked);
        }
    }

    pub(super) fn get(&self, handle: u64) -> Option<&Frame> {
        self.held.get(handle as usize)?.frame.as_ref()
    }

    pub(super) fn get_mut(&mut self, handle: u64) -> Option<&mut Frame> {
        self.held.get_mut(handle as usize)?.frame.as_mut()
    }

    pub(super) fn take(&mut self, handle: u64) -> Option<Frame> {
        let frame = self.held.get_mut(handle as usize)?.frame.take()?;
        self.vacant.push(handle as usize);
        Some(frame)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.held.iter_mut().filter_map(|place| place.frame.as_mut())
    }

    /// Renumbers classes: class `c` becomes `moved[c]`.
    pub(super) fn change_classes(&mut self, moved: &[u16]) {
        for frame in self.all_mut() {
            frame.class = moved[usize::from(frame.class)];
        }
    }

    /// Drops all frames and reports the class and number of each to `lost`.
    pub(super) fn clear(&mut self, mut lost: impl FnMut(u16, u64)) {
        for frame in self.all_mut() {
            lost(frame.class, frame.number);
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(frames: &mut Frames, flow: u32, number: u64) -> u64 {
        let handle = frames.next_handle();
        let frame = Frame { bytes: vec![7; 60], as_it_came: Vec::new(), class: 0, offload: Offload::NONE, number };
        frames.hold(frame, FlowId(flow));
        handle
    }

    #[test]
    fn what_follows_in_a_flow_is_asked_for() {
        let mut frames = Frames::default();
        let [a0, b0, a1, b1, a2] =
            [(0, 0), (9, 1), (0, 2), (9, 3), (0, 4)].map(|(flow, number)| hold(&mut frames, flow, number));
        for (handle, next) in [(a0, a1), (b0, b1), (a1, a2)] {
            frames.ask_ahead(handle);
            assert_eq!(frames.asked as u64, next);
        }
        // Nothing follows the last frame, nor a handle that is not in use.
        for handle in [b1, a2, 77, u64::MAX] {
            frames.ask_ahead(handle);
        }
    }

    #[test]
    fn places_are_used_again_and_frames_found_by_handle() {
        let mut frames = Frames::default();
        let handles: Vec<_> = (0..6).map(|number| hold(&mut frames, 0, number)).collect();
        for (number, &handle) in handles.iter().enumerate().step_by(2) {
            assert_eq!(frames.take(handle).unwrap().number, number as u64);
            assert!(frames.take(handle).is_none() && frames.get_mut(handle).is_none());
            frames.ask_ahead(handle);
        }
        let again: Vec<_> = (6..10).map(|number| hold(&mut frames, 0, number)).collect();
        assert_eq!(again, [4, 2, 0, 6]);
        assert_eq!(frames.get_mut(0).unwrap().number, 8);
        let mut lost = Vec::new();
        frames.clear(|_, number| lost.push(number));
        lost.sort_unstable();
        assert_eq!(lost, [1, 3, 5, 6, 7, 8, 9]);
        assert_eq!(hold(&mut frames, 0, 10), 0);
    }
}
