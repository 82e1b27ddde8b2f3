//! Parses numbers with units into the unit of a resource.
//!
//! A resource is measured in seconds of its time, in bytes, or in a named unit. Which one follows from the notation of its
//! capacity, and all its rates and costs must use the same: cycles are not bytes.

use std::fmt;

use dovetail_sched::{
    cost::admission::Amount,
    units::{clip, parse_rate, split_unit},
};

/// The unit of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Bytes,
    Named(String),
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Named(name) => name,
        })
    }
}

/// The longest name of a unit, in letters.
const MAX_UNIT_CHARS: usize = 16;

impl Unit {
    /// A unit as written, and its ratio to the resource's own.
    fn read(text: &str) -> Result<(Self, f64), String> {
        Ok(match text {
            "ns" => (Self::Seconds, 1e-9),
            "us" | "µs" | "μs" => (Self::Seconds, 1e-6),
            "ms" => (Self::Seconds, 1e-3),
            "s" => (Self::Seconds, 1.0),
            "min" => (Self::Seconds, 60.0),
            "B" => (Self::Bytes, 1.0),
            "kB" | "KB" => (Self::Bytes, 1e3),
            "KiB" => (Self::Bytes, 1024.0),
            "MB" => (Self::Bytes, 1e6),
            "MiB" => (Self::Bytes, 1024.0 * 1024.0),
            "GB" => (Self::Bytes, 1e9),
            "GiB" => (Self::Bytes, 1024.0 * 1024.0 * 1024.0),
            "" => return Err("there is no unit behind the number".to_owned()),
            name if name.chars().count() <= MAX_UNIT_CHARS && name.chars().all(char::is_alphabetic) => {
                (Self::Named(name.to_owned()), 1.0)
            }
            _ => return Err(format!("a unit has 1 to {MAX_UNIT_CHARS} letters and nothing else")),
        })
    }
}

/// The capacity of a resource, in units per second, and its unit: `1000 cycles/s`, `1s/s`, `100Mbps`.
pub(super) fn capacity(text: &str) -> Result<(f64, Unit), String> {
    per_second(text).map_err(|why| {
        format!("{}: {why}; a capacity is such as \"1000 cycles/s\", \"1s/s\" or \"100Mbps\"", quoted(text))
    })
}

/// A rate of a resource, in its units per second: `250 B/s`, `2Mbps`, or `75%` of its capacity.
pub(super) fn rate(text: &str, unit: &Unit, capacity: f64) -> Result<Amount, String> {
    let units = match split_unit(text) {
        Ok((percent, "%")) => Ok(percent * capacity / 100.0),
        _ => per_second(text).and_then(|(units, given)| same(units, &given, unit)),
    };
    let amount = units.and_then(|units| Amount::new(units).map_err(|error| error.to_string()));
    amount.map_err(|why| {
        let example = if *unit == Unit::Bytes { " or \"2Mbps\"" } else { "" };
        format!("{}: {why}; a rate is such as \"250 {unit}/s\", \"75%\"{example}", quoted(text))
    })
}

/// What a packet uses of a resource, in its units: `30 cycles`, `10ms`, `1500B`.
pub(super) fn cost(text: &str, unit: &Unit) -> Result<Amount, String> {
    let units = amount(text).and_then(|(units, given)| same(units, &given, unit));
    let amount = units.and_then(|units| Amount::new(units).map_err(|error| error.to_string()));
    amount.map_err(|why| format!("{}: {why}; a cost is such as \"30 {unit}\"", quoted(text)))
}

fn same(units: f64, given: &Unit, unit: &Unit) -> Result<f64, String> {
    if given == unit { Ok(units) } else { Err(format!("the resource counts in {unit}, not in {given}")) }
}

fn amount(text: &str) -> Result<(f64, Unit), String> {
    let (number, unit) = split_unit(text).map_err(|error| error.to_string())?;
    let (unit, scale) = Unit::read(unit)?;
    Ok((number * scale, unit))
}

fn per_second(text: &str) -> Result<(f64, Unit), String> {
    let text = text.trim();
    if text.ends_with("bps") || text.ends_with("bit/s") {
        let rate = parse_rate(text).map_err(|error| error.to_string())?;
        return Ok((rate.bps() / 8.0, Unit::Bytes));
    }
    let stem = text.strip_suffix("/s").ok_or("it is not a rate: end it with \"/s\"")?;
    amount(stem)
}

/// A text of the file, quoted for a message.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", clip(text).escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_name_their_unit() {
        let cycles = Unit::Named("cycles".to_owned());
        for (text, units, unit) in [
            ("1000 cycles/s", 1000.0, &cycles),
            ("1.8e9cycles/s", 1.8e9, &cycles),
            ("1s/s", 1.0, &Unit::Seconds),
            ("1500ms/s", 1.5, &Unit::Seconds),
            ("100Mbps", 12.5e6, &Unit::Bytes),
            (" 8 kbit/s ", 1e3, &Unit::Bytes),
            ("1000 B/s", 1000.0, &Unit::Bytes),
            ("2 MiB/s", 2.0 * 1_048_576.0, &Unit::Bytes),
        ] {
            assert_eq!(capacity(text).as_ref(), Ok(&(units, unit.clone())), "{text}");
        }
        for (text, why) in [
            ("1000 cycles", "end it with"),
            ("cycles/s", "not a number"),
            ("1000/s", "no unit"),
            ("1000 2cycles/s", "letters"),
            ("1 aaaaaaaaaaaaaaaaa/s", "letters"),
            ("0Mbps", "out of range"),
            ("", "end it with"),
        ] {
            let error = capacity(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn rates_and_costs_are_in_the_unit_of_the_resource() {
        let amount = |units: f64| Ok(Amount::new(units).expect("an amount"));
        let cycles = Unit::Named("cycles".to_owned());
        assert_eq!(rate("750 cycles/s", &cycles, 1000.0), amount(750.0));
        assert_eq!(rate("75%", &cycles, 1000.0), amount(750.0));
        assert_eq!(rate("2Mbps", &Unit::Bytes, 1e9), amount(250_000.0));
        assert_eq!(cost("10ms", &Unit::Seconds), amount(0.01));
        assert_eq!(cost("1.5kB", &Unit::Bytes), amount(1500.0));
        assert_eq!(cost("0 cycles", &cycles), amount(0.0));
        let wrong = cost("10ms", &cycles).expect_err("a time");
        assert_eq!(wrong, "\"10ms\": the resource counts in cycles, not in s; a cost is such as \"30 cycles\"");
        assert!(rate("30 cycles/s", &Unit::Bytes, 1.0).expect_err("cycles").contains("counts in B, not in cycles"));
        for wrong in ["-1 cycles", "1e999 cycles", "1e-10 cycles", "nan cycles", "30", "30 cycles/s"] {
            assert!(cost(wrong, &cycles).is_err(), "{wrong}");
        }
        for wrong in ["-1%", "1e999%", "% 5", "5 %%", "5"] {
            assert!(rate(wrong, &cycles, 1000.0).is_err(), "{wrong}");
        }
    }
}
