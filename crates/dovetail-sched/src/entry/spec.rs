//! A parsed policy string.

use alloc::string::{String, ToString};
use core::fmt;

use super::{
    Entry, Knob, Knobs, PolicyError,
    knobs::{Written, name_and_rest},
};

/// A parsed policy string: the policy and all keys exist. For packets or requests, depending on `B`.
pub struct Spec<B: 'static> {
    entry: &'static Entry<B>,
    written: Written,
}

impl<B> Spec<B> {
    /// Parses `text`, which names `entry`'s policy; `common` are the knobs besides its own.
    pub(crate) fn read(text: &str, entry: &'static Entry<B>, common: &'static [Knob]) -> Result<Self, PolicyError> {
        Ok(Self { entry, written: Written::read(text, entry.name, entry.knobs, common)? })
    }

    /// The policy's name in a string.
    pub(crate) fn name_in(text: &str) -> &str {
        name_and_rest(text).0
    }

    /// The policy's registry entry.
    #[must_use]
    pub fn entry(&self) -> &'static Entry<B> {
        self.entry
    }

    /// The string as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.written.as_str()
    }

    /// The values, for the policy to parse.
    #[must_use]
    pub fn knobs(&self) -> Knobs<'_> {
        self.written.knobs()
    }

    /// A warning about these values, if there is one.
    #[must_use]
    pub fn caution(&self) -> Option<&'static str> {
        (self.entry.caution)(&self.knobs())
    }
}

/// Appends `knobs`, comma-separated `key=value` pairs, to a policy string: after a colon, or after a comma if it already has
/// knobs.
#[must_use]
pub fn with_knobs(policy: &str, knobs: impl fmt::Display) -> String {
    let joint = if policy.contains(':') { "," } else { ":" };
    [policy, &knobs.to_string()].join(joint)
}

impl<B> Clone for Spec<B> {
    fn clone(&self) -> Self {
        Self { entry: self.entry, written: self.written.clone() }
    }
}

impl<B> fmt::Display for Spec<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<B> fmt::Debug for Spec<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spec({self})")
    }
}

/// Equal if they name the same policy with the same values, in any order. Values are compared as written: 20kB is not 20000B,
/// and a default that is given is not one that is left out.
impl<B> PartialEq for Spec<B> {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}
