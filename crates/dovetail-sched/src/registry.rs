//! Policies by name: `name` or `name:key=value,key=value`, the one way to say which policy is meant everywhere.

use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec::Vec};
use core::{fmt, str::FromStr};

use crate::{
    Limits, MAX_RESOURCES, Nanos, Scheduler,
    cost::{Estimating, Estimation, KNOBS, ProgramTable},
    packet,
    units::{clip, parse_bytes, parse_time},
};

/// Every policy there is, in the order in which `dovetail policies` prints them.
pub const REGISTRY: &[&Entry] = &[
    &packet::fifo::ENTRY,
    &packet::drr::ENTRY,
    &packet::drr_sff::ENTRY,
    &packet::las::ENTRY,
    &packet::run2c::ENTRY,
    &packet::wfq::ENTRY,
    &packet::wf2q_plus::ENTRY,
    &packet::scfq::ENTRY,
    &packet::sfq::ENTRY,
    &packet::drfq::ENTRY,
    &packet::mr3::ENTRY,
    &packet::gmr3::ENTRY,
    &packet::tradeoff::ENTRY,
    &packet::atfq::ENTRY,
    &packet::cbcs::ENTRY,
    &packet::wfq_split::ENTRY,
];

/// Makes a scheduler from the knobs that were given.
pub type Build = fn(&Knobs<'_>, &Setup) -> Result<Box<dyn Scheduler>, PolicyError>;

/// A policy's line in the registry.
#[derive(Debug)]
pub struct Entry {
    /// Its name in policy strings.
    pub name: &'static str,
    /// What it does, in a phrase.
    pub summary: &'static str,
    /// What can be set.
    pub knobs: &'static [Knob],
    /// Work per packet, n being the number of backlogged flows.
    pub cost: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Makes it.
    pub build: Build,
    /// What to beware of with some values, in a sentence.
    pub caution: fn(&Knobs<'_>) -> Option<&'static str>,
}

impl Entry {
    /// The knob with this key: the policy's own, or one that all have.
    #[must_use]
    pub fn knob(&self, key: &str) -> Option<&'static Knob> {
        self.knobs.iter().chain(KNOBS).find(|knob| knob.key == key)
    }
}

/// Beware of nothing.
pub(crate) const NO_CAUTION: fn(&Knobs<'_>) -> Option<&'static str> = |_| None;

/// Something that can be set in a policy string.
#[derive(Debug)]
pub struct Knob {
    /// The key.
    pub key: &'static str,
    /// The value when it is left out.
    pub default: &'static str,
    /// What it means, with its unit and range.
    pub meaning: &'static str,
}

/// What every scheduler is built with, whatever its policy.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of resources, 1 to [`MAX_RESOURCES`].
    pub resources: usize,
    /// How much may wait.
    pub limits: Limits,
    /// The programs that packets reference, for schedulers that estimate costs.
    pub programs: ProgramTable,
}

impl Setup {
    /// `resources` resources and `limits`; no programs are known.
    #[must_use]
    pub const fn new(resources: usize, limits: Limits) -> Self {
        Self { resources, limits, programs: ProgramTable::EMPTY }
    }
}

/// A policy string that has been read: the policy exists, and so do its keys.
#[derive(Clone)]
pub struct PolicySpec {
    entry: &'static Entry,
    text: String,
    values: Vec<(&'static str, String)>,
}

impl PolicySpec {
    /// The policy's line in the registry.
    #[must_use]
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The string as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The values, for a policy to read.
    #[must_use]
    pub fn knobs(&self) -> Knobs<'_> {
        Knobs { spec: self }
    }

    /// What to beware of with these values, if anything.
    #[must_use]
    pub fn caution(&self) -> Option<&'static str> {
        (self.entry.caution)(&self.knobs())
    }

    /// Whether it runs on estimates of costs.
    #[must_use]
    pub fn estimates(&self) -> bool {
        Estimation::of(&self.knobs()).is_ok_and(|estimation| estimation.is_some())
    }

    /// Makes the scheduler.
    ///
    /// # Errors
    /// [`PolicyError`] when a value cannot be read or is out of its range, or the setup's number of resources is.
    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Scheduler>, PolicyError> {
        if !(1..=MAX_RESOURCES).contains(&setup.resources) {
            return Err(PolicyError(format!("a pipeline has 1 to {MAX_RESOURCES} resources, not {}", setup.resources)));
        }
        let scheduler = (self.entry.build)(&self.knobs(), setup)?;
        Ok(match Estimation::of(&self.knobs())? {
            None => scheduler,
            Some(estimation) => Box::new(Estimating::new(scheduler, estimation, setup)),
        })
    }
}

