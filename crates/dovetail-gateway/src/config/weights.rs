//! Weights that change by the hour.

use dovetail_sched::Weight;
use jiff::{ZonedDateTime, civil::DateTime};

use super::model::{Class, Config};

/// If hours change more often than this without changing the weight, it is taken to be constant.
const MAX_TURNS: usize = 1_024;

impl Class {
    /// Its weight at a local time. O(hours).
    #[must_use]
    pub fn weight_at(&self, at: DateTime) -> Weight {
        self.weights.iter().find(|(hours, _)| hours.contains(at)).map_or(self.weight, |&(_, weight)| weight)
    }

    /// When its weight next changes. `None` if it stays the same.
    #[must_use]
    pub fn next_weight(&self, at: &ZonedDateTime) -> Option<ZonedDateTime> {
        let weight = self.weight_at(at.datetime());
        let mut at = at.clone();
        for _ in 0..MAX_TURNS {
            at = self.weights.iter().filter_map(|(hours, _)| hours.next_change(&at)).min()?;
            if self.weight_at(at.datetime()) != weight {
                return Some(at);
            }
        }
        None
    }
}

impl Config {
    /// The weights of all classes at a local time.
    #[must_use]
    pub fn weights_at(&self, at: DateTime) -> Vec<Weight> {
        self.classes.iter().map(|class| class.weight_at(at)).collect()
    }
}
