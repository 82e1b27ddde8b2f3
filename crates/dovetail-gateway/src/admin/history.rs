//! History for the admin page: ten minutes at one sample per second, and an hour at one per ten seconds.
//!
//! A class's utilisation in a sample is the bytes received for it since the previous sample, over what the link could have
//! carried in that time: `(b_t - b_{t-1}) / (C * (t - t'))`. The classes add up to the link's utilisation, which exceeds one
//! where the link carries more than its configured rate. Samples of ten seconds are means of their seconds.
//!
//! With 3 classes it takes some 155 kB in all, with 64, the maximum, 1.1 MB.

use std::{collections::VecDeque, sync::Arc};

use dovetail_tower::dispatcher::Totals;
use serde::Serialize;

use super::link::Link;

/// Number of one-second samples: ten minutes.
pub(super) const SECOND_SAMPLES: usize = 600;
/// Seconds per sample of the hour.
const STEP: usize = 10;
/// Number of ten-second samples: an hour.
pub(super) const HOUR_SAMPLES: usize = 360;

/// The gateway's state at a moment, and what arrived in the second before.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Sample {
    /// The number of samples before this one since the gateway's start.
    pub(super) number: u64,
    /// Seconds since the gateway's start.
    pub(super) at_s: f64,
    #[serde(flatten)]
    pub(super) link: Link,
    /// Each class's share of the link, by class number.
    pub(super) utilisation: Vec<f64>,
    /// Bytes per second received for each class.
    pub(super) bytes_per_s: Vec<f64>,
    pub(super) waiting: u32,
    pub(super) outstanding: u32,
}

impl Sample {
    /// The mean of consecutive samples; counts are the last sample's. `None` if there are none.
    fn mean<'s>(number: u64, of: impl Iterator<Item = &'s Self> + Clone) -> Option<Self> {
        let last = of.clone().last()?;
        let count = of.clone().count() as f64;
        // A new class counts as zero before.
        let means = |part: fn(&Self) -> &[f64]| -> Vec<f64> {
            let of_class = |class| of.clone().filter_map(|sample| part(sample).get(class)).sum::<f64>() / count;
            (0..part(last).len()).map(of_class).collect()
        };
        let known: Vec<_> = of.clone().filter_map(|sample| sample.link.far_delay_ms).collect();
        let far_delay_ms = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
        Some(Self {
            number,
            link: Link { far_delay_ms, ..last.link },
            utilisation: means(|sample| &sample.utilisation),
            bytes_per_s: means(|sample| &sample.bytes_per_s),
            ..last.clone()
        })
    }
}

/// The samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<Sample>,
    hour: VecDeque<Sample>,
    taken: u64,
    before: Option<(f64, Vec<u64>)>,
    // The classes' names by number.
    names: Vec<Arc<str>>,
}

impl History {
    /// Notes the classes' names. A class that has another's number since a reload has none of that one's past. O(classes), if no
    /// number has another class.
    pub(super) fn note_classes(&mut self, names: impl Iterator<Item = Arc<str>>) {
        let names: Vec<_> = names.collect();
        let renewed = |(class, (now, was)): (usize, (&Arc<str>, &Arc<str>))| (now != was).then_some(class);
        for class in names.iter().zip(&self.names).enumerate().filter_map(renewed) {
            for sample in self.samples.iter_mut().chain(&mut self.hour) {
                let rates = [&mut sample.utilisation, &mut sample.bytes_per_s];
                rates.into_iter().filter_map(|of| of.get_mut(class)).for_each(|rate| *rate = 0.0);
            }
            if let Some(units) = self.before.as_mut().and_then(|(_, units)| units.get_mut(class)) {
                *units = 0;
            }
        }
        self.names = names;
    }

