//! The gaps between all pairs of a few packets, and closed orders of them.

use alloc::vec::Vec;

/// Gaps in nanoseconds. Row `p`, column `q` is the gap when `q` follows `p`; row 0 is the packet that went before all,
/// column 0 the one that goes after all, so that an order is a tour that starts and ends at 0.
#[derive(Debug, Default)]
pub struct Matrix {
    side: usize,
    gaps: Vec<i64>,
}

impl Matrix {
    /// Fills in the gaps between `side` packets; `gap(p, q)` is not asked for `p = q`.
    pub fn fill(&mut self, side: usize, gap: impl Fn(usize, usize) -> u64) {
        self.side = side;
        self.gaps.clear();
        for p in 0..side {
            // Packets do not follow themselves: at more than all gaps together no order of least gaps has it.
            self.gaps.extend((0..side).map(|q| if p == q { 1 << 57 } else { gap(p, q) as i64 }));
        }
    }

    /// How many rows and columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The gap when `q` follows `p`.
    #[inline]
    pub fn gap(&self, p: u16, q: u16) -> i64 {
        self.row(p)[usize::from(q)]
    }

    /// The gaps when others follow `p`.
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
