//! A policy string that was read.

use alloc::string::{String, ToString};
use core::fmt;

use super::{
    Entry, Knob, Knobs, PolicyError,
    knobs::{Written, name_and_rest},
};

/// A policy string that has been read: the policy exists, and so do its keys. Of packets or of requests, as `B` says.
pub struct Spec<B: 'static> {
    entry: &'static Entry<B>,
    written: Written,
}

impl<B> Spec<B> {
    /// Reads `text`, whose name is `entry`'s, which takes its own knobs and `common` ones.
    pub(crate) fn read(text: &str, entry: &'static Entry<B>, common: &'static [Knob]) -> Result<Self, PolicyError> {
        Ok(Self { entry, written: Written::read(text, entry.name, entry.knobs, common)? })
    }

    /// The policy's name in a string.
    pub(crate) fn name_in(text: &str) -> &str {
        name_and_rest(text).0
    }

    /// The policy's line in the registry.
    #[must_use]
    pub fn entry(&self) -> &'static Entry<B> {
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
}

/// A policy string with more knobs, `key=value` or several with commas between: after a colon, or a comma if it has some.
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

/// Two are equal if they name the same policy with the same values.
impl<B> PartialEq for Spec<B> {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}
