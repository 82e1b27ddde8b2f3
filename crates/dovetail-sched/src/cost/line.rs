//! The cost of a packet on one resource: `a·bytes + b`.
//!
//! Processing time grows linearly with packet size for the functions that middleboxes run (Ghodsi et al.,
//! *Multi-resource fair queueing for packet processing*, SIGCOMM 2012, section 2; the coefficients of four of them are
//! in ATFQ's Table II). As text: `15ns*bytes + 84.5us`, the terms in any order, either left out.
//!
//! ```
//! use dovetail_sched::{Nanos, cost::Cost};
//!
//! let ipsec: Cost = "15ns*bytes + 84.5us".parse()?;
//! assert_eq!(ipsec.of(1000), Nanos(99_500));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{format, string::String};
use core::{fmt, str::FromStr};

use crate::{
    Nanos,
    units::{Rate, clip, parse_nanos},
};

/// A cost as time per byte and time per packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    per_byte_ns: f64,
    per_packet_ns: f64,
}

/// Both coefficients are below this, some 31 years.
const LIMIT_NS: f64 = 1e18;

impl Cost {
    /// Zero cost.
    pub const FREE: Self = Self { per_byte_ns: 0.0, per_packet_ns: 0.0 };

    /// `per_byte_ns` nanoseconds for each byte and `per_packet_ns` for each packet.
    ///
    /// # Errors
    /// [`CostError`] when either is negative, not a number, or 10^18 or more.
    pub fn new(per_byte_ns: f64, per_packet_ns: f64) -> Result<Self, CostError> {
        let fits = |ns: f64| (0.0..LIMIT_NS).contains(&ns);
        if fits(per_byte_ns) && fits(per_packet_ns) {
            Ok(Self { per_byte_ns, per_packet_ns })
        } else {
            Err(CostError { text: format!("{per_byte_ns}ns*bytes + {per_packet_ns}ns") })
        }
    }

    /// The time to send a packet at `rate`.
    #[must_use]
    pub fn at_rate(rate: Rate) -> Self {
        Self { per_byte_ns: rate.nanos_for(1.0).min(LIMIT_NS), per_packet_ns: 0.0 }
    }

    /// The cost of a packet of `bytes`, to the nearest nanosecond.
    #[inline]
    #[must_use]
    pub fn of(self, bytes: u32) -> Nanos {
        Nanos::from_f64(self.mean_ns(f64::from(bytes)))
    }

    /// Nanoseconds for each byte.
    #[must_use]
    pub const fn per_byte_ns(self) -> f64 {
        self.per_byte_ns
    }

    /// Nanoseconds for each packet.
    #[must_use]
    pub const fn per_packet_ns(self) -> f64 {
        self.per_packet_ns
    }

    /// The mean cost, in nanoseconds, of packets with a mean length of `bytes`.
    #[inline]
    #[must_use]
    pub fn mean_ns(self, bytes: f64) -> f64 {
        self.per_byte_ns * bytes + self.per_packet_ns
    }
}

/// The text is not a cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostError {
    text: String,
}

impl fmt::Display for CostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = "write a time for each byte, each packet or both, such as '15ns*bytes + 84.5us'";
        write!(f, "'{}' is not a cost: {how}", self.text)
    }
}

impl core::error::Error for CostError {}

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Self, CostError> {
        let wrong = || CostError { text: clip(text) };
        let (mut per_byte_ns, mut per_packet_ns) = (None, None);
        for term in terms(text) {
            let (slot, time) = match term.split_once('*') {
                None => (&mut per_packet_ns, term),
                Some((time, factor)) if factor.trim() == "bytes" => (&mut per_byte_ns, time),
                Some((factor, time)) if factor.trim() == "bytes" => (&mut per_byte_ns, time),
                Some(_) => return Err(wrong()),
            };
            if slot.replace(parse_nanos(time).map_err(|_| wrong())?).is_some() {
                return Err(wrong());
            }
        }
        Self::new(per_byte_ns.unwrap_or(0.0), per_packet_ns.unwrap_or(0.0)).map_err(|_| wrong())
    }
}

/// Splits at plus signs, except those of exponents.
fn terms(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let current = rest?;
        let plus = current.match_indices('+').find(|&(at, _)| {
            let mut before = current[..at].chars().rev();
            !(matches!(before.next(), Some('e' | 'E')) && before.next().is_some_and(|c| c.is_ascii_digit() || c == '.'))
        });
        match plus {
            Some((at, _)) => {
                rest = Some(&current[at + 1..]);
                Some(&current[..at])
            }
            None => rest.take(),
        }
    })
}

/// Parses back to itself.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.per_byte_ns, self.per_packet_ns) {
            (0.0, packet) => write!(f, "{packet}ns"),
            (byte, 0.0) => write!(f, "{byte}ns*bytes"),
            (byte, packet) => write!(f, "{byte}ns*bytes + {packet}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::units::parse_rate;

    #[test]
    fn terms_in_any_order_and_either_left_out() {
        for (text, byte, packet) in [
            ("15ns*bytes + 84.5us", 15.0, 84_500.0),
            ("84.5us+bytes*15ns", 15.0, 84_500.0),
            ("0.8ns*bytes + 12.1us", 0.8, 12_100.0),
            ("2us", 0.0, 2_000.0),
            ("1.5e+1ns * bytes", 15.0, 0.0),
            ("1e+3ns+1ns*bytes", 1.0, 1000.0),
            ("0", 0.0, 0.0),
        ] {
            let cost: Cost = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(cost, Cost::new(byte, packet).unwrap(), "{text}");
            assert_eq!(cost.to_string().parse(), Ok(cost), "{cost}");
        }
    }

    #[test]
    fn what_is_no_cost() {
        let texts =
            ["", "+", "15", "15ns*", "15ns*packets", "1us+1us", "-1us", "1us-1ns", "nan", "1ns*bytes*2", "é+1us"];
        for text in texts {
            assert!(text.parse::<Cost>().is_err(), "{text}");
        }
        assert!(Cost::new(f64::NAN, 0.0).is_err());
        assert!(Cost::new(1.0, -1.0).is_err());
    }

    #[test]
    fn rates_and_rounding() {
        let link = Cost::at_rate(parse_rate("400Mbps").unwrap());
        assert_eq!(link.of(1000), Nanos(20_000));
        // 0.8 * 1 = 0.8 rounds up, 0.8 * 3 = 2.4 down.
        let cost = Cost::new(0.8, 0.0).unwrap();
        assert_eq!((cost.of(1), cost.of(3)), (Nanos(1), Nanos(2)));
        assert_eq!(Cost::new(9e17, 9e17).unwrap().of(u32::MAX), Nanos::MAX);
    }
}
