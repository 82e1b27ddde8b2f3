//! Handles of admitted flows.

use core::fmt;

/// Identifies an admitted flow. An [`Admission`](super::Admission) never reuses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowHandle(pub(super) u64);

impl fmt::Display for FlowHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
