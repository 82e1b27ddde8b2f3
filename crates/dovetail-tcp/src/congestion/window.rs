//! A congestion window, and how it grows.

use dovetail_sched::Nanos;

/// A congestion window, in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) segments: u32,
    /// Where slow start ends.
    pub(crate) threshold: u32,
    // Of the next segment that it grows by.
    pub(crate) counted: u32,
}

impl Window {
    pub(crate) const fn new(segments: u32) -> Self {
        Self { segments, threshold: u32::MAX, counted: 0 }
    }

    pub(crate) const fn is_in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// The threshold that a window which shrinks for want of data leaves: three quarters of it.
    pub(crate) fn threshold_kept(&self) -> u32 {
        self.threshold.max((self.segments >> 1) + (self.segments >> 2))
    }

    /// Grows by what was acknowledged, up to the threshold; how much of that is left (RFC 5681, equation 2, with the L of
    /// RFC 3465 unlimited).
    pub(super) fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.threshold);
        let left = acked - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// Grows by one for each `per` segments acknowledged.
    pub(super) fn avoid(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // What was counted for a slower growth.
        if self.counted >= per {
            self.counted = 0;
            self.segments = self.segments.saturating_add(1);
        }
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= per {
            let by = self.counted / per;
            self.counted -= by * per;
            self.segments = self.segments.saturating_add(by);
        }
    }
}

/// An acknowledgement, as congestion control sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    /// Segments that it says are delivered.
    pub(crate) segments: u32,
    /// How long the newest of them took.
    pub(crate) rtt: Option<Nanos>,
    /// All before is acknowledged, and all before `nxt` sent.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}
