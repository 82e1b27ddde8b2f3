//! Calendar periods in local time: days, weeks and months, with a configurable first day.

use std::fmt;

use jiff::{
    ToSpan, ZonedDateTime,
    civil::{Date, Weekday},
};

/// How often a period begins, at midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// Every day.
    Day,
    /// Every week, on this day.
    Week(Weekday),
    /// Every month, on this day, 1 to 31; on the month's last day if it has fewer.
    Month(i8),
}

impl Every {
    /// The first day of the period that contains a date, and the first day of the next one.
    #[must_use]
    pub fn period(self, date: Date) -> (Date, Date) {
        match self {
            Self::Day => (date, date.saturating_add(1.day())),
            Self::Week(first) => {
                let since = date.weekday().since(first);
                let begins = date.saturating_sub(i64::from(since).days());
                (begins, begins.saturating_add(7.days()))
            }
            Self::Month(day) => {
                let in_month = |month: Date| {
                    let last = month.days_in_month();
                    month.first_of_month().saturating_add(i64::from(day.min(last) - 1).days())
                };
                let this = in_month(date);
                let month = date.first_of_month();
                if date >= this {
                    (this, in_month(month.saturating_add(1.month())))
                } else {
                    (in_month(month.saturating_sub(1.month())), this)
                }
            }
        }
    }

    /// The instant at which this day begins in the zone of `at`. If midnight is skipped, this is when clocks are put forward.
    #[must_use]
    pub fn begins(day: Date, at: &ZonedDateTime) -> ZonedDateTime {
        day.to_zoned_datetime(at.time_zone().clone()).unwrap_or_else(|_| at.clone())
    }

    /// `day`, `week` or `month`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week(_) => "week",
            Self::Month(_) => "month",
        }
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day => f.write_str("every day"),
            Self::Week(first) => write!(f, "every week from {first:?} on"),
            Self::Month(first) => write!(f, "every month from day {first} on"),
        }
    }
}
