//! What every packet scheduler is built with.

use crate::{Limits, cost::ProgramTable};

/// What every scheduler is built with, whatever its policy.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of resources, 1 to [`MAX_RESOURCES`](crate::MAX_RESOURCES).
    pub resources: usize,
    /// How much may wait.
    pub limits: Limits,
    /// The programs that packets reference, for schedulers that estimate costs.
    pub programs: ProgramTable,
}

impl Setup {
    /// `resources` resources and `limits`; no programs are known.
    #[must_use]
    pub const fn new(resources: usize, limits: Limits) -> Self {
        Self { resources, limits, programs: ProgramTable::EMPTY }
    }
}
