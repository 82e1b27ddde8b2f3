//! The policy's parsed knobs.

use crate::{Nanos, PolicyError, entry::Knobs};

/// When a flow becomes long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// After this many bytes.
    Bytes(u64),
    /// After as many bytes as let short flows carry this fraction of the traffic, between 0 and 1.
    Auto {
        /// The fraction.
        target: f64,
    },
}

/// Which group loses a packet when the buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steal {
    /// The group that exceeds its share of the buffer most; shares are ratio to 1.
    Shares,
    /// The long group while it has packets.
    LongFirst,
}

/// The policy's knobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// When a flow becomes long.
    pub threshold: Threshold,
    /// The short group's quantum over the long group's.
    pub ratio: f64,
    /// Silence after which a flow is new.
    pub timeout: Nanos,
    /// Bytes that a flow of weight 1 earns a turn.
    pub quantum_bytes: u64,
    /// Which group loses a packet when the buffer is full.
    pub steal: Steal,
}

impl Settings {
    pub(super) fn of(knobs: &Knobs<'_>) -> Result<Self, PolicyError> {
        let target = knobs.number("target", 0.01, 0.99)?;
        let threshold = match knobs.text("threshold") {
            "auto" => Threshold::Auto { target },
            _ if knobs.given("target").is_some() => {
                return Err(knobs.wrong("target", format_args!("used without threshold=auto")));
            }
            _ => Threshold::Bytes(knobs.bytes("threshold", 1, 1_000_000_000)?),
        };
        let steal = match knobs.text("steal") {
            "shares" => Steal::Shares,
            "long-first" => Steal::LongFirst,
            _ => return Err(knobs.wrong("steal", format_args!("shares or long-first"))),
        };
        Ok(Self {
            threshold,
            ratio: knobs.number("ratio", 0.001, 1e6)?,
            timeout: knobs.time("timeout")?,
            quantum_bytes: knobs.bytes("quantum", 1, 1_000_000_000)?,
            steal,
        })
    }
}
