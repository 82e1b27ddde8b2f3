//! Checks hours against local time, minute by minute: at random times, and across changes of clocks.

#![allow(clippy::unwrap_used)]

use dovetail_gateway::config::Hours;
use jiff::{Timestamp, ToSpan, Unit, ZonedDateTime, tz::TimeZone};
use proptest::{collection::vec, prelude::*};

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Clocks that are put forward and back by an hour, by half an hour, twice a year around a month of fasting, and never.
const ZONES: [&str; 6] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "America/Santiago",
    "Asia/Kathmandu",
];

/// A generated span: days, and minutes of the day.
type Made = ([bool; 7], u32, u32);

fn text(&(days, from, to): &Made) -> String {
    let days: Vec<_> = DAYS.into_iter().zip(days).filter(|(_, is_one)| *is_one).map(|(day, _)| day).collect();
    format!("{} {:02}:{:02}-{:02}:{:02}", days.join(","), from / 60, from % 60, to / 60, to % 60)
}

fn hours(made: &[Made]) -> Hours {
    let texts: Vec<_> = made.iter().map(text).collect();
    Hours::parse(&texts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

/// Whether local time is in one of them.
fn shown(made: &[Made], at: &ZonedDateTime) -> bool {
    let today = at.weekday() as usize - 1;
    let minute = u32::from(at.hour().unsigned_abs()) * 60 + u32::from(at.minute().unsigned_abs());
    made.iter().any(|(days, from, to)| {
        if from < to {
            days[today] && (*from..*to).contains(&minute)
        } else {
            days[today] && minute >= *from || days[(today + 6) % 7] && minute < *to
        }
    })
}

fn made() -> impl Strategy<Value = Made> {
    let days = any::<[bool; 7]>().prop_filter("none", |days| days.contains(&true));
    // Often near the times at which clocks are changed.
    let minute = || prop_oneof![0..1_440_u32, 50..200_u32];
    (days, minute(), prop_oneof![1..=1_440_u32, 50..200_u32]).prop_filter("empty", |(_, from, to)| from != to)
}

/// The first whole minute at which the answer differs, within this many days.
fn looked_for(made: &[Made], at: &ZonedDateTime, days: i64) -> Option<ZonedDateTime> {
    let is_in = shown(made, at);
    let mut minute =
        at.round(jiff::ZonedDateTimeRound::new().smallest(Unit::Minute).mode(jiff::RoundMode::Floor)).unwrap();
    for _ in 0..days * 1_440 {
        minute = minute.checked_add(1.minute()).unwrap();
        if shown(made, &minute) != is_in {
            return Some(minute);
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn hours_are_what_a_wall_clock_shows(
        made in vec(made(), 1..4),
        zone in 0..ZONES.len(),
        near in any::<bool>(),
        second in 1_700_000_000_i64..1_900_000_000,
        before_s in -200_000_i64..200_000,
    ) {
        let zone = TimeZone::get(ZONES[zone]).unwrap();
        let at = Timestamp::from_second(second).unwrap();
        // Half of the time around a change of the zone's offset.
        let change = zone.following(at).next().filter(|_| near).map(|change| change.timestamp());
        let at = change.map_or(at, |change| change.checked_sub(before_s.seconds()).unwrap());
        let at = at.to_zoned_datetime(zone);
        let hours = hours(&made);
        prop_assert_eq!(hours.contains(at.datetime()), shown(&made, &at));
        // Hours that a change of clocks skips must be searched for in the next week.
        let found = hours.next_change(&at);
        let looked = looked_for(&made, &at, 15);
        prop_assert_eq!(found.map(|at| at.timestamp()), looked.map(|at| at.timestamp()), "{} at {}", hours, at);
    }
}

fn at(text: &str) -> ZonedDateTime {
    text.parse().unwrap()
}

/// The changes from an instant on, as local times.
fn changes(hours: &Hours, from: &str, count: usize) -> Vec<String> {
    let mut at = at(from);
    let mut changes = Vec::new();
    for _ in 0..count {
        at = hours.next_change(&at).unwrap();
        changes.push(at.strftime("%a %d %H:%M%:z").to_string());
    }
    changes
}

#[test]
fn a_night_is_an_hour_shorter_or_longer_when_clocks_change() {
    let night = Hours::parse(&["22:00-06:00"]).unwrap();
    let spring = changes(&night, "2026-03-28T12:00[Europe/Berlin]", 3);
    assert_eq!(spring, ["Sat 28 22:00+01:00", "Sun 29 06:00+02:00", "Sun 29 22:00+02:00"]);
    let autumn = changes(&night, "2026-10-24T12:00[Europe/Berlin]", 3);
    assert_eq!(autumn, ["Sat 24 22:00+02:00", "Sun 25 06:00+01:00", "Sun 25 22:00+01:00"]);
}

#[test]
fn hours_that_are_skipped_do_not_happen_and_those_shown_twice_do_twice() {
    let hours = Hours::parse(&["02:15-02:45"]).unwrap();
    // Clocks go from 02:00 to 03:00 on the 29th of March, and from 03:00 to 02:00 on the 25th of October.
    let spring = changes(&hours, "2026-03-28T12:00[Europe/Berlin]", 2);
    assert_eq!(spring, ["Mon 30 02:15+02:00", "Mon 30 02:45+02:00"]);
    let autumn = changes(&hours, "2026-10-24T12:00[Europe/Berlin]", 5);
    let twice = ["Sun 25 02:15+02:00", "Sun 25 02:45+02:00", "Sun 25 02:15+01:00", "Sun 25 02:45+01:00"];
    assert_eq!(autumn[..4], twice);
    assert_eq!(autumn[4], "Mon 26 02:15+01:00");
    // Hours that begin in a skipped time begin when clocks are put forward.
    let hours = Hours::parse(&["02:30-04:00"]).unwrap();
    assert_eq!(changes(&hours, "2026-03-28T12:00[Europe/Berlin]", 2), ["Sun 29 03:00+02:00", "Sun 29 04:00+02:00"]);
}

#[test]
fn seconds_and_parts_of_them_are_counted() {
    let hours = Hours::parse(&["Mon 08:00-08:01"]).unwrap();
    let next = |text| hours.next_change(&at(text)).unwrap().to_string();
    assert_eq!(next("2026-11-23T07:59:59.25[Europe/Berlin]"), "2026-11-23T08:00:00+01:00[Europe/Berlin]");
    assert_eq!(next("2026-11-23T08:00:59.999[Europe/Berlin]"), "2026-11-23T08:01:00+01:00[Europe/Berlin]");
    assert!(!hours.contains(at("2026-11-23T08:01[Europe/Berlin]").datetime()));
}

#[test]
fn days_are_those_on_which_hours_begin() {
    let hours = Hours::parse(&["Fri-Sun 22:00-06:00"]).unwrap();
    for (when, is_in) in [
        ("2026-11-27T05:00", false),
        ("2026-11-27T22:00", true),
        ("2026-11-28T05:59", true),
        ("2026-11-28T06:00", false),
        ("2026-11-30T05:59", true),
        ("2026-11-30T22:00", false),
    ] {
        assert_eq!(hours.contains(when.parse().unwrap()), is_in, "{when}");
    }
}

#[test]
fn what_holds_always_never_changes() {
    for always in [&["00:00-24:00"][..], &["Mon-Sun"], &["06:00-18:00", "18:00-06:00"], &["sat-FRI"]] {
        let hours = Hours::parse(always).unwrap();
        assert!(hours.contains("2026-11-29T23:59".parse().unwrap()));
        assert_eq!(hours.next_change(&at("2026-11-29T23:59[Europe/Berlin]")), None, "{always:?}");
    }
}

#[test]
fn hours_are_shown_as_they_were_written() {
    let hours = Hours::parse(&["Mon-Fri 08:00-18:00", "Sat,Sun"]).unwrap();
    assert_eq!(hours.to_string(), "Mon-Fri 08:00-18:00, Sat,Sun");
}

#[test]
fn what_is_wrong_with_hours_is_said() {
    let expected = r#"is not hours such as "22:00-06:00", "Mon-Fri 08:00-18:00" or "Sat,Sun""#;
    for (written, why) in [
        ("22-6", r#""22" is not a time from 00:00 to 24:00"#),
        ("22:00", "a beginning and an end have a '-' between them"),
        ("8:00-18:00", r#""8:00" is not a time from 00:00 to 24:00"#),
        ("08:00-24:01", r#""24:01" is not a time from 00:00 to 24:00"#),
        ("24:00-06:00", "a day begins at 00:00"),
        ("08:00-08:00", "it begins when it ends; a whole day is 00:00-24:00"),
        ("Mo 08:00-18:00", r#""Mo" is none of Mon, Tue, Wed, Thu, Fri, Sat, Sun"#),
        ("Mon-Fri-Sun", r#""Fri-Sun" is none of Mon, Tue, Wed, Thu, Fri, Sat, Sun"#),
        ("", "a beginning and an end have a '-' between them"),
        ("+8:00-18:00", r#""+8:00" is not a time from 00:00 to 24:00"#),
    ] {
        assert_eq!(Hours::parse(&[written]).unwrap_err(), format!("\"{written}\" {expected}: {why}"));
    }
}
