//! A figure over time in a bounded number of bins.
//!
//! The length of a run is not known in advance. Bins start narrow; when time runs past the last one, neighbours are merged
//! and the width doubles. Adding is O(1) amortised; memory is constant.

use dovetail_sched::Nanos;

/// The number of bins: twice as many as a wide chart has pixels, so that merging never shows.
const BINS: usize = 2048;

/// The initial width.
const NARROWEST: Nanos = Nanos(1 << 14);

/// A figure over time.
#[derive(Debug, Clone)]
pub struct Timeline {
    shift: u32,
    bins: Vec<f64>,
    fold: Fold,
    open: Open,
}

/// The bin being written: time advances slowly, so the next amount is mostly for the same bin.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    from: u64,
    // 0 if there is none.
    width: u64,
    amount: f64,
}

impl Open {
    #[inline]
    fn has(&self, at: Nanos) -> bool {
        at.0.wrapping_sub(self.from) < self.width
    }
}

/// How two amounts in a bin are combined.
#[derive(Debug, Clone, Copy)]
enum Fold {
    Sum,
    Max,
}

impl Fold {
    #[inline]
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => a + b,
            // Avoids the NaN check of `f64::max`.
            Self::Max => {
                if b > a {
                    b
                } else {
                    a
                }
            }
        }
    }
}

impl Timeline {
    /// Amounts in a bin are summed.
    #[must_use]
    pub fn sums() -> Self {
        Self { shift: NARROWEST.0.trailing_zeros(), bins: Vec::new(), fold: Fold::Sum, open: Open::default() }
    }

    /// The largest amount in a bin is kept.
    #[must_use]
    pub fn maxima() -> Self {
        Self { fold: Fold::Max, ..Self::sums() }
    }

    /// Width of a bin.
    #[must_use]
    pub fn width(&self) -> Nanos {
        Nanos(1 << self.shift)
    }

    /// Adds `amount` at time `at`.
    #[inline]
    pub fn add(&mut self, at: Nanos, amount: f64) {
        if !self.open.has(at) {
            self.open_at(at);
        }
        self.open.amount = self.fold.of(self.open.amount, amount);
    }

    /// Adds to each bin its part of the time from `start` to `end`, in nanoseconds.
    #[inline]
    pub fn spread(&mut self, start: Nanos, end: Nanos) {
        if self.open.has(start) && self.open.has(end) {
            self.open.amount += (end - start).as_f64();
        } else {
            self.spread_over(start, end);
        }
    }

    fn spread_over(&mut self, start: Nanos, end: Nanos) {
        // Start with the last bin, since it determines the width.
        self.open_at(end);
        let (first, last) = (self.bin(start), self.bin(end));
        if first == last {
            self.open.amount += (end - start).as_f64();
            return;
        }
        let boundary = |bin: usize| Nanos((bin as u64) << self.shift);
        self.bins[first] += (boundary(first + 1) - start).as_f64();
        for bin in first + 1..last {
            self.bins[bin] += self.width().as_f64();
        }
        self.open.amount += (end - boundary(last)).as_f64();
    }

    /// The bins merged to `width`, which must be this line's width times a power of two.
    #[must_use]
    pub fn at_width(mut self, width: Nanos) -> Vec<f64> {
        self.close();
        while self.width() < width {
            self.halve();
        }
        self.bins
    }

    #[inline]
    fn bin(&self, at: Nanos) -> usize {
        (at.0 >> self.shift) as usize
    }

    /// Opens the bin of this time, widening the bins until they reach it.
    fn open_at(&mut self, at: Nanos) {
        self.close();
        while self.bin(at) >= BINS {
            self.halve();
        }
        let bin = self.bin(at);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0.0);
        }
        self.open = Open { from: (bin as u64) << self.shift, width: self.width().0, amount: self.bins[bin] };
    }

    fn close(&mut self) {
        if self.open.width > 0 {
            let bin = self.bin(Nanos(self.open.from));
            self.bins[bin] = self.open.amount;
            self.open.width = 0;
        }
    }

    fn halve(&mut self) {
        let pairs = self.bins.len().div_ceil(2);
        for pair in 0..pairs {
            let second = self.bins.get(2 * pair + 1).copied().unwrap_or(0.0);
            self.bins[pair] = self.fold.of(self.bins[2 * pair], second);
        }
        self.bins.truncate(pairs);
        self.shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_survive_folding() {
        let mut line = Timeline::sums();
        for second in 0..100 {
            line.add(Nanos::from_secs(second), 1.0);
        }
        line.close();
        assert_eq!(line.bins.iter().sum::<f64>(), 100.0);
        assert!(line.bins.len() <= BINS);
        assert!(line.width() >= Nanos::from_millis(40));
    }

    #[test]
    fn time_is_spread_over_bins() {
        let mut line = Timeline::sums();
        let width = line.width();
        line.spread(Nanos(width.0 / 2), Nanos(3 * width.0 + 10));
        line.close();
        assert_eq!(line.bins, [width.as_f64() / 2.0, width.as_f64(), width.as_f64(), 10.0]);
    }

    #[test]
    fn maxima_stay() {
        let mut line = Timeline::maxima();
        line.add(Nanos(0), 7.0);
        line.add(Nanos(1), 3.0);
        line.add(Nanos::MAX, 5.0);
        line.close();
        assert_eq!(line.bins[0], 7.0);
        assert_eq!(line.bins.last(), Some(&5.0));
        assert!(line.bins.len() <= BINS);
    }
}
