//! A figure over time in a bounded number of bins.
//!
//! How long a run will be is not known while it streams by. Bins start narrow; when time runs past the last one,
//! neighbours are folded together and the width doubles. Adding is O(1) amortised, memory is constant.

use dovetail_sched::Nanos;

/// The number of bins: twice what a wide chart has pixels for, so that folding never shows.
const BINS: usize = 2048;

/// The first width.
const NARROWEST: Nanos = Nanos(1 << 14);

/// A figure over time.
#[derive(Debug, Clone)]
pub struct Timeline {
    shift: u32,
    bins: Vec<f64>,
    fold: fn(f64, f64) -> f64,
}

impl Timeline {
    /// Amounts in a bin are added up.
    #[must_use]
    pub fn sums() -> Self {
        Self { shift: NARROWEST.0.trailing_zeros(), bins: Vec::new(), fold: |a, b| a + b }
    }

    /// The largest amount in a bin counts.
    #[must_use]
    pub fn maxima() -> Self {
        Self { fold: f64::max, ..Self::sums() }
    }

    /// How wide a bin is.
    #[must_use]
    pub fn width(&self) -> Nanos {
        Nanos(1 << self.shift)
    }

    /// Adds `amount` at time `at`.
    #[inline]
    pub fn add(&mut self, at: Nanos, amount: f64) {
        let bin = self.bin(at);
        self.bins[bin] = (self.fold)(self.bins[bin], amount);
    }

    /// Adds each bin's part of the time from `start` to `end`, in nanoseconds.
    #[inline]
    pub fn spread(&mut self, start: Nanos, end: Nanos) {
        // The last bin first: it makes the width fit.
        let last = self.bin(end);
        let first = (start.0 >> self.shift) as usize;
        if first == last {
            self.bins[first] += (end - start).as_f64();
            return;
        }
        let boundary = |bin: usize| Nanos((bin as u64) << self.shift);
        self.bins[first] += (boundary(first + 1) - start).as_f64();
        for bin in first + 1..last {
            self.bins[bin] += self.width().as_f64();
        }
        self.bins[last] += (end - boundary(last)).as_f64();
    }

    /// The bins at `width`, which is this line's width doubled any number of times.
    #[must_use]
    pub fn at_width(mut self, width: Nanos) -> Vec<f64> {
        while self.width() < width {
            self.halve();
        }
        self.bins
    }

    #[inline]
    fn bin(&mut self, at: Nanos) -> usize {
        let bin = (at.0 >> self.shift) as usize;
        if bin < self.bins.len() { bin } else { self.grow(at) }
    }

    #[cold]
    fn grow(&mut self, at: Nanos) -> usize {
        while (at.0 >> self.shift) as usize >= BINS {
            self.halve();
        }
        let bin = (at.0 >> self.shift) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0.0);
        }
        bin
    }

    fn halve(&mut self) {
        let pairs = self.bins.len().div_ceil(2);
        for pair in 0..pairs {
            let second = self.bins.get(2 * pair + 1).copied().unwrap_or(0.0);
            self.bins[pair] = (self.fold)(self.bins[2 * pair], second);
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
        assert_eq!(line.bins.iter().sum::<f64>(), 100.0);
        assert!(line.bins.len() <= BINS);
        assert!(line.width() >= Nanos::from_millis(40));
    }

    #[test]
    fn time_is_spread_over_bins() {
        let mut line = Timeline::sums();
        let width = line.width();
        line.spread(Nanos(width.0 / 2), Nanos(3 * width.0 + 10));
        assert_eq!(line.bins, [width.as_f64() / 2.0, width.as_f64(), width.as_f64(), 10.0]);
    }

    #[test]
    fn maxima_stay() {
        let mut line = Timeline::maxima();
        line.add(Nanos(0), 7.0);
        line.add(Nanos(1), 3.0);
        line.add(Nanos::MAX, 5.0);
        assert_eq!(line.bins[0], 7.0);
        assert_eq!(line.bins.last(), Some(&5.0));
        assert!(line.bins.len() <= BINS);
    }
}
