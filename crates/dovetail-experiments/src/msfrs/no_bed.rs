//! Tables 2 and 3 in a build that cannot create a real link.

use crate::{
    error::Error,
    experiment::{Finding, Given},
};

/// Reports what is missing.
pub(super) fn left_out(_: &Given<'_>) -> Result<Finding, Error> {
    let why =
        "it is measured on a real link, not simulated, and this build has no test bed: build it with --features bed";
    Err(Error::lacking(why))
}
