//! Sweeps are run by the Python package, whose `dovetail` is this whole command and has them as well. This one says what to install.

use crate::failure::Failure;

/// What brings `dovetail sweep`.
const INSTALL: &str = "pip install 'dovetail-sched[sweep]'";

/// Says where sweeps are.
pub(crate) fn run() -> Result<(), Failure> {
    Err(Failure::new(format!(
        "sweeps run on Dask, in the Python package: {INSTALL} brings a command 'dovetail' that has them"
    )))
}
