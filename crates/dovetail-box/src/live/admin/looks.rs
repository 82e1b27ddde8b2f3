//! History of the box's status, one entry per second.

use std::collections::VecDeque;

use super::{recent::Recent, sample::Sample};
use crate::live::Status;

/// Samples kept: ten minutes.
const MAX_SAMPLES: usize = 600;
/// Seconds that count as recent.
const RECENT: usize = 10;

/// Samples of the last ten minutes, and the statuses of the last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct Looks {
    told: VecDeque<Status>,
    samples: VecDeque<Sample>,
    taken: u64,
}

impl Looks {
    /// Adds a status, once a second. The first one is only a baseline for the next.
    pub(super) fn take(&mut self, status: Status) {
        let is_same = |before: &Status| {
            before.classes.iter().map(|class| &class.0).eq(status.classes.iter().map(|class| &class.0))
        };
        if !self.told.back().is_none_or(is_same) {
            // The classes have changed: per-class counts are no longer comparable.
            self.told.clear();
            self.samples.clear();
        }
        match self.told.back() {
            // No newer status, or none yet.
            Some(before) if before.at >= status.at => return,
            None if status.at.0 == 0 => return,
            Some(before) => {
                if self.samples.len() == MAX_SAMPLES {
                    self.samples.pop_front();
                }
                self.samples.push_back(Sample::between(self.taken, before, &status));
                self.taken += 1;
            }
            None => {}
        }
        if self.told.len() > RECENT {
            self.told.pop_front();
        }
        self.told.push_back(status);
    }

    pub(super) fn samples(&self) -> &VecDeque<Sample> {
        &self.samples
    }

    /// Activity of the last ten seconds, or since the box started.
    pub(super) fn recent(&self) -> Option<Recent> {
        let (from, until) = (self.told.front()?, self.told.back()?);
        (from.at < until.at).then(|| Recent::between(from, until))
    }
}
