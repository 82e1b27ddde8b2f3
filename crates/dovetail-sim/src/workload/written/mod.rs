//! Values as written in TOML: text with a unit, some also as a plain number.

mod size;

use std::{fmt, marker::PhantomData};

use dovetail_sched::{
    Nanos,
    units::{Rate, parse_bytes, parse_rate, parse_time},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use crate::workload::{Cost, Ports, Prefix};

pub(crate) use size::{SizeForm, read_size};

/// Exactly two. The TOML reader rejects too few for a Rust pair, but not too many.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Vec<T>")]
pub(crate) struct Pair<T>(pub(crate) T, pub(crate) T);

impl<T> TryFrom<Vec<T>> for Pair<T> {
    type Error = String;

    fn try_from(written: Vec<T>) -> Result<Self, String> {
        let [first, second] =
            <[T; 2]>::try_from(written).map_err(|all| format!("two are needed, not {}", all.len()))?;
        Ok(Self(first, second))
    }
}

/// The points that are written as pairs.
pub(crate) fn points(pairs: &[Pair<f64>]) -> Vec<(f64, f64)> {
    pairs.iter().map(|&Pair(value, share)| (value, share)).collect()
}

/// A number of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(pub(crate) u64);

/// Frequency of something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    PerSecond(f64),
    Bits(Rate),
}

/// A value written as text with a unit, or in some cases as a plain number.
#[derive(Debug)]
pub(crate) struct Quantity<T>(pub(crate) T);

pub(crate) trait Written: Sized {
    const WHAT: &'static str;
    fn from_text(text: &str) -> Result<Self, String>;
    fn from_number(_number: u64) -> Option<Self> {
        None
    }
}

impl Written for Nanos {
    const WHAT: &'static str = "a time such as \"100us\", \"2ms\" or \"1s\"";
    fn from_text(text: &str) -> Result<Self, String> {
        parse_time(text).map_err(|error| error.to_string())
    }
    fn from_number(number: u64) -> Option<Self> {
        (number == 0).then_some(Self::ZERO)
    }
}

impl Written for Rate {
    const WHAT: &'static str = "a rate such as \"400Mbps\"";
    fn from_text(text: &str) -> Result<Self, String> {
        parse_rate(text).map_err(|error| error.to_string())
    }
}

impl Written for Pace {
    const WHAT: &'static str = "packets or bits over time, such as \"1000/s\" or \"10Mbps\"";
    fn from_text(text: &str) -> Result<Self, String> {
        let Some(number) = text.trim().strip_suffix("/s").filter(|stem| !stem.ends_with("bit")) else {
            return parse_rate(text).map(Self::Bits).map_err(|error| error.to_string());
        };
        let number = number.trim().parse::<f64>().ok().filter(|number| (1e-6..=1e9).contains(number));
        number.map(Self::PerSecond).ok_or_else(|| "not a number from 0.000001/s to 1000000000/s".into())
    }
}

impl Written for Bytes {
    const WHAT: &'static str = "a size such as 1500, \"1500B\" or \"20kB\"";
    fn from_text(text: &str) -> Result<Self, String> {
        parse_bytes(text).map(Self).map_err(|error| error.to_string())
    }
    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

impl Written for Cost {
    const WHAT: &'static str = "a cost such as \"15ns*bytes + 84.5us\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "not a time for each byte, each packet or both".into())
    }
}

impl Written for Ports {
    const WHAT: &'static str = "a port such as 443, or a range such as \"8000-8099\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "neither a port nor a range that ascends".into())
    }
    fn from_number(number: u64) -> Option<Self> {
        let port = u16::try_from(number).ok()?;
        Some(Self(port..=port))
    }
}

impl Written for Prefix {
    const WHAT: &'static str = "an address prefix such as \"10.0.0.0/8\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "the address is wrong, or the length behind it".into())
    }
}

impl<'de, T: Written> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<T: Written> Visitor<'_> for Read<T> {
            type Value = Quantity<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::WHAT)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let clipped = crate::workload::clip(text);
                T::from_text(text).map(Quantity).map_err(|why| E::custom(format!("\"{clipped}\": {why}; {}", T::WHAT)))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                let wrong = || E::custom(format!("{number} is not {}", T::WHAT));
                T::from_number(number).map(Quantity).ok_or_else(wrong)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                let wrong = || E::custom(format!("{number} is not {}", T::WHAT));
                u64::try_from(number).ok().and_then(T::from_number).map(Quantity).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
    }
}

/// `form`, if its table has no further key.
pub(crate) fn single<'de, A: MapAccess<'de>, T>(mut map: A, form: T) -> Result<T, A::Error> {
    match map.next_key::<String>()? {
        None => Ok(form),
        Some(other) => Err(A::Error::custom(format!("'{}' is one kind too many", crate::workload::clip(&other)))),
    }
}
