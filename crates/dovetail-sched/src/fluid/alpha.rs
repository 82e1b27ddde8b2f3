//! The parameter between fairness and efficiency.

use core::{fmt, str::FromStr};

/// The fraction of its fair dominant share that every backlogged flow is guaranteed: 1 is perfectly fair, 0 guarantees nothing
/// (Wang et al., CoNEXT 2014, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Alpha(f64);

impl Alpha {
    /// Equal dominant shares: dominant resource GPS.
    pub const FAIR: Self = Self(1.0);
    /// Everything goes to the flows that use the resources best; others may starve.
    pub const GREEDY: Self = Self(0.0);

    /// `alpha`, if it is in 0 to 1.
    #[must_use]
    pub fn new(alpha: f64) -> Option<Self> {
        (0.0..=1.0).contains(&alpha).then_some(Self(alpha))
    }

    /// The value as a number.
    #[inline]
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl FromStr for Alpha {
    type Err = AlphaError;

    fn from_str(text: &str) -> Result<Self, AlphaError> {
        text.parse().ok().and_then(Self::new).ok_or(AlphaError)
    }
}

/// The value is not a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlphaError;

impl fmt::Display for AlphaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("alpha is a number from 0 to 1")
    }
}

impl core::error::Error for AlphaError {}
