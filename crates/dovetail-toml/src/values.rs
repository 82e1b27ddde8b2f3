//! Readers for values: texts, numbers, addresses, prefixes, times, sizes and rates.
//!
//! Each reader takes a value and returns its meaning, or what is wrong with it and what is expected, without the key, which
//! the [`Section`](crate::Section) adds.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    sync::Arc,
    time::Duration,
};

use dovetail_sched::{
    Nanos,
    units::{Rate, UnitError, clip, parse_bytes, parse_rate, parse_time, split_unit},
};
use ipnet::IpNet;
use toml::de::DeValue;

/// Minimum and maximum rate of a link, in bits per second.
pub const RATES_BPS: RangeInclusive<f64> = 1e3..=1e12;

/// Formats a value for a message.
pub(crate) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => clip(&number.to_string()),
        DeValue::Float(number) => clip(number.as_str()),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// Quotes a text of the file for a message.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", clip(text).escape_debug())
}

/// A text that `read` can parse; `expected` describes it.
pub fn text<T>(expected: &'static str, read: impl Fn(&str) -> Option<T>) -> impl Fn(&DeValue<'_>) -> Result<T, String> {
    move |value| value.as_str().and_then(&read).ok_or_else(|| format!("{} is not {expected}", shown(value)))
}

/// `true` or `false`.
pub fn truth(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{} is not true or false", shown(value)))
}

/// One of several words.
pub fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        found.map(|&(_, meaning)| meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            format!("{} is none of {}", shown(value), words.join(", "))
        })
    }
}

/// A whole number in a range.
pub fn whole(range: RangeInclusive<u64>) -> impl Fn(&DeValue<'_>) -> Result<u64, String> {
    move |value| {
        let number = value.as_integer().and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        let wrong = || format!("{} is not a whole number from {} to {}", shown(value), range.start(), range.end());
        number.filter(|number| range.contains(number)).ok_or_else(wrong)
    }
}

/// A number, integer or not.
pub fn number<T>(
    expected: &'static str,
    read: impl Fn(f64) -> Option<T>,
) -> impl Fn(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let number = match value {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        number.and_then(&read).ok_or_else(|| format!("{} is not {expected}", shown(value)))
    }
}

/// The text of a value, or an error that says what is expected.
///
/// # Errors
/// When it is not a text.
pub fn written<'v>(value: &'v DeValue<'_>, expected: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("this is not {expected}; it goes in quotes"))
}

/// An address to listen at.
pub fn address(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    let expected = "an address and a port such as \"127.0.0.1:3128\" or \"[::1]:3128\"";
    let text = written(value, expected)?;
    text.parse().map_err(|_| format!("{} is not {expected}", quoted(text)))
}

/// An address, with a port unless it is 53.
pub fn nameserver(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    let expected = "a name server's address such as \"10.0.0.53\" or \"10.0.0.53:5353\"";
    let text = written(value, expected)?;
    let alone = text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 53));
    let found = alone.or_else(|| text.parse().ok()).filter(|found| is_host(found.ip()) && found.port() != 0);
    found.ok_or_else(|| format!("{} is not {expected}", quoted(text)))
}

/// Whether packets to this address go to a single host.
pub fn is_host(address: IpAddr) -> bool {
    !address.is_unspecified() && !address.is_multicast()
}

/// An address prefix; an address alone is a prefix of full length.
pub fn prefix(value: &DeValue<'_>) -> Result<IpNet, String> {
    let expected = "an address prefix such as \"10.0.0.0/8\", \"192.168.1.7\" or \"2001:db8::/32\"";
    let text = written(value, expected)?;
    let found: Option<IpNet> = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let prefix = found.ok_or_else(|| format!("{} is not {expected}", quoted(text)))?;
    if prefix.trunc() != prefix {
        let whole = prefix.trunc();
        return Err(format!("{} has bits beyond its length: write \"{whole}\" or a longer prefix", quoted(text)));
    }
    match prefix.addr() {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            Err(format!("{} is IPv4 written as IPv6: write it as IPv4", quoted(text)))
        }
        _ => Ok(prefix),
    }
}

/// A time. Minutes may be written `m` and hours `h`, in addition to the units of policy strings.
pub fn time(range: RangeInclusive<Duration>) -> impl Fn(&DeValue<'_>) -> Result<Duration, String> {
    move |value| {
        let expected = "a time such as \"50ms\", \"10s\", \"2m\" or \"1h\"";
        let text = written(value, expected)?;
        let found = match split_unit(text) {
            Ok((number, unit @ ("m" | "h"))) => {
                let seconds = number * if unit == "m" { 60.0 } else { 3600.0 };
                Duration::try_from_secs_f64(seconds).ok()
            }
            _ => parse_time(text).ok().map(|nanos| Duration::from_nanos(nanos.0)),
        };
        let found = found.ok_or_else(|| format!("{} is not {expected}", quoted(text)))?;
        let (least, most) = (written_time(*range.start()), written_time(*range.end()));
        let wrong = || format!("{} is out of range: from {least} to {most}", quoted(text));
        range.contains(&found).then_some(found).ok_or_else(wrong)
    }
}

/// Formats a time in the largest unit that yields a whole number.
pub fn written_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (time.subsec_nanos(), seconds) {
        (0, 1..) if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        (0, 1..) if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => Nanos::from(time).to_string(),
    }
}

/// A size, as a number of bytes or with a unit.
pub fn bytes(range: RangeInclusive<u64>) -> impl Fn(&DeValue<'_>) -> Result<usize, String> {
    move |value| {
        let expected = "a size such as \"16kB\"";
        let (written, found) = match value {
            DeValue::Integer(number) => (number.to_string(), u64::from_str_radix(number.as_str(), number.radix()).ok()),
            other => {
                let text = written(other, expected)?;
                let found = parse_bytes(text);
                if let Err(why @ UnitError::Unit(_)) = found {
                    return Err(format!("{}: {why}; write {expected}", quoted(text)));
                }
                (quoted(text), found.ok())
            }
        };
        let found = found.ok_or_else(|| format!("{written} is not {expected}"))?;
        let (least, most) = range.clone().into_inner();
        let wrong = || format!("{written} is out of range: from {least} to {most} bytes");
        range.contains(&found).then_some(found as usize).ok_or_else(wrong)
    }
}

/// The rate of a link.
pub fn rate(value: &DeValue<'_>) -> Result<Rate, String> {
    let expected = "a rate such as \"2Mbps\"";
    let text = written(value, expected)?;
    let found = parse_rate(text).map_err(|why| format!("{}: {why}; write {expected}", quoted(text)))?;
    let wrong = || format!("{} is out of range: from 1kbps to 1Tbps", quoted(text));
    RATES_BPS.contains(&found.bps()).then_some(found).ok_or_else(wrong)
}

/// A text of at most `longest` characters, all of them allowed.
pub fn name(
    longest: usize,
    allowed: fn(char) -> bool,
    expected: &'static str,
) -> impl Fn(&DeValue<'_>) -> Result<Arc<str>, String> {
    move |value| {
        let text = written(value, expected)?;
        let fits = (1..=longest).contains(&text.chars().count()) && text.chars().all(allowed);
        fits.then(|| text.into()).ok_or_else(|| format!("{} is not {expected}", quoted(text)))
    }
}
