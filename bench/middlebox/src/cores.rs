//! Which core does what.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// The box's core, and the source's.
pub const BOX_CORE: usize = 0;
pub const SOURCE_CORE: usize = 1;

/// Pins this thread to a core.
pub fn stay_on(core: usize) -> io::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(sched_setaffinity(None, &cores)?)
}
