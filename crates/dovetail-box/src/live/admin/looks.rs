//! What the box told of itself, second by second.

use std::collections::VecDeque;

use super::{recent::Recent, sample::Sample};
use crate::live::Status;

/// Samples that are kept: ten minutes.
const MOST_SAMPLES: usize = 600;
/// How many seconds are recent.
const RECENT: usize = 10;

/// The last ten minutes as samples, and the last seconds as they were told, oldest first.
#[derive(Debug, Default)]
pub(super) struct Looks {
    told: VecDeque<Status>,
    samples: VecDeque<Sample>,
    taken: u64,
}

impl Looks {
    /// A second is over. The first look is only what the next one is compared with.
    pub(super) fn take(&mut self, status: Status) {
        let is_same = |before: &Status| {
            before.classes.iter().map(|class| &class.0).eq(status.classes.iter().map(|class| &class.0))
        };
        if !self.told.back().is_none_or(is_same) {
            // Other classes: what was counted by class is no longer comparable.
            self.told.clear();
            self.samples.clear();
        }
        match self.told.back() {
            // It has told nothing since, or nothing at all.
            Some(before) if before.at >= status.at => return,
            None if status.at.0 == 0 => return,
            Some(before) => {
                if self.samples.len() == MOST_SAMPLES {
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

    /// What happened in the last ten seconds, or since the box began.
    pub(super) fn recent(&self) -> Option<Recent> {
        let (from, until) = (self.told.front()?, self.told.back()?);
        (from.at < until.at).then(|| Recent::between(from, until))
    }
}
