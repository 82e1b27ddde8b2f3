//! Costs or rates for another number of resources than a node has.

use core::{error::Error, fmt};

/// A value for another number of resources than the node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// The number of resources in the value.
    pub given: usize,
    /// The number of resources of the node.
    pub node: usize,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "costs or rates of {} resources where there are {}", self.given, self.node)
    }
}

impl Error for Mismatch {}
