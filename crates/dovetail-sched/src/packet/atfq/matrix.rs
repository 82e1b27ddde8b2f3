//! The gaps between all pairs of a few packets, and closed orders of them.

use alloc::vec::Vec;

/// Gaps in nanoseconds. Row `p`, column `q` is the gap if `q` follows `p`; row 0 is the packet before all others, column 0 the
/// one after them, so that an order is a tour that starts and ends at 0.
#[derive(Debug, Default)]
pub struct Matrix {
    side: usize,
    gaps: Vec<i64>,
}

impl Matrix {
    /// Fills in the gaps between `side` packets; `gap(p, q)` is not called for `p = q`.
    pub fn fill(&mut self, side: usize, gap: impl Fn(usize, usize) -> u64) {
        self.side = side;
        self.gaps.clear();
        for p in 0..side {
            // A packet cannot follow itself: with a gap larger than all others together, no order of least gaps has it.
            self.gaps.extend((0..side).map(|q| if p == q { 1 << 57 } else { gap(p, q) as i64 }));
        }
    }

    /// The number of rows and columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The gap if `q` follows `p`.
    #[inline]
    pub fn gap(&self, p: u16, q: u16) -> i64 {
        self.row(p)[usize::from(q)]
    }

    /// The gaps if others follow `p`.
    #[inline]
    pub fn row(&self, p: u16) -> &[i64] {
        let start = usize::from(p) * self.side;
        &self.gaps[start..start + self.side]
    }

    /// The sum of gaps along a tour.
    pub fn sum(&self, tour: &[u16]) -> i64 {
        tour.windows(2).map(|pair| self.gap(pair[0], pair[1])).sum()
    }
}
