//! Segments in the middle of a write that carry PSH (RFC 9293, section 3.9.1.2).
//!
//! The last segment of a write carries PSH, so that the receiver acknowledges it as soon as it is read. A write may be much
//! larger than a window. So that its sender does not have to wait for a delayed acknowledgement, the first full segment past
//! each half of the largest advertised window carries PSH too (Linux's `forced_push`).

use alloc::{boxed::Box, collections::VecDeque};
use core::ops::Range;

/// Segments in the middle of writes that carry PSH.
#[derive(Debug, Clone)]
pub(crate) struct Pushes {
    // Decided up to this place.
    decided: u64,
    // Mostly `None`.
    ends: Option<Box<Ends>>,
}

/// Places where they end.
#[derive(Debug, Clone, Default)]
struct Ends(VecDeque<u64>);

impl Pushes {
    pub(crate) const fn new() -> Self {
        Self { decided: 1, ends: None }
    }

    /// Records a write of these places. Full segments begin at `nxt`; `offer` is the largest window advertised so far, 0 if
    /// none.
    pub(crate) fn wrote(&mut self, places: Range<u64>, nxt: u64, segment: u32, offer: u64) {
        if offer == 0 || places.is_empty() {
            return;
        }
        let segment = u64::from(segment);
        loop {
            let behind = places.start.max(self.decided + offer / 2) - nxt;
            let end = nxt + (behind / segment + 1) * segment;
            if end > places.end {
                break;
            }
            self.ends.get_or_insert_default().0.push_back(end);
            self.decided = end;
        }
        self.decided = places.end;
    }

    /// Whether the segment that ends here carries PSH; forgets earlier ones.
    pub(crate) fn takes(&mut self, end: u64) -> bool {
        let Some(ends) = &mut self.ends else { return false };
        let mut last = None;
        while let Some(&next) = ends.0.front().filter(|&&next| next <= end) {
            last = Some(next);
            ends.0.pop_front();
        }
        if ends.0.is_empty() {
            self.ends = None;
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
        assert!(pushes.ends.is_none());
    }

    #[test]
    fn of_one_long_write_half_windows_apart() {
        let mut pushes = Pushes::new();
        pushes.wrote(1..100_001, 1, 1000, 20_000);
        let pushed: Vec<u64> = (1..=100).filter(|segment| pushes.takes(1 + segment * 1000)).collect();
        assert_eq!(pushed, [11, 22, 33, 44, 55, 66, 77, 88, 99]);
    }
}
