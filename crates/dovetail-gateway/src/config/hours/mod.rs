//! Hours of the week, such as `"Mon-Fri 08:00-18:00"` or `"22:00-06:00"`, in local time.
//!
//! They are what a clock on the wall shows, minute by minute: an instant is in them if the local time at that instant is. So
//! where clocks are put forward, what is skipped does not happen, and where they are put back, what is shown twice happens
//! twice; hours that merely span such a moment are an hour shorter or longer. Days are those on which a span begins: `"Fri
//! 22:00-06:00"` ends on Saturday. The end is not part of a span.

mod change;
mod read;

use std::fmt;

use jiff::civil::DateTime;

pub(super) use self::read::hours;

/// Minutes of a day, and of a week.
const DAY: u16 = 24 * 60;
const WEEK: u16 = 7 * DAY;

/// Hours of the week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    // Minutes since Monday's midnight, the ends not part of them; in order, and neither overlapping nor touching, except
    // across the end of the week.
    spans: Vec<(u16, u16)>,
    written: String,
}

/// One way to write hours: on which days they begin, and from when to when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// By the number of days since Monday.
    days: [bool; 7],
    from: u16,
    /// At most a day after `from`.
    minutes: u16,
    written: String,
}

impl Hours {
    /// Hours as they are written, such as `["Mon-Fri 08:00-18:00", "Sat,Sun"]`: all that are in one of them.
    ///
    /// # Errors
    /// What is wrong with the first that cannot be read, and what is expected.
    pub fn parse(written: &[&str]) -> Result<Self, String> {
        written.iter().map(|text| read::span_of(text)).collect::<Result<Vec<_>, _>>().map(|spans| Self::of(&spans))
    }

    fn of(spans: &[Span]) -> Self {
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

    fn contains_minute(&self, minute: u16) -> bool {
        let after = self.spans.partition_point(|&(from, _)| from <= minute);
        after.checked_sub(1).is_some_and(|last| minute < self.spans[last].1)
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Whole minutes since Monday's midnight.
fn minute_of_week(at: DateTime) -> u16 {
    let day = at.weekday().to_monday_zero_offset().unsigned_abs();
    u16::from(day) * DAY + u16::from(at.hour().unsigned_abs()) * 60 + u16::from(at.minute().unsigned_abs())
}
