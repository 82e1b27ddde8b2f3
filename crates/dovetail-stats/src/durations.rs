//! Durations, some of which have not ended.

use crate::{Quantile, mean, quantile};

/// A figure, and whether it is only a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Whether the true figure may be larger, as something has not ended.
    pub is_lower_bound: bool,
}

/// Durations, all in the same unit.
#[derive(Debug, Clone, Default)]
pub struct Durations {
    ended: Vec<f64>,
    not_ended: Vec<f64>,
}

impl Durations {
    /// Without durations.
    #[must_use]
    pub const fn new() -> Self {
        Self { ended: Vec::new(), not_ended: Vec::new() }
    }

    /// Adds the duration of something that has ended.
    pub fn ended(&mut self, took: f64) {
        self.ended.push(took);
    }

    /// Adds something that has lasted this long and has not ended.
    pub fn not_ended(&mut self, so_far: f64) {
        self.not_ended.push(so_far);
    }

    /// Sorts the durations, so that figures can be computed.
    #[must_use]
    pub fn sorted(mut self) -> SortedDurations {
        self.ended.sort_by(f64::total_cmp);
        let mut all = self.ended.clone();
        let not_ended = self.not_ended.len();
        all.append(&mut self.not_ended);
        all.sort_by(f64::total_cmp);
        SortedDurations { ended: self.ended, all, not_ended }
    }
}

/// Sorted durations.
#[derive(Debug, Clone)]
pub struct SortedDurations {
    ended: Vec<f64>,
    // Including those that have not ended, each with its duration so far.
    all: Vec<f64>,
    not_ended: usize,
}

impl SortedDurations {
    /// Their number.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Number of durations that have not ended.
    #[must_use]
    pub fn not_ended(&self) -> usize {
        self.not_ended
    }

    /// The mean; `None` if there are no durations.
    #[must_use]
    pub fn mean(&self) -> Option<Estimate> {
        mean(&self.all).map(|value| Estimate { value, is_lower_bound: self.not_ended > 0 })
    }

    /// A quantile; `None` if there are no durations.
    #[must_use]
    pub fn quantile(&self, at: Quantile) -> Option<Estimate> {
        let value = quantile(&self.all, at)?;
        // However long the others last, at least as many as the rank are within the value.
        let within = self.ended.partition_point(|took| took.total_cmp(&value).is_le()) as u64;
        Some(Estimate { value, is_lower_bound: within < at.rank(self.all.len() as u64) })
    }

    /// The median; `None` if there are no durations.
    #[must_use]
    pub fn median(&self) -> Option<Estimate> {
        self.quantile(Quantile::MEDIAN)
    }

    /// The maximum; `None` if there are no durations.
    #[must_use]
    pub fn max(&self) -> Option<Estimate> {
        self.quantile(Quantile::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_ended_takes_its_place() {
        let mut durations = Durations::new();
        [4.0, 1.0, 2.0].into_iter().for_each(|took| durations.ended(took));
        durations.not_ended(3.0);
        let durations = durations.sorted();
        let figure = |value, is_lower_bound| Some(Estimate { value, is_lower_bound });
        assert_eq!((durations.count(), durations.not_ended()), (4, 1));
        assert_eq!(durations.mean(), figure(2.5, true));
        assert_eq!(durations.median(), figure(2.0, false));
        // The third of four: it is at least 3, and 4 if the one that has lasted 3 so far exceeds 4.
        assert_eq!(durations.quantile(Quantile::of(0.75)), figure(3.0, true));
        assert_eq!(durations.max(), figure(4.0, true));
    }

    #[test]
    fn all_of_it_ended_or_none() {
        let mut durations = Durations::new();
        assert_eq!(durations.clone().sorted().mean(), None);
        assert_eq!(durations.clone().sorted().median(), None);
        durations.ended(7.0);
        let sorted = durations.sorted();
        assert_eq!(sorted.mean(), Some(Estimate { value: 7.0, is_lower_bound: false }));
        assert_eq!(sorted.max(), Some(Estimate { value: 7.0, is_lower_bound: false }));
    }
}
