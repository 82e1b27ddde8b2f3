//! The last ten minutes, a sample a second.
//!
//! What a class used of the link in a sample is what came for it since the sample before, over what the link could have
//! carried in that time: `(b_t - b_{t-1}) / (C * (t - t'))`. The classes' parts add up to the link's utilisation. It exceeds
//! one where the link carries more than it is said to.

use std::collections::VecDeque;

use dovetail_tower::dispatcher::Totals;
use serde::Serialize;

use super::link::Link;

/// Samples that are kept: ten minutes.
pub(super) const MOST: usize = 600;

/// The gateway at a moment, and what came in the second before.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Sample {
    /// Samples before this one since the gateway's start.
    pub(super) number: u64,
    /// Seconds since the gateway's start.
    pub(super) at_s: f64,
    #[serde(flatten)]
    pub(super) link: Link,
    /// What each class used of the link, by the classes' numbers.
    pub(super) utilisation: Vec<f64>,
    /// Bytes a second that came for each.
    pub(super) bytes_per_s: Vec<f64>,
    pub(super) waiting: u32,
    pub(super) outstanding: u32,
}

/// The samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<Sample>,
    taken: u64,
    before: Option<(f64, Vec<u64>)>,
}

impl History {
    /// Takes a sample. The first is only what the next one is compared with. O(classes).
    pub(super) fn take(&mut self, totals: &Totals, goodput_bytes_per_s: f64) {
        let at_s = totals.now.as_secs_f64();
        let units: Vec<_> = totals.classes.iter().map(|class| class.units).collect();
        let before = self.before.replace((at_s, units.clone()));
        let Some((was_s, known)) = before.filter(|(was_s, _)| *was_s < at_s) else { return };
        let link = Link::of(totals, goodput_bytes_per_s);
        // A class that is new had nothing before.
        let known = known.into_iter().chain(std::iter::repeat(0));
        let bytes_per_s: Vec<_> =
            units.iter().zip(known).map(|(now, was)| now.saturating_sub(was) as f64 / (at_s - was_s)).collect();
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            number: self.taken,
            at_s,
            utilisation: bytes_per_s.iter().map(|rate| rate / link.capacity_bytes_per_s).collect(),
            bytes_per_s,
            waiting: totals.classes.iter().map(|class| class.waiting).sum(),
            outstanding: totals.classes.iter().map(|class| class.outstanding).sum(),
            link,
        });
        self.taken += 1;
    }

    pub(super) fn last(&self) -> Option<&Sample> {
        self.samples.back()
    }

    pub(super) const fn samples(&self) -> &VecDeque<Sample> {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::{Nanos, Weight};
    use dovetail_tower::dispatcher::{ClassView, Spent};

    use super::*;

    fn totals(second: u64, units: &[u64]) -> Totals {
        let class = |&units: &u64| ClassView {
            weight: Weight::ONE,
            waiting: 2,
            outstanding: 3,
            units,
            requests: 0,
            cancelled: 0,
            spent: Spent::default(),
        };
        Totals {
            now: Nanos::from_secs(second),
            classes: units.iter().map(class).collect(),
            figures: vec![("pace", 900.0), ("far_delay_ms", 12.0)],
            far: None,
            lost_probes: 0,
            units: units.iter().sum(),
        }
    }

    #[test]
    fn a_sample_is_what_came_since_the_last_over_what_could_have() {
        let mut history = History::default();
        history.take(&totals(1, &[100, 0]), 1_000.0);
        assert!(history.last().is_none(), "nothing to compare with");
        history.take(&totals(3, &[1_100, 500]), 1_000.0);
        let sample = history.last().expect("a sample");
        assert_eq!(sample.bytes_per_s, [500.0, 250.0]);
        assert_eq!(sample.utilisation, [0.5, 0.25]);
        assert_eq!((sample.waiting, sample.outstanding), (4, 6));
        assert_eq!(sample.link.pace_bytes_per_s, Some(900.0));
        assert_eq!(sample.link.far_delay_ms, Some(12.0));
        history.take(&totals(4, &[1_100, 500, 40]), 1_000.0);
        assert_eq!(history.last().expect("a sample").bytes_per_s, [0.0, 0.0, 40.0], "a class that is new");
    }

    #[test]
    fn ten_minutes_are_kept() {
        let mut history = History::default();
        for second in 0..1_000 {
            history.take(&totals(second, &[second]), 1_000.0);
        }
        let samples = history.samples();
        assert_eq!(samples.len(), MOST);
        assert_eq!((samples[0].number, samples[MOST - 1].number), (399, 998));
        assert!((samples[MOST - 1].at_s - 999.0).abs() < 1e-9);
    }
}
