//! Sweeps are run by the Python package, whose `dovetail` is this whole command plus sweeps. This command tells what to install.

use crate::failure::Failure;

/// Installs `dovetail sweep`.
const INSTALL: &str = "pip install 'dovetail-sched[sweep]'";

/// Reports where sweeps are available.
pub(crate) fn run() -> Result<(), Failure> {
    Err(Failure::new(format!(
        "sweeps run on Dask, in the Python package: {INSTALL} brings a command 'dovetail' that has them"
    )))
}
