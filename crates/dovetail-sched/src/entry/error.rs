//! Errors in policy strings and in requests to a policy.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::{nearest::nearest, units::clip};

/// A policy string is unknown or invalid, or a change is not possible while the policy runs. The message says what is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name.
    Unknown {
        /// The name, clipped.
        name: String,
        /// The kind of policy requested: for packets or for requests.
        orders: Orders,
        /// Valid names.
        known: Vec<&'static str>,
    },
    /// The policy orders the other kind of work: parse packet policies as [`PolicySpec`](crate::PolicySpec) and request
    /// policies as [`RequestSpec`](crate::request::RequestSpec).
    OrdersOther {
        /// The policy.
        name: &'static str,
        /// What it orders.
        orders: Orders,
        /// Valid names.
        known: Vec<&'static str>,
    },
    /// A part after the colon is not `key=value`.
    NotAPair {
        /// The part, clipped.
        pair: String,
        /// The whole string, clipped.
        text: String,
    },
    /// The policy has no such key.
    UnknownKey {
        /// The policy.
        policy: &'static str,
        /// The key, clipped.
        key: String,
        /// The policy's keys.
        known: Vec<&'static str>,
    },
    /// A key is given twice.
    Repeated {
        /// The policy.
        policy: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A value cannot be parsed or is out of its range.
    Value {
        /// The policy.
        policy: &'static str,
        /// The key.
        key: String,
        /// The value, clipped.
        value: String,
        /// What is expected.
        expected: String,
    },
    /// A running policy cannot become another.
    OtherPolicy {
        /// The running policy.
        running: &'static str,
        /// The requested policy, clipped.
        requested: String,
    },
    /// The key cannot be changed while the scheduler runs.
    Fixed {
        /// The policy.
        policy: &'static str,
        /// The key.
        key: &'static str,
    },
    /// The scheduler's setup or surroundings do not fit the policy; in words.
    Unfit(String),
}

/// What a policy orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Orders {
    /// Packets before a pipeline of resources.
    Packets,
    /// Requests whose responses arrive over a narrow link.
    Requests,
}

impl PolicyError {
    /// Creates [`PolicyError::Unfit`] with this text.
    #[must_use]
    pub fn unfit(text: impl Into<String>) -> Self {
        Self::Unfit(text.into())
    }

    pub(crate) fn not_a_pair(pair: &str, text: &str) -> Self {
        Self::NotAPair { pair: clip(pair), text: clip(text) }
    }

    pub(crate) fn unknown_key(policy: &'static str, key: &str, known: Vec<&'static str>) -> Self {
        Self::UnknownKey { policy, key: clip(key), known }
    }

    pub(crate) fn value(policy: &'static str, key: &str, value: &str, expected: fmt::Arguments<'_>) -> Self {
        Self::Value { policy, key: key.into(), value: clip(value), expected: expected.to_string() }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, orders, known } => {
                let kind = if *orders == Orders::Packets { "policy" } else { "request policy" };
                let available = known.join(", ");
                match nearest(name, known.iter().copied()) {
                    Some(meant) => {
                        write!(f, "unknown {kind} '{name}': did you mean {meant}? Available are {available}")
                    }
                    None => write!(f, "unknown {kind} '{name}': available are {available}"),
                }
            }
            Self::OrdersOther { name, orders: Orders::Packets, known } => {
                write!(f, "'{name}' orders packets, not requests: request policies are {}", known.join(", "))
            }
            Self::OrdersOther { name, orders: Orders::Requests, known } => {
                write!(f, "'{name}' orders requests, not packets: it makes a request scheduler. ")?;
                write!(f, "Packet policies are {}", known.join(", "))
            }
            Self::NotAPair { pair, text } => write!(f, "'{pair}' in '{text}' is not key=value"),
            Self::UnknownKey { policy, key, known } if known.is_empty() => {
                write!(f, "{policy} has no key '{key}', nor any other")
            }
            Self::UnknownKey { policy, key, known } => match nearest(key, known.iter().copied()) {
                Some(meant) => {
                    write!(f, "{policy} has no key '{key}': did you mean {meant}? It has {}", known.join(", "))
                }
                None => write!(f, "{policy} has no key '{key}': it has {}", known.join(", ")),
            },
            Self::Repeated { policy, key } => write!(f, "{policy}: '{key}' is given twice"),
            Self::Value { policy, key, value, expected } => write!(f, "{policy}: {key}={value} is not {expected}"),
            Self::OtherPolicy { running, requested } => {
                write!(f, "'{running}' cannot become '{requested}' while it runs")
            }
            Self::Fixed { policy, key } => {
                write!(f, "{policy}: {key} cannot be changed while it runs: build another scheduler")
            }
            Self::Unfit(text) => f.write_str(text),
        }
    }
}

impl core::error::Error for PolicyError {}
