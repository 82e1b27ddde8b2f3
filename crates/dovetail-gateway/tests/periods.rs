//! Checks periods of quotas day by day against a calendar.

#![allow(clippy::unwrap_used)]

use dovetail_gateway::config::Every;
use jiff::{
    ToSpan, ZonedDateTime,
    civil::{Date, Weekday, date},
};

/// Whether a period begins on a day, according to the day's name or number.
fn begins(every: Every, day: Date) -> bool {
    match every {
        Every::Day => true,
        Every::Week(first) => day.weekday() == first,
        // The day itself, or the last one of a month that does not have it.
        Every::Month(first) => day.day() == first || day.day() < first && day.tomorrow().unwrap().day() == 1,
    }
}

#[test]
fn a_period_is_from_one_beginning_to_the_next() {
    let weeks = [Weekday::Monday, Weekday::Wednesday, Weekday::Sunday].map(Every::Week);
    let months = [1, 2, 15, 28, 29, 30, 31].map(Every::Month);
    for every in [Every::Day].into_iter().chain(weeks).chain(months) {
        let mut day = date(2023, 12, 25);
        let mut since = None;
        // Including two leap years.
        for _ in 0..2_000 {
            if begins(every, day) {
                since = Some(day);
            }
            if let Some(since) = since {
                let (first, next) = every.period(day);
                assert_eq!(first, since, "{every:?} on {day}");
                let mut end = day.tomorrow().unwrap();
                while !begins(every, end) {
                    end = end.tomorrow().unwrap();
                }
                assert_eq!(next, end, "{every:?} on {day}");
            }
            day = day.tomorrow().unwrap();
        }
    }
}

#[test]
fn months_without_the_day_begin_on_their_last() {
    let firsts = |first: i8| {
        let mut day = date(2027, 12, 31);
        let mut firsts = Vec::new();
        for _ in 0..4 {
            day = Every::Month(first).period(day).1;
            firsts.push(day.to_string());
        }
        firsts
    };
    assert_eq!(firsts(31), ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"]);
    assert_eq!(firsts(30), ["2028-01-30", "2028-02-29", "2028-03-30", "2028-04-30"]);
}

#[test]
fn a_day_begins_at_midnight_or_when_clocks_skip_it() {
    let at = |day: Date, zone: &str| {
        let now: ZonedDateTime = format!("2026-01-01T00:00[{zone}]").parse().unwrap();
        Every::begins(day, &now).to_string()
    };
    assert_eq!(at(date(2026, 3, 29), "Europe/Berlin"), "2026-03-29T00:00:00+01:00[Europe/Berlin]");
    assert_eq!(at(date(2026, 3, 30), "Europe/Berlin"), "2026-03-30T00:00:00+02:00[Europe/Berlin]");
    // Clocks go from 24:00 to 01:00 on the first Sunday in September.
    assert_eq!(at(date(2026, 9, 6), "America/Santiago"), "2026-09-06T01:00:00-03:00[America/Santiago]");
    // A day of 23 hours, and one of 25.
    for (day, hours) in [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)] {
        let now: ZonedDateTime = "2026-01-01T00:00[Europe/Berlin]".parse().unwrap();
        let (from, to) = (Every::begins(day, &now), Every::begins(day.checked_add(1.day()).unwrap(), &now));
        assert_eq!(to.timestamp().duration_since(from.timestamp()).as_hours(), hours);
    }
}
