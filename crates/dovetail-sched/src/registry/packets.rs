//! Packet policies by name.

use alloc::{boxed::Box, format};
use core::str::FromStr;

use super::lists::{REGISTRY, REQUESTS, names};
use crate::{
    Limits, MAX_RESOURCES, Scheduler,
    cost::{Estimating, Estimation, KNOBS, Program},
    entry::{Build, Knob, Orders, PolicyError, Setup, Spec, with_knobs},
    units::clip,
};

/// A parsed packet policy string.
pub type PolicySpec = Spec<Build>;

impl PolicySpec {
    /// Whether the scheduler runs on estimated costs.
    #[must_use]
    pub fn estimates(&self) -> bool {
        Estimation::of(&self.knobs()).is_ok_and(|estimation| estimation.is_some())
    }

    /// The same policy with every knob written out, defaults included. Knobs that have no value beside others are left out,
    /// such as `domain` beside the `batch` of `atfq`.
    #[must_use]
    pub fn in_full(&self) -> Self {
        with_defaults(self, self.entry().knobs.iter().chain(KNOBS))
    }

    /// Builds the scheduler.
    ///
    /// # Errors
    /// [`PolicyError`] if a value cannot be parsed or is out of its range, or the setup's number of resources or the expansion
    /// factor of one of its programs is.
    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Scheduler>, PolicyError> {
        if !(1..=MAX_RESOURCES).contains(&setup.resources) {
            let text = format!("a pipeline has 1 to {MAX_RESOURCES} resources, not {}", setup.resources);
            return Err(PolicyError::unfit(text));
        }
        if let Some(Program { name, expansion, .. }) =
            setup.programs.programs().iter().find(|program| !Program::is_expansion(program.expansion))
        {
            let name = clip(name);
            let text = format!("program '{name}': an expansion is a number above 0, not {expansion}");
            return Err(PolicyError::unfit(text));
        }
        let scheduler = (self.entry().build)(&self.knobs(), setup)?;
        Ok(match Estimation::of(&self.knobs())? {
            None => scheduler,
            Some(estimation) => Box::new(Estimating::new(scheduler, estimation, setup)),
        })
    }
}

/// Writes out each of `knobs` that `spec` can have.
pub(super) fn with_defaults<'a, B>(spec: &Spec<B>, knobs: impl Iterator<Item = &'a Knob>) -> Spec<B>
where
    Spec<B>: FromStr,
{
    let mut full = spec.clone();
    for knob in knobs {
        let with = with_knobs(full.as_str(), format_args!("{}={}", knob.key, knob.default));
        if let Ok(with) = with.parse() {
            full = with;
        }
    }
    full
}

impl FromStr for PolicySpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let name = Self::name_in(text);
        let Some(entry) = REGISTRY.iter().find(|entry| entry.name == name) else {
            let known = names(REGISTRY).collect();
            return Err(match names(REQUESTS).find(|&other| other == name) {
                Some(name) => PolicyError::OrdersOther { name, orders: Orders::Requests, known },
                None => PolicyError::Unknown { name: clip(name), orders: Orders::Packets, known },
            });
        };
        let spec = Self::read(text, entry, KNOBS)?;
        // A value that no pipeline could take is an error of the string, not of the run.
        spec.build(&Setup::new(MAX_RESOURCES, Limits::UNLIMITED))?;
        Ok(spec)
    }
}
