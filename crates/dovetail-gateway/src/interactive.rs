//! Limits what interactive tunnels receive without turns.

use std::{cell::Cell, time::Instant};

use crate::segment::SEGMENT;

/// The fraction of the link that interactive tunnels may use without turns.
const FREE_PART: f64 = 1.0 / 8.0;
/// Their maximum burst: a dozen answers.
const FREE_DEPTH: f64 = 12.0 * SEGMENT as f64;

/// A token bucket filled with a fraction of the link's rate.
#[derive(Debug)]
pub(crate) struct InteractiveBudget {
    rate: Cell<f64>,
    bytes: Cell<f64>,
    at: Cell<Instant>,
}

impl InteractiveBudget {
    /// For a link of this many bytes per second.
    pub(crate) fn new(goodput: f64) -> Self {
        Self { rate: Cell::new(goodput * FREE_PART), bytes: Cell::new(FREE_DEPTH), at: Cell::new(Instant::now()) }
    }

    pub(crate) fn set_rate(&self, goodput: f64) {
        self.rate.set(goodput * FREE_PART);
    }

    /// Whether there are tokens.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open_at(Instant::now())
    }

    fn is_open_at(&self, now: Instant) -> bool {
        let came = (now - self.at.replace(now)).as_secs_f64() * self.rate.get();
        self.bytes.set((self.bytes.get() + came).min(FREE_DEPTH));
        self.bytes.get() > 0.0
    }

    pub(crate) fn take(&self, bytes: u64) {
        self.bytes.set(self.bytes.get() - bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_eighth_of_the_link_is_free_and_a_dozen_answers_at_once() {
        let free = InteractiveBudget::new(8.0 * SEGMENT as f64);
        let began = free.at.get();
        let after = |seconds| began + Duration::from_secs(seconds);
        (0..12).for_each(|_| free.take(SEGMENT));
        assert!(!free.is_open_at(began), "all that there was at once");
        assert!(free.is_open_at(after(1)), "a segment a second came since");
        free.take(3 * SEGMENT);
        assert!(!free.is_open_at(after(2)) && !free.is_open_at(after(3)) && free.is_open_at(after(4)));
        free.set_rate(16.0 * SEGMENT as f64);
        free.take(4 * SEGMENT);
        assert!(!free.is_open_at(after(5)) && free.is_open_at(after(6)), "twice as fast");
    }

    #[test]
    fn unused_capacity_does_not_add_up() {
        let free = InteractiveBudget::new(8.0 * SEGMENT as f64);
        let later = free.at.get() + Duration::from_secs(3_600);
        assert!(free.is_open_at(later));
        free.take(12 * SEGMENT);
        assert!(!free.is_open_at(later));
    }
}
