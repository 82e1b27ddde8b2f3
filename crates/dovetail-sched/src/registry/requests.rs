//! Request policies by name, in the same notation as packet policies.

use alloc::{boxed::Box, format};
use core::str::FromStr;

use super::{
    lists::{REGISTRY, REQUESTS, names},
    packets::with_defaults,
};
use crate::{
    entry::{Orders, PolicyError, RequestBuild, Spec},
    request::{RequestScheduler, RequestSetup},
    units::clip,
};

/// A parsed request policy string.
pub type RequestSpec = Spec<RequestBuild>;

impl RequestSpec {
    /// The same policy with every knob written out, defaults included.
    #[must_use]
    pub fn in_full(&self) -> Self {
        with_defaults(self, self.entry().knobs.iter())
    }

    /// Builds the scheduler.
    ///
    /// # Errors
    /// [`PolicyError`] if a value cannot be parsed or is out of its range, or the setup's rate or quantum is.
    pub fn build(&self, setup: &RequestSetup) -> Result<Box<dyn RequestScheduler>, PolicyError> {
        let RequestSetup { rate, quantum, window, longest_window, .. } = *setup;
        if !RequestSetup::is_rate(rate) {
            let text = format!("a link carries from 0.001 to 10^15 units a second, not {rate}");
            return Err(PolicyError::unfit(text));
        }
        if quantum == 0 || window > longest_window {
            return Err(PolicyError::unfit("a turn is at least a unit, and a window no longer than the longest"));
        }
        (self.entry().build)(&self.knobs(), setup)
    }
}

impl FromStr for RequestSpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let name = Self::name_in(text);
        let Some(entry) = REQUESTS.iter().find(|entry| entry.name == name) else {
            let known = names(REQUESTS).collect();
            return Err(match names(REGISTRY).find(|&other| other == name) {
                Some(name) => PolicyError::OrdersOther { name, orders: Orders::Packets, known },
                None => PolicyError::Unknown { name: clip(name), orders: Orders::Requests, known },
            });
        };
        let spec = Self::read(text, entry, &[])?;
        // A value that no link could take is an error of the string, not of the run.
        spec.build(&RequestSetup::for_bytes(1e6))?;
        Ok(spec)
    }
}
