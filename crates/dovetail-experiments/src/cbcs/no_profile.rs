//! Figs. 2 to 4 in a build that cannot measure network functions.

use crate::{
    error::Error,
    experiment::{Finding, Given},
};

/// Reports what is missing.
pub(super) fn left_out(_: &Given<'_>) -> Result<Finding, Error> {
    let why = "it measures network functions, and this build has none: build it with --features profile";
    Err(Error::lacking(why))
}
