//! Costs or rates that are not those of a node.

use core::{error::Error, fmt};

/// Something that speaks of another number of resources than what it is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// How many it speaks of.
    pub given: usize,
    /// The number of resources that there are.
    pub node: usize,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "costs or rates of {} resources where there are {}", self.given, self.node)
    }
}

impl Error for Mismatch {}
