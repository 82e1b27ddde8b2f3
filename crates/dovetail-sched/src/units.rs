//! Quantities with units (times, sizes and rates) and their notation.

use alloc::string::String;
use core::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign, Sub},
};

/// A time or a span of time, in whole nanoseconds. Sums and differences saturate: a hostile time stamp gives an absurd result,
/// never a panic. Represented in memory as the number itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero, or the start of the clock.
    pub const ZERO: Self = Self(0);
    /// The end of time.
    pub const MAX: Self = Self(u64::MAX);

    /// Whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Rounds `nanos` to a whole nanosecond; negative values and NaN give zero, values out of range [`MAX`](Self::MAX).
    #[inline]
    #[must_use]
    pub fn from_f64(nanos: f64) -> Self {
        let nanos = nanos + 0.5;
        // Processors convert to signed integers in one step, and nearly all times are in that range.
        Self(if nanos < (1u64 << 63) as f64 { (nanos as i64).max(0) as u64 } else { nanos as u64 })
    }

    /// In nanoseconds; exact below 2^53 ns, which is 104 days.
    #[inline]
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// In seconds.
    #[inline]
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In microseconds.
    #[inline]
    #[must_use]
    pub const fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The later of two times.
    #[inline]
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.0 >= other.0 { self } else { other }
    }

    /// The earlier of two times.
    #[inline]
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.0 <= other.0 { self } else { other }
    }
}

impl From<core::time::Duration> for Nanos {
    /// Longer spans give [`Nanos::MAX`].
    fn from(span: core::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

/// In the largest unit that gives a whole number: `100us`, `2s`, `1500ns`. Parses back to itself.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_largest(self.0, ["s", "ms", "us", "ns"], f)
    }
}

/// A data rate in bits per second, more than 0 and at most 1 Pbit/s.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// `bits_per_second`, if it is in range.
    ///
    /// # Errors
    /// [`UnitError::Range`] otherwise.
    pub fn from_bps(bits_per_second: f64) -> Result<Self, UnitError> {
        let wrong = UnitError::Range("over 0 and at most 1000Tbps");
        if bits_per_second > 0.0 && bits_per_second <= 1e15 { Ok(Self(bits_per_second)) } else { Err(wrong) }
    }

    /// In bits per second.
    #[must_use]
    pub const fn bps(self) -> f64 {
        self.0
    }

    /// How long `bytes` take at this rate, in nanoseconds.
    #[must_use]
    pub fn nanos_for(self, bytes: f64) -> f64 {
        bytes * 8e9 / self.0
    }
}

/// Why a quantity cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitError {
    /// It does not start with a number.
    Number,
    /// There is no unit behind the number; the quantity's units.
    NoUnit(&'static str),
    /// The unit is not one of the quantity's units.
    Unit(&'static str),
    /// Negative, zero if not allowed, or too large; the quantity's range.
    Range(&'static str),
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("not a number with a unit"),
            Self::NoUnit(units) => write!(f, "there is no unit behind the number: use one of {units}"),
            Self::Unit(units) => write!(f, "unknown unit: use one of {units}"),
            Self::Range(range) => write!(f, "out of range: {range}"),
        }
    }
}

impl core::error::Error for UnitError {}

impl UnitError {
    fn of(unit: &str, units: &'static str) -> Self {
        if unit.is_empty() { Self::NoUnit(units) } else { Self::Unit(units) }
    }
}

/// Parses a time: `100us`, `1.5ms`, `2s`, `300ns`, or `0`.
///
/// # Errors
/// [`UnitError`] for anything else, and for times that are negative or over 2^63 ns.
pub fn parse_time(text: &str) -> Result<Nanos, UnitError> {
    parse_nanos(text).map(Nanos::from_f64)
}

/// Parses a time like [`parse_time`], in nanoseconds with their fraction: the cost of a byte is often less than one.
///
/// # Errors
/// Same as for [`parse_time`].
pub fn parse_nanos(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "" if number == 0.0 => 1.0,
        unit => return Err(UnitError::of(unit, "ns us ms s min")),
    };
    let nanos = number * scale;
    if (0.0..9.2e18).contains(&nanos) { Ok(nanos) } else { Err(UnitError::Range("from 0 to 9200000000s")) }
}

/// Parses a size: `1500`, `1500B`, `20kB`, `64KiB`, `1MB`, `1MiB`, `1GB`.
///
/// # Errors
/// [`UnitError`] for anything else, and for sizes that are negative or over 2^53 bytes.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    parse_fractional_bytes(text).map(|bytes| (bytes + 0.5) as u64)
}

/// Parses a size like [`parse_bytes`], in bytes with their fraction.
pub(crate) fn parse_fractional_bytes(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "KiB" => 1024.0,
        "MB" => 1e6,
        "MiB" => 1024.0 * 1024.0,
        "GB" => 1e9,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(UnitError::Unit("B kB KiB MB MiB GB GiB")),
    };
    let bytes = number * scale;
    if (0.0..9e15).contains(&bytes) { Ok(bytes) } else { Err(UnitError::Range("from 0 to 9000000GB")) }
}

