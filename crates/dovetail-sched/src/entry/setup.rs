//! The parameters of every packet scheduler.

use crate::{Limits, cost::ProgramTable};

/// The parameters of every packet scheduler, whatever its policy.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of resources, 1 to [`MAX_RESOURCES`](crate::MAX_RESOURCES).
    pub resources: usize,
    /// Limits of the queues.
    pub limits: Limits,
    /// The programs that packets reference, for schedulers that estimate costs.
    pub programs: ProgramTable,
}

impl Setup {
    /// `resources` resources and `limits`; no known programs.
    #[must_use]
    pub const fn new(resources: usize, limits: Limits) -> Self {
        Self { resources, limits, programs: ProgramTable::EMPTY }
    }
}
