//! The congestion window and its growth.

use dovetail_sched::Nanos;

/// A congestion window, in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) segments: u32,
    /// Where slow start ends.
    pub(crate) threshold: u32,
    // Segments acknowledged towards the next growth.
    pub(crate) counted: u32,
}

impl Window {
    pub(crate) const fn new(segments: u32) -> Self {
        Self { segments, threshold: u32::MAX, counted: 0 }
    }

    pub(crate) const fn is_in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// The threshold to keep when an unused window shrinks: at least three quarters of the window.
    pub(crate) fn threshold_kept(&self) -> u32 {
        self.threshold.max((self.segments >> 1) + (self.segments >> 2))
    }

    /// Grows by what was acknowledged, up to the threshold; returns the rest (RFC 5681, equation 2, with the L of RFC 3465
    /// unlimited).
    pub(super) fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.threshold);
        let left = acked - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// Grows by one for each `per` segments acknowledged.
    pub(super) fn avoid(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // Counted while `per` was larger.
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

/// An acknowledgement as seen by congestion control.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    /// Segments that it delivers.
    pub(crate) segments: u32,
    /// Round-trip time of the newest of them.
    pub(crate) rtt: Option<Nanos>,
    /// Everything before `una` is acknowledged, and everything before `nxt` sent.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}
