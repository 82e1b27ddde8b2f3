//! Propagation delay: frames that have left the link and have not arrived yet, for links emulated longer than the wire.

use std::collections::VecDeque;

use dovetail_sched::Nanos;

/// Maximum bytes in flight per direction: a tenth of a second at 1 Gbit/s.
const MAX_BYTES: usize = 16 << 20;
/// Memory of an entry in addition to its frame's buffer.
const ENTRY_BYTES: usize = 64;

/// Frames in flight, in order of departure; none overtakes another, even when the delay is reduced.
#[derive(Debug, Default)]
pub(super) struct Delay {
    length: Nanos,
    on_their_way: VecDeque<(Nanos, [u8; OFFLOAD], Vec<u8>)>,
    /// Capacity of the buffers, which may exceed the frames' lengths.
    bytes: usize,
}

const OFFLOAD: usize = crate::wire::offload::Offload::BYTES;

impl Delay {
    /// Sets the delay of frames that depart from here on.
    pub(super) fn set(&mut self, length: Nanos) {
        self.length = length;
    }

    /// Whether frames arrive without delay.
    pub(super) fn is_none(&self) -> bool {
        self.length == Nanos::ZERO && self.on_their_way.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.on_their_way.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.on_their_way.len()
    }

    /// Whether no further frame may depart.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    /// Adds a departing frame.
    pub(super) fn push(&mut self, offload: [u8; OFFLOAD], bytes: Vec<u8>, now: Nanos) {
        let before = self.on_their_way.back().map_or(Nanos::ZERO, |(due, ..)| *due);
        self.bytes += bytes.capacity() + ENTRY_BYTES;
        self.on_their_way.push_back((before.max(now + self.length), offload, bytes));
    }

    /// When the next frame arrives.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.on_their_way.front().map(|(due, ..)| *due)
    }

    /// Removes a frame that has arrived by `now`.
    pub(super) fn pop(&mut self, now: Nanos) -> Option<([u8; OFFLOAD], Vec<u8>)> {
        self.due().filter(|&due| due <= now)?;
        let (_, offload, bytes) = self.on_their_way.pop_front()?;
        self.bytes -= bytes.capacity() + ENTRY_BYTES;
        Some((offload, bytes))
    }

    /// Makes all frames arrive at once, and later ones without delay.
    pub(super) fn finish_fast(&mut self) {
        self.length = Nanos::ZERO;
        self.on_their_way.iter_mut().for_each(|(due, ..)| *due = Nanos::ZERO);
    }

    /// Drops all frames.
    pub(super) fn clear(&mut self) {
        self.on_their_way.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(delay: &mut Delay, now: Nanos) -> Vec<u8> {
        std::iter::from_fn(|| delay.pop(now)).map(|(_, bytes)| bytes[0]).collect()
    }

    #[test]
    fn frames_arrive_when_they_are_due_and_in_order() {
        let mut delay = Delay::default();
        assert!(delay.is_none());
        delay.set(Nanos(100));
        delay.push([0; OFFLOAD], vec![1], Nanos(0));
        delay.push([0; OFFLOAD], vec![2], Nanos(30));
        assert_eq!((delay.due(), arrived(&mut delay, Nanos(99))), (Some(Nanos(100)), vec![]));
        assert_eq!((arrived(&mut delay, Nanos(129)), delay.due()), (vec![1], Some(Nanos(130))));
        // A shorter delay does not let frames overtake.
        delay.set(Nanos::ZERO);
        delay.push([0; OFFLOAD], vec![3], Nanos(40));
        assert!(!delay.is_none());
        assert_eq!((arrived(&mut delay, Nanos(129)), arrived(&mut delay, Nanos(130))), (vec![], vec![2, 3]));
        assert!(delay.is_none() && delay.is_empty());
    }

    #[test]
    fn what_is_on_its_way_is_bounded_by_what_its_buffers_take() {
        let mut delay = Delay::default();
        delay.set(Nanos::from_secs(1));
        let mut frames = 0;
        while !delay.is_full() {
            let mut frame = Vec::with_capacity(1 << 16);
            frame.push(0);
            delay.push([0; OFFLOAD], frame, Nanos::ZERO);
            frames += 1;
        }
        assert_eq!(frames, 256);
        assert_eq!(arrived(&mut delay, Nanos::from_secs(1)).len(), 256);
        assert!(!delay.is_full() && delay.bytes == 0);
        delay.push([0; OFFLOAD], vec![1], Nanos::ZERO);
        delay.clear();
        assert!(delay.is_empty() && delay.bytes == 0);
    }
}
