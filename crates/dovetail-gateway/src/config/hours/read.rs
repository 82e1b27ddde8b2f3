//! Parses hours.

use dovetail_toml::{
    Fault, Section,
    values::{quoted, written},
};

use super::week::{DAY, Hours, Span};

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const EXPECTED: &str = "hours such as \"22:00-06:00\", \"Mon-Fri 08:00-18:00\" or \"Sat,Sun\"";

impl Hours {
    /// Parses hours such as `["Mon-Fri 08:00-18:00", "Sat,Sun"]`, as the union of the items.
    ///
    /// # Errors
    /// What is wrong with the first invalid item, and what is expected.
    pub fn parse(written: &[&str]) -> Result<Self, String> {
        written.iter().map(|text| span_of(text)).collect::<Result<Vec<_>, _>>().map(|spans| Self::of(&spans))
    }
}

/// The hours of a key, a list or a single value.
pub(in crate::config) fn hours(section: &mut Section<'_>, key: &'static str) -> Result<Option<Hours>, Fault> {
    let spans = section.list(key, |value| span_of(written(value, EXPECTED)?))?;
    match spans {
        Some(spans) if spans.is_empty() => Err(section.wrong(key, format!("there are none: write {EXPECTED}"))),
        spans => Ok(spans.map(|spans| Hours::of(&spans))),
    }
}

/// Hours of some or all days.
fn span_of(text: &str) -> Result<Span, String> {
    read(text.trim()).map_err(|why| format!("{} is not {EXPECTED}: {why}", quoted(text)))
}

fn read(text: &str) -> Result<Span, String> {
    let (days, times) = match text.split_once(char::is_whitespace) {
        Some((days, times)) => (Some(days), Some(times.trim_start())),
        None if text.starts_with(|letter: char| letter.is_ascii_alphabetic()) => (Some(text), None),
        None => (None, Some(text)),
    };
    let days = days.map_or(Ok([true; 7]), read_days)?;
    let (from, minutes) = times.map_or(Ok((0, DAY)), read_times)?;
    Ok(Span { days, from, minutes, written: text.to_owned() })
}

fn read_days(text: &str) -> Result<[bool; 7], String> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        let count = (last + 7 - first) % 7 + 1;
        (0..count).for_each(|next| days[(first + next) % 7] = true);
    }
    Ok(days)
}

/// The number of days since Monday.
pub(in crate::config) fn day(text: &str) -> Result<usize, String> {
    let known = DAYS.iter().position(|day| day.eq_ignore_ascii_case(text));
    known.ok_or_else(|| format!("{} is none of {}", quoted(text), DAYS.join(", ")))
}

/// The start, and the length in minutes.
fn read_times(text: &str) -> Result<(u16, u16), String> {
    let (from, to) = text.split_once('-').ok_or("a beginning and an end have a '-' between them")?;
    let (from, to) = (time(from.trim_end())?, time(to.trim_start())?);
    if from == to {
        return Err("it begins when it ends; a whole day is 00:00-24:00".into());
    }
    if from == DAY {
        return Err("a day begins at 00:00".into());
    }
    Ok((from, if to > from { to - from } else { to + DAY - from }))
}

/// Minutes since midnight; 24:00 is the end of the day.
fn time(text: &str) -> Result<u16, String> {
    let two = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let found = text.split_once(':').and_then(|(hour, minute)| Some((two(hour)?, two(minute)?)));
    let found = found.filter(|&(hour, minute)| hour < 24 && minute < 60 || (hour, minute) == (24, 0));
    let (hour, minute) = found.ok_or_else(|| format!("{} is not a time from 00:00 to 24:00", quoted(text)))?;
    Ok(hour * 60 + minute)
}
