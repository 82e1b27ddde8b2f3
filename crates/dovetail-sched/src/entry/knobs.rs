//! The knobs after a policy's name: `key=value,key=value`.

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::fmt;

use super::PolicyError;
use crate::{
    Nanos,
    units::{ByteSize, clip, parse_fractional_bytes, parse_time},
};

/// A parameter that can be set in a policy string.
#[derive(Debug)]
pub struct Knob {
    /// The key.
    pub key: &'static str,
    /// The value if it is left out.
    pub default: &'static str,
    /// What it does, with its unit and range.
    pub meaning: &'static str,
    /// Whether [`Scheduler::retune`](crate::Scheduler::retune) can change it while the scheduler runs.
    pub retunable: bool,
}

/// A parsed policy string with valid keys.
#[derive(Debug, Clone)]
pub(super) struct Written {
    name: &'static str,
    text: String,
    own: &'static [Knob],
    common: &'static [Knob],
    values: Vec<(&'static str, String)>,
}

/// Splits a policy string into its name and the text after the colon.
pub(super) fn name_and_rest(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)))
}

impl Written {
    /// Parses the values in `text` for policy `name`, which has its `own` knobs and `common` ones.
    pub(super) fn read(
        text: &str,
        name: &'static str,
        own: &'static [Knob],
        common: &'static [Knob],
    ) -> Result<Self, PolicyError> {
        let mut written = Self { name, text: text.to_owned(), own, common, values: Vec::new() };
        for pair in name_and_rest(text).1.into_iter().flat_map(|rest| rest.split(',')) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(PolicyError::not_a_pair(pair, text));
            };
            let knob = written.knob(key).ok_or_else(|| written.unknown_key(key))?;
            if written.values.iter().any(|&(seen, _)| seen == knob.key) {
                return Err(PolicyError::Repeated { policy: name, key: knob.key });
            }
            written.values.push((knob.key, value.to_owned()));
        }
        Ok(written)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn knobs(&self) -> Knobs<'_> {
        Knobs { written: self, costs_are_settled: false }
    }

    /// The knob with this key: the policy's own, or a common one.
    fn knob(&self, key: &str) -> Option<&'static Knob> {
        self.own.iter().chain(self.common).find(|knob| knob.key == key)
    }

    fn unknown_key(&self, key: &str) -> PolicyError {
        let own = |key: &&str| self.own.iter().any(|knob| knob.key == *key);
        let common = self.common.iter().map(|knob| knob.key).filter(|key| !own(key));
        let keys: Vec<_> = self.own.iter().map(|knob| knob.key).chain(common).collect();
        PolicyError::unknown_key(self.name, key, keys)
    }
}

/// Equal if they name the same policy with the same values, in any order.
impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        // No key is repeated, so one contains the other if all values of one are in the other.
        self.name == other.name
            && self.values.len() == other.values.len()
            && self.values.iter().all(|value| other.values.contains(value))
    }
}

/// The values of a policy string, for the policy's `build`.
#[derive(Debug, Clone, Copy)]
pub struct Knobs<'a> {
    written: &'a Written,
    // Whether a wrapper around the policy handles the source of costs.
    costs_are_settled: bool,
}

impl Knobs<'_> {
    /// The same knobs for a policy inside a wrapper that handles the source of costs.
    pub(crate) const fn with_costs_settled(self) -> Self {
        Self { costs_are_settled: true, ..self }
    }

    /// Checks that a running policy `name` can take on these knobs: it cannot become another policy, and its source of costs is
    /// fixed.
    ///
    /// # Errors
    /// If it cannot.
    pub fn of(&self, name: &'static str) -> Result<(), PolicyError> {
        if self.written.name == name {
            let costs_are_known = self.written.knob("estimator").is_none() || self.text("estimator") == "known";
            return self.keeps("estimator", self.costs_are_settled || costs_are_known);
        }
        Err(PolicyError::OtherPolicy { running: name, requested: clip(&self.written.text) })
    }

    /// Refuses a change of `key`, which is fixed for the life of a scheduler, unless `is_same`.
    ///
    /// # Errors
    /// [`PolicyError::Fixed`] if the value differs.
    pub fn keeps(&self, key: &'static str, is_same: bool) -> Result<(), PolicyError> {
        if is_same { Ok(()) } else { Err(PolicyError::Fixed { policy: self.written.name, key }) }
    }

    /// The value of `key`, if given.
    #[must_use]
    pub fn given(&self, key: &str) -> Option<&str> {
        debug_assert!(self.written.knob(key).is_some(), "{key} is not in the registry's line");
        self.written.values.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// The value of `key`, or its default from the registry entry.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        let default = || self.written.knob(key).map_or("", |knob| knob.default);
        self.given(key).unwrap_or_else(default)
    }

    /// Parses a whole number from `least` to `most`.
    ///
    /// # Errors
    /// If the value is not such a number.
    pub fn count(&self, key: &str, least: u64, most: u64) -> Result<u64, PolicyError> {
        let value = self.text(key).parse().ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| self.wrong(key, format_args!("a whole number from {least} to {most}")))
    }

    /// Parses a number from `least` to `most`.
    ///
    /// # Errors
    /// If the value is not such a number.
    pub fn number(&self, key: &str, least: f64, most: f64) -> Result<f64, PolicyError> {
        let value = self.text(key).parse().ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| self.wrong(key, format_args!("a number from {least} to {most}")))
    }

    /// Parses a size from `least` to `most` bytes.
    ///
    /// # Errors
    /// If the value is not such a size.
    pub fn bytes(&self, key: &str, least: u64, most: u64) -> Result<u64, PolicyError> {
        // The range applies to what is written: half a byte is not a byte.
        let fits = |bytes: &f64| (least as f64..=most as f64).contains(bytes);
        let value = parse_fractional_bytes(self.text(key)).ok().filter(fits).map(|bytes| (bytes + 0.5) as u64);
        value.ok_or_else(|| {
            let (least, most) = (ByteSize(least), ByteSize(most));
            self.wrong(key, format_args!("a size from {least} to {most}, such as 1500B or 20kB"))
        })
    }

    /// Parses a time.
    ///
    /// # Errors
    /// If the value is not a time.
    pub fn time(&self, key: &str) -> Result<Nanos, PolicyError> {
        parse_time(self.text(key)).map_err(|_| self.wrong(key, format_args!("a time such as 100us, 2ms or 1s")))
    }

    /// Parses the resource that a single-resource policy orders by: `first`, `last`, or a number from 1 to `resources`. Returns
    /// its index from 0.
    ///
    /// # Errors
    /// If the value is none of these.
    pub fn resource(&self, key: &str, resources: usize) -> Result<usize, PolicyError> {
        match self.text(key) {
            "first" => Ok(0),
            "last" => Ok(resources - 1),
            _ => Ok(self.count(key, 1, resources as u64)? as usize - 1),
        }
    }

    /// The error for a value of `key` that is not `expected`.
    #[must_use]
    pub fn wrong(&self, key: &str, expected: fmt::Arguments<'_>) -> PolicyError {
        PolicyError::value(self.written.name, key, self.text(key), expected)
    }
}
