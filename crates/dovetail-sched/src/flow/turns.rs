//! Round-robin turns.
//!
//! A ring of flows in which the front one can be moved to the back *or not* by arithmetic alone. Whether a turn ends depends on
//! the sizes of packets, which no branch predictor can predict; a branch there costs more than all the rest of a turn.

use alloc::vec::Vec;

use crate::FlowId;

/// Flows in the order of their turns.
#[derive(Debug, Default)]
pub struct Turns {
    // A power of two long, or empty; positions count up forever and are taken modulo the length.
    ring: Vec<FlowId>,
    front: usize,
    len: usize,
}

impl Turns {
    /// An empty ring.
    #[must_use]
    pub const fn new() -> Self {
        Self { ring: Vec::new(), front: 0, len: 0 }
    }

    /// The number of flows in the ring.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the ring is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flow whose turn is `ahead` turns away; 0 is the current one.
    #[inline]
    #[must_use]
    pub fn get(&self, ahead: usize) -> Option<FlowId> {
        (ahead < self.len).then(|| self.ring[self.place(self.front.wrapping_add(ahead))])
    }

    /// The flows in the order of their turns.
    pub fn iter(&self) -> impl Iterator<Item = FlowId> + '_ {
        (0..self.len).filter_map(|ahead| self.get(ahead))
    }

    /// Adds the flow at the back.
    #[inline]
    pub fn push_back(&mut self, flow: FlowId) {
        if self.len == self.ring.len() {
            self.grow();
        }
        let last = self.place(self.front.wrapping_add(self.len));
        self.ring[last] = flow;
        self.len += 1;
    }

    /// Removes the front flow.
    #[inline]
    pub fn pop_front(&mut self) {
        if self.len > 0 {
            self.front = self.front.wrapping_add(1);
            self.len -= 1;
        }
    }

    /// If `ends`, moves the front flow to the back, without a branch. The ring must not be empty.
    #[inline]
    pub fn rotate_if(&mut self, ends: bool) {
        let (first, last) = (self.place(self.front), self.place(self.front.wrapping_add(self.len)));
        // The entry behind the last is free, or is the first's own: writing it changes nothing if the turn goes on.
        self.ring[last] = self.ring[first];
        self.front = self.front.wrapping_add(usize::from(ends));
    }

    #[inline]
    fn place(&self, position: usize) -> usize {
        position & (self.ring.len().wrapping_sub(1))
    }

    #[cold]
    fn grow(&mut self) {
        let mut ring: Vec<FlowId> = self.iter().collect();
        ring.resize((2 * self.len).max(8).next_power_of_two(), FlowId::default());
        self.ring = ring;
        self.front = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_a_queue(steps in prop::collection::vec((0u8..4, 0u32..40), 1..400)) {
            let mut turns = Turns::new();
            let mut model: VecDeque<FlowId> = VecDeque::new();
            for (step, flow) in steps {
                match step {
                    0 | 1 => {
                        turns.push_back(FlowId(flow));
                        model.push_back(FlowId(flow));
                    }
                    2 => {
                        turns.pop_front();
                        model.pop_front();
                    }
                    _ if !model.is_empty() => {
                        let ends = flow % 2 == 0;
                        turns.rotate_if(ends);
                        model.rotate_left(usize::from(ends));
                    }
                    _ => {}
                }
                prop_assert!(turns.iter().eq(model.iter().copied()));
                prop_assert_eq!((turns.len(), turns.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(turns.get(2), model.get(2).copied());
            }
        }
    }
}