    /// Takes a sample. The first only serves as the base of the next. O(classes).
    pub(super) fn take(&mut self, totals: &Totals, goodput_bytes_per_s: f64) {
        let at_s = totals.now.as_secs_f64();
        let units: Vec<_> = totals.classes.iter().map(|class| class.units).collect();
        let before = self.before.replace((at_s, units.clone()));
        let Some((was_s, known)) = before.filter(|(was_s, _)| *was_s < at_s) else { return };
        let link = Link::of(totals, goodput_bytes_per_s);
        // A new class counts as zero before.
        let known = known.into_iter().chain(std::iter::repeat(0));
        let bytes_per_s: Vec<_> =
            units.iter().zip(known).map(|(now, was)| now.saturating_sub(was) as f64 / (at_s - was_s)).collect();
        if self.samples.len() == SECOND_SAMPLES {
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
        if self.taken.is_multiple_of(STEP as u64) {
            if self.hour.len() == HOUR_SAMPLES {
                self.hour.pop_front();
            }
            let from = self.samples.len().saturating_sub(STEP);
            self.hour.extend(Sample::mean(self.taken / STEP as u64 - 1, self.samples.range(from..)));
        }
    }

    /// The samples of the last hour, oldest first.
    pub(super) const fn hour(&self) -> &VecDeque<Sample> {
        &self.hour
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
    fn a_class_with_the_number_of_another_has_none_of_its_past() {
        let mut history = History::default();
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<Arc<str>>>().into_iter();
        for second in 0..=10 {
            history.note_classes(names(&["default", "before"]));
            history.take(&totals(second, &[0, 500 * second]), 1_000.0);
        }
        history.note_classes(names(&["default", "after", "more"]));
        history.take(&totals(11, &[7, 30, 0]), 1_000.0);
        let (last, rest) = history.samples.make_contiguous().split_last().expect("samples");
        assert_eq!(last.bytes_per_s, [7.0, 30.0, 0.0]);
        assert!(rest.iter().chain(&history.hour).all(|sample| sample.bytes_per_s == [0.0; 2]));
        assert!(history.hour.iter().all(|sample| sample.utilisation == [0.0; 2]));
    }

    #[test]
    fn ten_minutes_are_kept() {
        let mut history = History::default();
        for second in 0..1_000 {
            history.take(&totals(second, &[second]), 1_000.0);
        }
        let samples = history.samples();
        assert_eq!(samples.len(), SECOND_SAMPLES);
        assert_eq!((samples[0].number, samples[SECOND_SAMPLES - 1].number), (399, 998));
        assert!((samples[SECOND_SAMPLES - 1].at_s - 999.0).abs() < 1e-9);
    }

    #[test]
    fn the_hour_is_kept_in_means_of_ten_seconds_and_no_more_than_it() {
        let mut history = History::default();
        for second in 0..=20 {
            // 0, 1, 2, … bytes a second.
            history.take(&totals(second, &[(0..second).sum(), 100]), 1_000.0);
        }
        let hour = history.hour();
        assert_eq!(hour.len(), 2);
        assert_eq!((hour[0].bytes_per_s[0], hour[1].bytes_per_s[0]), (4.5, 14.5));
        assert_eq!((hour[0].number, hour[1].number, hour[1].at_s), (0, 1, 20.0));
        assert_eq!(hour[1].link.far_delay_ms, Some(12.0));
        for second in 21..10_000 {
            history.take(&totals(second, &[second]), 1_000.0);
        }
        assert_eq!((history.hour().len(), history.samples().len()), (HOUR_SAMPLES, SECOND_SAMPLES));
    }

    /// The memory figures in the module's documentation.
    #[test]
    fn what_is_kept_is_bounded() {
        for (classes, most) in [(3, 160_000), (64, 1_150_000)] {
            let mut history = History::default();
            for second in 0..4_000 {
                history.take(&totals(second, &vec![second; classes]), 1_000.0);
            }
            let of = |sample: &Sample| {
                size_of::<Sample>() + 8 * (sample.utilisation.capacity() + sample.bytes_per_s.capacity())
            };
            let bytes: usize = history.samples.iter().chain(&history.hour).map(of).sum();
            assert!(bytes < most && bytes > most / 2, "{classes} classes: {bytes} bytes");
        }
    }
}
