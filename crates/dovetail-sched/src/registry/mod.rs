//! Policies by name: `name` or `name:key=value,key=value`, the one way to say which policy is meant everywhere.

mod knobs;

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::{fmt, str::FromStr};

pub use knobs::{Knob, Knobs, PolicyError};
pub(crate) use knobs::{Written, name_and_rest};

use crate::{
    Limits, MAX_RESOURCES, Scheduler,
    cost::{Estimating, Estimation, KNOBS, ProgramTable},
    packet, request,
    units::clip,
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

/// Beware of nothing.
pub(crate) const NO_CAUTION: fn(&Knobs<'_>) -> Option<&'static str> = |_| None;

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
    written: Written,
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
        self.written.as_str()
    }

    /// The values, for a policy to read.
    #[must_use]
    pub fn knobs(&self) -> Knobs<'_> {
        self.written.knobs()
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
        let (name, _) = name_and_rest(text);
        let entry = REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| {
            if request::REGISTRY.iter().any(|entry| entry.name == name) {
                let why =
                    "orders requests whose answers come over a narrow link, not packets: give it an access network";
                return PolicyError(format!("'{name}' {why}"));
            }
            PolicyError(format!("unknown policy '{}': there are {}", clip(name), all_names().join(", ")))
        })?;
        let spec = Self { entry, written: Written::read(text, entry.name, entry.knobs, KNOBS)? };
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

/// The names of all policies, of packets and of requests.
#[must_use]
pub fn all_names() -> Vec<&'static str> {
    REGISTRY.iter().map(|entry| entry.name).chain(request::REGISTRY.iter().map(|entry| entry.name)).collect()
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicySpec({self})")
    }
}

/// Two are equal if they name the same policy with the same values.
impl PartialEq for PolicySpec {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}