impl FromStr for PolicySpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let entry = REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
            PolicyError(format!("unknown policy '{}': there are {}", clip(name), names.join(", ")))
        })?;
        let mut values: Vec<(&'static str, String)> = Vec::new();
        for pair in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(PolicyError(format!("'{}' in '{}' is not key=value", clip(pair), clip(text))));
            };
            let knob = entry.knob(key).ok_or_else(|| unknown_key(entry, key))?;
            if values.iter().any(|&(seen, _)| seen == knob.key) {
                return Err(PolicyError(format!("{name}: '{key}' is given twice")));
            }
            values.push((knob.key, value.to_owned()));
        }
        let spec = Self { entry, text: text.to_owned(), values };
        // A value that no pipeline could take is an error of the string, not of the run.
        spec.build(&Setup::new(MAX_RESOURCES, Limits::UNLIMITED))?;
        Ok(spec)
    }
}

/// A policy string with more knobs, `key=value` or several with commas between: after a colon, or a comma if it has some.
#[must_use]
pub fn with_knobs(policy: &str, knobs: impl fmt::Display) -> String {
    let joint = if policy.contains(':') { ',' } else { ':' };
    format!("{policy}{joint}{knobs}")
}

fn unknown_key(entry: &Entry, key: &str) -> PolicyError {
    let own = |key: &&str| entry.knobs.iter().any(|knob| knob.key == *key);
    let common = KNOBS.iter().map(|knob| knob.key).filter(|key| !own(key));
    let keys: Vec<_> = entry.knobs.iter().map(|knob| knob.key).chain(common).collect();
    PolicyError(format!("{} has no key '{}': it has {}", entry.name, clip(key), keys.join(", ")))
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicySpec({})", self.text)
    }
}

/// Two are equal if they name the same policy with the same values.
impl PartialEq for PolicySpec {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.entry, other.entry) && self.values == other.values
    }
}

/// The values of a policy string, for the policy's `build`.
#[derive(Debug)]
pub struct Knobs<'a> {
    spec: &'a PolicySpec,
}

impl Knobs<'_> {
    /// Whether these are knobs of `entry`'s policy: one policy cannot be changed into another.
    ///
    /// # Errors
    /// When they are another's.
    pub fn of(&self, entry: &Entry) -> Result<(), PolicyError> {
        if self.spec.entry.name == entry.name {
            return Ok(());
        }
        Err(PolicyError(format!("'{}' cannot become '{}' while it runs", entry.name, clip(&self.spec.text))))
    }

    /// The error of a policy that cannot be changed into these while it runs.
    #[must_use]
    pub fn fixed(&self) -> PolicyError {
        PolicyError(format!("the policy cannot become '{}' while it runs", clip(&self.spec.text)))
    }

    /// The value of `key`, if it was given.
    #[must_use]
    pub fn given(&self, key: &str) -> Option<&str> {
        debug_assert!(self.spec.entry.knob(key).is_some(), "{key} is not in the registry's line");
        self.spec.values.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// The value of `key`, or its default from the registry's line.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        let default = || self.spec.entry.knob(key).map_or("", |knob| knob.default);
        self.given(key).unwrap_or_else(default)
    }

    /// A whole number from `least` to `most`.
    ///
    /// # Errors
    /// When it is none.
    pub fn count(&self, key: &str, least: u64, most: u64) -> Result<u64, PolicyError> {
        let value = self.text(key).parse().ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| self.wrong(key, format_args!("a whole number from {least} to {most}")))
    }

    /// A number from `least` to `most`.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(&self, key: &str, least: f64, most: f64) -> Result<f64, PolicyError> {
        let value = self.text(key).parse().ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| self.wrong(key, format_args!("a number from {least} to {most}")))
    }

    /// A number of bytes from `least` to `most`.
    ///
    /// # Errors
    /// When it is none.
    pub fn bytes(&self, key: &str, least: u64, most: u64) -> Result<u64, PolicyError> {
        let value = parse_bytes(self.text(key)).ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| self.wrong(key, format_args!("a size from {least}B to {most}B, such as 1500B or 20kB")))
    }

    /// A time.
    ///
    /// # Errors
    /// When it is none.
    pub fn time(&self, key: &str) -> Result<Nanos, PolicyError> {
        parse_time(self.text(key)).map_err(|_| self.wrong(key, format_args!("a time such as 100us, 2ms or 1s")))
    }

    /// The resource that a single-resource policy orders by: `first`, `last`, or a number from 1.
    ///
    /// # Errors
    /// When it is none, or there are not so many.
    pub fn resource(&self, key: &str, setup: &Setup) -> Result<usize, PolicyError> {
        match self.text(key) {
            "first" => Ok(0),
            "last" => Ok(setup.resources - 1),
            _ => Ok(self.count(key, 1, setup.resources as u64)? as usize - 1),
        }
    }

    /// The error for a value of `key` that is not `expected`.
    #[must_use]
    pub fn wrong(&self, key: &str, expected: fmt::Arguments<'_>) -> PolicyError {
        PolicyError(format!("{}: {key}={} is not {expected}", self.spec.entry.name, clip(self.text(key))))
    }
}

/// A policy string that names nothing or sets a value that cannot be; the text says what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError(pub(crate) String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for PolicyError {}
