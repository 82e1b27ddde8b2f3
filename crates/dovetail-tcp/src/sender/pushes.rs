//! Segments in the middle of a write that carry PSH (RFC 9293, section 3.9.1.2).
//!
//! The last segment of a write carries PSH, so that the receiver acknowledges it as soon as it is read. A write may be much
//! larger than a window. So that its sender does not have to wait for a delayed acknowledgement, the first full segment past
//! each half of the largest advertised window carries PSH too (Linux's `forced_push`). Which these are follows from where the
//! write began, so a write is one record until the last of them is sent.

use alloc::{boxed::Box, collections::VecDeque};
use core::ops::Range;

/// Segments in the middle of writes that carry PSH.
#[derive(Debug, Clone)]
pub(crate) struct Pushes {
    // Decided up to this place.
    decided: u64,
    // Mostly `None`.
    writes: Option<Box<Writes>>,
}

/// In order.
#[derive(Debug, Clone, Default)]
struct Writes(VecDeque<Write>);

/// A write, whatever its length, with such segments to come.
#[derive(Debug, Clone, Copy)]
struct Write {
    /// The end of the next one.
    next: u64,
    /// The end of the write.
    end: u64,
    // Full segments begin here, and the largest window advertised so far.
    from: u64,
    segment: u64,
    offer: u64,
}

impl Write {
    /// Sets the end of the next one, that of the first full segment that ends behind this place. False if the write has none.
    const fn find(&mut self, behind: u64) -> bool {
        self.next = self.from + ((behind - self.from) / self.segment + 1) * self.segment;
        self.next <= self.end
    }
}

impl Pushes {
    pub(crate) const fn new() -> Self {
        Self { decided: 1, writes: None }
    }

    /// Records a write of these places. Full segments begin at `nxt`; `offer` is the largest window advertised so far, 0 if
    /// none.
    pub(crate) fn wrote(&mut self, places: Range<u64>, nxt: u64, segment: u32, offer: u64) {
        if offer == 0 || places.is_empty() {
            return;
        }
        let mut write = Write { next: 0, end: places.end, from: nxt, segment: segment.into(), offer };
        if write.find(places.start.max(self.decided + offer / 2)) {
            self.writes.get_or_insert_default().0.push_back(write);
        }
        self.decided = places.end;
    }

    /// Whether the segment that ends here carries PSH; forgets earlier ones.
    pub(crate) fn takes(&mut self, end: u64) -> bool {
        let Some(writes) = &mut self.writes else { return false };
        let mut last = None;
        while let Some(write) = writes.0.front_mut().filter(|write| write.next <= end) {
            last = Some(write.next);
            if !write.find(write.next + write.offer / 2) {
                writes.0.pop_front();
            }
        }
        if writes.0.is_empty() {
            self.writes = None;
        }
        last == Some(end)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Segments of 1,460 and a window of 44 of them, written 64 KiB at a time, as in a recorded run.
    #[test]
    fn one_of_each_write_is_pushed_that_is_twice_a_window() {
        let mut pushes = Pushes::new();
        for at in 0..4 {
            let from = 1 + at * 65_536;
            pushes.wrote(from..from + 65_536, 1, 1460, 64_240);
        }
        let pushed: Vec<u64> = (1..180).filter(|segment| pushes.takes(1 + segment * 1460)).collect();
        assert_eq!(pushed, [23, 67, 112, 157]);
        assert!(pushes.writes.is_none());
    }

    #[test]
    fn of_one_long_write_half_windows_apart() {
        let mut pushes = Pushes::new();
        pushes.wrote(1..100_001, 1, 1000, 20_000);
        let pushed: Vec<u64> = (1..=100).filter(|segment| pushes.takes(1 + segment * 1000)).collect();
        assert_eq!(pushed, [11, 22, 33, 44, 55, 66, 77, 88, 99]);
    }

    #[test]
    fn a_write_of_any_length_is_one_record() {
        let mut pushes = Pushes::new();
        pushes.wrote(1..1 << 62, 1, 1000, 20_000);
        assert_eq!(pushes.writes.as_ref().map(|writes| writes.0.len()), Some(1));
        assert!(!pushes.takes(10_001) && pushes.takes(11_001));
    }
}
