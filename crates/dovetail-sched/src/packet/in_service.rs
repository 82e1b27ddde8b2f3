//! The packets that have been released and have not left the pipeline.
//!
//! Several policies give a newly backlogged flow a tag from "the largest tag among packets in service": DRFQ's `V(t, j)`,
//! ATFQ's eq. 1. This type tracks that maximum for `K` kinds of tag at once. Packets are numbered as they are released, and the
//! number is the ticket; for each kind there is a queue of candidates with falling tags, the front being the maximum, so that a
//! release and a finish cost O(K) amortised. Packets that finish out of order are marked, and leave when all before them have.

use alloc::{collections::VecDeque, vec::Vec};

/// Packets in service, with their tags.
#[derive(Debug)]
pub struct InService {
    // One per packet from `first` on: whether it is still in service.
    running: VecDeque<bool>,
    first: u64,
    kinds: Vec<VecDeque<(u64, f64)>>,
}

/// A bound for environments that never report finished packets: beyond this many, the oldest counts as finished.
const MAX_PACKETS: usize = 1 << 16;

impl InService {
    /// An empty set; `kinds` tags per packet.
    #[must_use]
    pub fn new(kinds: usize) -> Self {
        Self { running: VecDeque::new(), first: 0, kinds: (0..kinds).map(|_| VecDeque::new()).collect() }
    }

    /// Whether nothing is in service.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Records a released packet with these tags, one per kind; returns its ticket.
    #[inline]
    pub fn release(&mut self, tags: impl IntoIterator<Item = f64>) -> u64 {
        if self.running.len() >= MAX_PACKETS {
            self.finish(self.first);
        }
        let number = self.first + self.running.len() as u64;
        self.running.push_back(true);
        for (candidates, tag) in self.kinds.iter_mut().zip(tags) {
            while candidates.back().is_some_and(|&(_, last)| last <= tag) {
                candidates.pop_back();
            }
            candidates.push_back((number, tag));
        }
        number
    }

    /// Records that the packet with this ticket has finished.
    #[inline]
    pub fn finish(&mut self, ticket: u64) {
        let Some(at) = ticket.checked_sub(self.first) else { return };
        if at > 0 {
            // The oldest packet is still in service, so none leaves.
            if let Some(running) = usize::try_from(at).ok().and_then(|at| self.running.get_mut(at)) {
                *running = false;
            }
            return;
        }
        if self.running.pop_front().is_none() {
            return;
        }
        self.first += 1;
        while self.running.front() == Some(&false) {
            self.running.pop_front();
            self.first += 1;
        }
        for candidates in &mut self.kinds {
            while candidates.front().is_some_and(|&(number, _)| number < self.first) {
                candidates.pop_front();
            }
        }
    }

    /// The largest tag of a kind among the packets in service.
    #[inline]
    #[must_use]
    pub fn largest(&self, kind: usize) -> Option<f64> {
        self.kinds[kind].front().map(|&(_, tag)| tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_of_what_is_still_there() {
        let mut service = InService::new(2);
        let a = service.release([5.0, 1.0]);
        let b = service.release([3.0, 4.0]);
        let c = service.release([1.0, 2.0]);
        assert_eq!((service.largest(0), service.largest(1)), (Some(5.0), Some(4.0)));
        service.finish(a);
        assert_eq!((service.largest(0), service.largest(1)), (Some(3.0), Some(4.0)));
        service.finish(c);
        service.finish(b);
        assert!(service.is_empty());
        assert_eq!((service.largest(0), service.largest(1)), (None, None));
        service.finish(99);
        service.finish(a);
    }

    #[test]
    fn stays_bounded_without_feedback() {
        let mut service = InService::new(1);
        for step in 0..(MAX_PACKETS as u64 * 3) {
            service.release([(step % 1000) as f64]);
        }
        assert!(service.running.len() <= MAX_PACKETS);
        assert!(service.kinds[0].len() <= MAX_PACKETS);
    }
}
