//! Which flows get what the guarantees leave over.

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

/// A group is favoured: so much dominant share goes to it beyond what its flows are guaranteed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grant {
    /// Who.
    pub group: GroupId,
    /// How much: more than 0, at most 1.
    pub share: f64,
}
