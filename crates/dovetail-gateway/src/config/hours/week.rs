//! Sets of minutes of the week.

use std::fmt;

use jiff::civil::DateTime;

/// Minutes per day and per week.
pub(super) const DAY: u16 = 24 * 60;
pub(super) const WEEK: u16 = 7 * DAY;

/// Hours of the week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    // Minutes since midnight before Monday, ends excluded; sorted, and neither overlapping nor adjacent, except across the end
    // of the week.
    pub(super) spans: Vec<(u16, u16)>,
    written: String,
}

/// One written item: the days on which it begins, and its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// Indexed by days since Monday.
    pub(super) days: [bool; 7],
    pub(super) from: u16,
    /// At most a day.
    pub(super) minutes: u16,
    pub(super) written: String,
}

impl Hours {
    pub(super) fn of(spans: &[Span]) -> Self {
        let mut pieces = Vec::new();
        for span in spans {
            for day in (0..7).filter(|&day| span.days[usize::from(day)]) {
                let from = day * DAY + span.from;
                let to = from + span.minutes;
                if to > WEEK {
                    pieces.push((0, to - WEEK));
                }
                pieces.push((from, to.min(WEEK)));
            }
        }
        pieces.sort_unstable();
        let mut spans_of_week: Vec<(u16, u16)> = Vec::new();
        for (from, to) in pieces {
            match spans_of_week.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => spans_of_week.push((from, to)),
            }
        }
        let written: Vec<_> = spans.iter().map(|span| &*span.written).collect();
        Self { spans: spans_of_week, written: written.join(", ") }
    }

    /// Whether a local time is in these hours. O(log spans).
    #[must_use]
    pub fn contains(&self, at: DateTime) -> bool {
        self.contains_minute(minute_of_week(at))
    }

    pub(super) fn contains_minute(&self, minute: u16) -> bool {
        let after = self.spans.partition_point(|&(from, _)| from <= minute);
        after.checked_sub(1).is_some_and(|last| minute < self.spans[last].1)
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Whole minutes since midnight before Monday.
pub(super) fn minute_of_week(at: DateTime) -> u16 {
    let day = at.weekday().to_monday_zero_offset().unsigned_abs();
    u16::from(day) * DAY + u16::from(at.hour().unsigned_abs()) * 60 + u16::from(at.minute().unsigned_abs())
}
