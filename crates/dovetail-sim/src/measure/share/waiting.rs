//! Waiting packets of a flow.
//!
//! If queues are unlimited, this grows with the backlog. A packet therefore takes a word for its handle and one per resource,
//! and memory is released as the backlog shrinks.

use std::collections::VecDeque;

use dovetail_sched::{Demand, MAX_RESOURCES, Nanos, Packet};

/// Capacity in words that is kept when unused.
const KEPT_WORDS: usize = 256;

/// The waiting packets of a flow, in order of arrival.
#[derive(Debug)]
pub(super) struct Waiting {
    resources: usize,
    // For each packet its handle, and its time on each resource.
    words: VecDeque<u64>,
}

impl Waiting {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, words: VecDeque::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, packet: &Packet) {
        self.words.push_back(packet.handle);
        self.words.extend(packet.demand.times().iter().map(|time| time.0));
    }

    /// Demand of the oldest packet.
    #[inline]
    pub(super) fn head(&self) -> Option<Demand> {
        let mut times = [Nanos::ZERO; MAX_RESOURCES];
        for (time, &word) in times.iter_mut().zip(self.words.range(1.min(self.words.len())..)).take(self.resources) {
            *time = Nanos(word);
        }
        (!self.words.is_empty()).then(|| Demand::new(&times[..self.resources]).ok()).flatten()
    }

    /// Removes a packet: the first, unless a policy or a limit took another.
    #[inline]
    pub(super) fn take(&mut self, handle: u64) {
        let stride = 1 + self.resources;
        if self.words.front() == Some(&handle) {
            self.words.drain(..stride);
        } else if let Some(at) = (0..self.words.len()).step_by(stride).rev().find(|&at| self.words[at] == handle) {
            self.words.drain(at..at + stride);
        }
        if self.words.capacity() > KEPT_WORDS.max(4 * self.words.len()) {
            self.words.shrink_to(2 * self.words.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::FlowId;

    use super::*;

    fn packet(handle: u64) -> Packet {
        let demand = Demand::new(&[Nanos(10 * handle), Nanos(handle)]).expect("two resources");
        Packet { flow: FlowId(0), bytes: 1, arrival: Nanos::ZERO, handle, demand }
    }

    #[test]
    fn packets_leave_from_anywhere_and_their_room_with_them() {
        let mut waiting = Waiting::new(2);
        assert!(waiting.is_empty() && waiting.head().is_none());
        // Handles that also occur as times: only a handle identifies a packet.
        (1..=10_000).for_each(|handle| waiting.push(&packet(handle)));
        assert_eq!(waiting.head(), Some(packet(1).demand));
        [10_000, 50, 1, 7, 20_000].into_iter().for_each(|handle| waiting.take(handle));
        assert_eq!(waiting.head(), Some(packet(2).demand));
        let left: Vec<u64> = waiting.words.iter().step_by(3).copied().collect();
        assert_eq!(left, (2..10_000).filter(|handle| ![50, 7].contains(handle)).collect::<Vec<_>>());
        left.iter().for_each(|&handle| waiting.take(handle));
        assert!(waiting.is_empty() && waiting.words.capacity() <= KEPT_WORDS);
    }
}
