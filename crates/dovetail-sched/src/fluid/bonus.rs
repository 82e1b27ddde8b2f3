//! Shares beyond the guarantees.

use crate::DenseId;

/// A group of flows whose head-of-line packets have the same [`Direction`](super::Direction).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl DenseId for GroupId {
    #[inline]
    fn from_index(index: u32) -> Self {
        Self(index)
    }
    #[inline]
    fn to_index(self) -> u32 {
        self.0
    }
}

/// A favoured group, with the dominant share that it gets beyond its flows' guarantees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grant {
    /// The group.
    pub group: GroupId,
    /// The share: more than 0, at most 1.
    pub share: f64,
}