/// Writes a number in the largest of these units, each a thousand of the next, that gives a whole number.
fn in_largest(number: u64, [giga, mega, kilo, one]: [&str; 4], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (size, unit) in [(1_000_000_000, giga), (1_000_000, mega), (1_000, kilo)] {
        if number != 0 && number.is_multiple_of(size) {
            return write!(f, "{}{unit}", number / size);
        }
    }
    write!(f, "{number}{one}")
}

/// Shows bytes in the largest decimal unit that gives a whole number: `1514B`, `20kB`, `1GB`.
pub(crate) struct ByteSize(pub(crate) u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_largest(self.0, ["GB", "MB", "kB", "B"], f)
    }
}

/// Parses a data rate: `400Mbps`, `400Mbit/s`, `2Gbps`, `64kbit/s`, `9600bps`.
///
/// # Errors
/// [`UnitError`] for anything else, zero and negative rates included.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    let (number, unit) = split_unit(text)?;
    let stem = unit.strip_suffix("bps").or_else(|| unit.strip_suffix("bit/s"));
    let scale = match stem {
        Some("") => 1.0,
        Some("k" | "K") => 1e3,
        Some("M") => 1e6,
        Some("G") => 1e9,
        Some("T") => 1e12,
        // Zero is out of range in any unit.
        _ if unit.is_empty() && number == 0.0 => 1.0,
        _ => return Err(UnitError::of(unit, "bps kbps Mbps Gbps Tbps, or bit/s likewise")),
    };
    Rate::from_bps(number * scale)
}

/// At most 60 characters of a given text, for a message.
#[must_use]
pub fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(60).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// Splits a text into a number and the unit behind it.
///
/// # Errors
/// [`UnitError::Number`] when the text does not start with a number.
pub fn split_unit(text: &str) -> Result<(f64, &str), UnitError> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(at, c)| {
            let exponent = matches!(c, 'e' | 'E')
                && text[at + 1..].starts_with(|next: char| next.is_ascii_digit() || matches!(next, '+' | '-'));
            !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-') || exponent)
        })
        .map_or(text.len(), |(at, _)| at);
    let number: f64 = text[..end].parse().map_err(|_| UnitError::Number)?;
    Ok((number, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn times_read_and_print() {
        for (text, nanos) in [("100us", 100_000), ("2s", 2_000_000_000), ("1.5ms", 1_500_000), ("0", 0), ("7ns", 7)] {
            assert_eq!(parse_time(text), Ok(Nanos(nanos)), "{text}");
            assert_eq!(parse_time(&Nanos(nanos).to_string()), Ok(Nanos(nanos)));
        }
        assert_eq!(parse_nanos("0.8ns"), Ok(0.8));
        assert_eq!(parse_nanos("-0.8ns"), Err(UnitError::Range("from 0 to 9200000000s")));
        assert_eq!(parse_time("5"), Err(UnitError::NoUnit("ns us ms s min")));
        assert_eq!(parse_time("5 days"), Err(UnitError::Unit("ns us ms s min")));
        assert_eq!(parse_time("-5us"), Err(UnitError::Range("from 0 to 9200000000s")));
        assert_eq!(parse_time("us"), Err(UnitError::Number));
        assert_eq!(parse_time("1e30s"), Err(UnitError::Range("from 0 to 9200000000s")));
    }

    #[test]
    fn sizes_and_rates_read() {
        assert_eq!(parse_bytes("20kB"), Ok(20_000));
        assert_eq!(parse_bytes("64 KiB"), Ok(65_536));
        assert!(parse_bytes("20 parsecs").is_err());
        let shown = [0, 1514, 20_000, 1_000_000_000].map(|bytes| ByteSize(bytes).to_string());
        assert_eq!(shown, ["0B", "1514B", "20kB", "1GB"]);
        assert_eq!(parse_rate("400Mbps").map(Rate::bps), Ok(4e8));
        assert_eq!(parse_rate("400 Mbit/s").map(Rate::bps), Ok(4e8));
        assert_eq!(parse_rate("1e9bps").map(Rate::bps), Ok(1e9));
        for text in ["0", "0Mbps", "-1Mbps", "1e30Gbps"] {
            assert_eq!(parse_rate(text), Err(UnitError::Range("over 0 and at most 1000Tbps")), "{text}");
        }
        assert_eq!(parse_bytes("-1"), Err(UnitError::Range("from 0 to 9000000GB")));
        assert!(parse_rate("nan").is_err());
        assert_eq!(parse_rate("400Mbps").map(|rate| rate.nanos_for(1000.0)), Ok(20_000.0));
    }
}
